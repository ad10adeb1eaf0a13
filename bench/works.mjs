/**
 * The works: what clients ask, how many of them, and what the upstream answers.
 *
 * `busy` works keep `connections` clients asking as fast as they are answered, and tell CPU time and
 * throughput; those with `latency` are then repeated at half the rate that each contestant reached. A model
 * takes seconds, so a process this busy has thousands of requests under way; 128 are what the clients can
 * check, and fewer where the prompts are large.
 * `paced` works start `streams` streams of `eventsPerSecond`, spread over their first second. `open`
 * works hold `streams` streams open in processes of their own, and tell memory.
 */

const NATIVE = { path: '/v1/messages', format: 'native' };
const CHAT = { path: '/v1/chat/completions', format: 'chat' };
/** Every this many requests of the agents, one is small: a title, a check. */
const SMALL_EVERY = 5;
/** Of a stream's events, those that open and close it. */
const EVENTS_AROUND = 6;

const json = (api, bytes) => ({ ...api, bytes, answer: { kind: 'json' } });
const stream = (api, events) => ({ ...api, bytes: 1_000, answer: { kind: 'stream', events } });
const agent = {
  ...NATIVE,
  bytes: 200_000,
  agent: true,
  answer: { kind: 'stream', events: 60, cached: true },
};

export const works = [
  busy('native-json-1k', 'native JSON, 1 KB', [json(NATIVE, 1_000)], { latency: true }),
  busy('native-json-1k-32', 'native JSON, 1 KB, 32 at once', [json(NATIVE, 1_000)], {
    connections: 32,
  }),
  busy('native-json-100k', 'native JSON, 100 KB', [json(NATIVE, 100_000)], { connections: 32 }),
  busy('native-json-1m', 'native JSON, 1 MB', [json(NATIVE, 1_000_000)], { connections: 8 }),
  busy('native-stream-30', 'native stream, 30 events', [stream(NATIVE, 30)], { latency: true }),
  busy('native-stream-300', 'native stream, 300 events', [stream(NATIVE, 300)]),
  busy('chat-json-1k', 'chat JSON, 1 KB', [json(CHAT, 1_000)]),
  busy('chat-stream-30', 'chat stream, 30 events', [stream(CHAT, 30)]),
  busy('chat-stream-300', 'chat stream, 300 events', [stream(CHAT, 300)]),
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

function busy(name, title, requests, { connections = 128, latency = false } = {}) {
  return { name, title, phase: 'busy', requests, connections, latency };
}

function paced(name, title, request) {
  return { name, title, phase: 'paced', requests: [request], streams: 100, eventsPerSecond: 50 };
}

/** Long enough that the first stream is still open when the last has been for three seconds. */
function open(name, title, streams, eventsPerSecond) {
  const openingSeconds = Math.ceil(streams / 1_500);
  const request = stream(
    NATIVE,
    Math.max(1, (openingSeconds + 3) * eventsPerSecond - EVENTS_AROUND),
  );
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

/** Takes so long that it is done in fewer rounds. */
function long(work) {
  return { ...work, isLong: true };
}

/** What bare proxies are asked where a gateway translates: the same work in the native format. */
export function untranslated(work) {
  return { ...work, requests: work.requests.map((request) => ({ ...request, ...NATIVE })) };
}

export function isChat(work) {
  return work.requests.some(({ format }) => format === 'chat');
}
