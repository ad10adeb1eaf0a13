/**
 * The workloads, called `work` in the code. A workload defines the clients' requests, the number of
 * clients, and the upstream's responses.
 *
 * `busy` workloads keep `connections` clients sending as fast as they get responses, and measure
 * CPU time and throughput. A real model takes seconds to answer, so a process as busy as this would
 * have thousands of requests in flight. Here at most 128 are in flight, because the clients cannot
 * check more at once; fewer with large prompts, or where the title says so. The workload `minute`
 * is long enough to include the tasks that the ledger does once a minute. `steady` workloads send
 * `perSecond` requests at random moments, the same rate for all contestants, and measure CPU time
 * and latency. With `eventsPerSecond` the upstream sends each stream at that pace, as a model does;
 * otherwise it sends the whole stream at once, so that its first byte waits for the charge like its
 * last. `paced` workloads start `streams` streams within half a second; each sends
 * `eventsPerSecond`. `open` workloads hold `streams` streams open in new processes, and measure
 * memory.
 */

const NATIVE = { path: '/v1/messages', format: 'native' };
const CHAT = { path: '/v1/chat/completions', format: 'chat' };
/** One in so many requests of an agent is small, such as the request for a title. */
const SMALL_EVERY = 5;
/**
 * About how many bytes of a stream one TCP segment carries over the internet when the sender writes
 * small pieces.
 */
const PIECE_BYTES = 512;
/** About the pace of a model. */
const EVENTS_PER_SECOND = 50;
/** Longer than a minute, because sealing and statistics run once a minute. */
const MINUTE_WORK_MS = 75_000;
/** A new process must accept this many streams a second without delay, also with PostgreSQL. */
const OPENED_PER_SECOND = 500;

const json = (api, bytes) => ({ ...api, bytes, answer: { kind: 'json' } });
const stream = (api, events) => ({ ...api, bytes: 1_000, answer: { kind: 'stream', events } });
const streamInPieces = (api, events) => ({
  ...api,
  bytes: 1_000,
  answer: { kind: 'stream', events, pieceBytes: PIECE_BYTES },
});
const agent = {
  ...NATIVE,
  bytes: 200_000,
  agent: true,
  answer: { kind: 'stream', events: 60, cached: true },
};

export const works = [
  busy('native-json-1k', 'native JSON, 1 KB', [json(NATIVE, 1_000)]),
  busy('native-json-1k-32', 'native JSON, 1 KB, 32 at once', [json(NATIVE, 1_000)], {
    connections: 32,
  }),
  busy('native-json-1k-8', 'native JSON, 1 KB, 8 at once', [json(NATIVE, 1_000)], {
    connections: 8,
  }),
  busy('native-json-1k-1', 'native JSON, 1 KB, one at a time', [json(NATIVE, 1_000)], {
    connections: 1,
  }),
  steady('native-json-1k-steady', 'native JSON, 1 KB, 50 a second', json(NATIVE, 1_000), 50),
  steady(
    'native-stream-steady',
    'native stream, 30 events sent at once, 50 a second',
    stream(NATIVE, 30),
    50,
  ),
  {
    ...steady(
      'native-stream-steady-paced',
      'native stream, 30 events at 50/s, 50 a second',
      stream(NATIVE, 30),
      50,
    ),
    eventsPerSecond: EVENTS_PER_SECOND,
  },
  steady('native-json-1k-400', 'native JSON, 1 KB, 400 a second', json(NATIVE, 1_000), 400),
  steady(
    'native-stream-200',
    'native stream, 30 events sent at once, 200 a second',
    stream(NATIVE, 30),
    200,
  ),
  {
    ...busy('minute', 'native JSON, 1 KB, for 75 seconds', [json(NATIVE, 1_000)]),
    durationMs: MINUTE_WORK_MS,
    rounds: 1,
    isLong: true,
  },
  busy('native-json-1k-20ms', 'native JSON, 1 KB, upstream of 20 ms', [
    { ...json(NATIVE, 1_000), answer: { kind: 'json', delayMs: 20 } },
  ]),
  busy('native-json-100k', 'native JSON, 100 KB', [json(NATIVE, 100_000)], { connections: 32 }),
  busy('native-json-1m', 'native JSON, 1 MB', [json(NATIVE, 1_000_000)], { connections: 8 }),
  busy('native-stream-30', 'native stream, 30 events', [stream(NATIVE, 30)]),
  busy('native-stream-300', 'native stream, 300 events', [stream(NATIVE, 300)]),
  busy('native-stream-pieces', 'native stream, 300 events in pieces of 512 bytes', [
    streamInPieces(NATIVE, 300),
  ]),
  busy('chat-json-1k', 'chat JSON, 1 KB', [json(CHAT, 1_000)]),
  busy('chat-json-100k', 'chat JSON, 100 KB', [json(CHAT, 100_000)], { connections: 32 }),
  busy('chat-stream-30', 'chat stream, 30 events', [stream(CHAT, 30)]),
  busy('chat-stream-300', 'chat stream, 300 events', [stream(CHAT, 300)]),
  busy('chat-stream-pieces', 'chat stream, 300 events in pieces of 512 bytes', [
    streamInPieces(CHAT, 300),
  ]),
  busy(
    'agents',
    'agents: 200 KB cached prompts, tools, streams',
    [...Array.from({ length: SMALL_EVERY - 1 }, () => agent), json(NATIVE, 1_000)],
    { connections: 32 },
  ),
  paced('native-paced-30', 'native stream, 30 events at 50/s', stream(NATIVE, 30)),
  paced('chat-paced-30', 'chat stream, 30 events at 50/s', stream(CHAT, 30)),
  long(paced('native-paced-300', 'native stream, 300 events at 50/s', stream(NATIVE, 300))),
  long(paced('chat-paced-300', 'chat stream, 300 events at 50/s', stream(CHAT, 300))),
  long(open('open-1000', '1,000 open native streams, 2 events/s each', 1_000, 2)),
  long(open('open-5000', '5,000 open native streams, 1 event/s each', 5_000, 1)),
];

function busy(name, title, requests, { connections = 128 } = {}) {
  return { name, title, phase: 'busy', requests, connections };
}

function steady(name, title, request, perSecond) {
  return { name, title, phase: 'steady', requests: [request], perSecond };
}

function paced(name, title, request) {
  return {
    name,
    title,
    phase: 'paced',
    requests: [request],
    streams: 100,
    eventsPerSecond: EVENTS_PER_SECOND,
  };
}

/**
 * Each stream is long enough that the first one is still open when the last one has started: its
 * deltas alone take three seconds longer. If it is not, the measurement fails.
 */
function open(name, title, streams, eventsPerSecond) {
  const openingSeconds = Math.ceil(streams / OPENED_PER_SECOND);
  const request = stream(NATIVE, (openingSeconds + 3) * eventsPerSecond);
  return {
    name,
    title,
    phase: 'open',
    requests: [request],
    streams,
    openingSeconds,
    eventsPerSecond,
  };
}

/** Marks a workload that takes so long that it has fewer rounds. */
function long(work) {
  return { ...work, isLong: true };
}

/** The same workload in the native format, for bare proxies, which do not translate. */
export function untranslated(work) {
  return { ...work, requests: work.requests.map((request) => ({ ...request, ...NATIVE })) };
}

export function isChat(work) {
  return work.requests.some(({ format }) => format === 'chat');
}
