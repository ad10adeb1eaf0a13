/**
 * What the gateway should cost, in its two forms. A goal that is not reached stays a goal; what is
 * held meanwhile is the job of `ratio-guard.mjs`. `measure` reads the figure of one contestant, and
 * returns `undefined` if the run left its workload out.
 */

const EMBEDDED = 'gateway-embedded';
const SERVERS = 'gateway-servers';
const EVENTS = 300;

/** @type {Goal[]} */
export const GOALS = [
  ratio('native-json-1k', 2.6, 4),
  ratio('native-json-1k-32', 3, 5),
  ratio('native-json-1k-steady', 2.5, 2.5),
  ratio('native-json-1m', 2, 2),
  ratio('native-stream-300', 2, 2),
  ratio('chat-json-1k', 3, 3),
  {
    what: () => `chat stream, ${EVENTS} events: µs of CPU time per event above bare`,
    most: { [EMBEDDED]: 1.5, [SERVERS]: 1.5 },
    text: (us) => us.toFixed(2),
    measure(results, contestant) {
      const chat = rowOf(results, 'chat-stream-300', contestant)?.wholeCpuUs;
      const bare = rowOf(results, 'chat-stream-300', 'bare')?.wholeCpuUs;
      return chat && bare && (chat.median - bare.median) / EVENTS;
    },
  },
  {
    what: () => 'added at 50 requests a second, p50 in ms',
    most: { [EMBEDDED]: 1.5, [SERVERS]: 3 },
    text: (ms) => ms.toFixed(2),
    measure: (results, contestant) =>
      rowOf(results, 'native-json-1k-steady', contestant)?.latency?.lastByteMs?.addedP50,
  },
  {
    what: () => 'first byte of a stream after that of the bare proxy, p50 in ms',
    most: { [EMBEDDED]: 1, [SERVERS]: 1 },
    text: (ms) => ms.toFixed(2),
    measure(results, contestant) {
      const p50Of = (name) =>
        rowOf(results, 'native-stream-steady-paced', name)?.latency?.firstByteMs?.p50;
      const [own, bare] = [p50Of(contestant), p50Of('bare')];
      return own === undefined || bare === undefined ? undefined : own - bare;
    },
  },
  {
    what: () => 'KB of memory per open stream',
    most: { [EMBEDDED]: 70, [SERVERS]: 70 },
    text: (kb) => kb.toFixed(0),
    measure(results, contestant) {
      const bytes = rowOf(results, 'open-1000', contestant)?.bytesPerStream;
      return bytes && bytes.median / 1024;
    },
  },
  processMemory('idle', 'idle', 110),
  processMemory('after the run', 'afterwards', 200),
  charges(EMBEDDED, 'embedded (SQLite)', 30_000),
  charges(SERVERS, 'PostgreSQL', 10_000),
];

/**
 * @typedef {object} Goal
 * @property {(results: any) => string} what
 * @property {Record<string, number>} [most] - by contestant
 * @property {Record<string, number>} [least]
 * @property {(figure: number) => string} text
 * @property {(results: any, contestant: string) => number | undefined} measure
 */

/** CPU time of all processes per request, PostgreSQL and Redis included. @returns {Goal} */
function ratio(work, embedded, servers) {
  return {
    what: ({ works }) => `${works.find(({ name }) => name === work)?.title}: CPU time, × bare`,
    most: { [EMBEDDED]: embedded, [SERVERS]: servers },
    text: (times) => times.toFixed(1),
    measure: (results, contestant) => rowOf(results, work, contestant)?.ratio?.median,
  };
}

/** Resident memory of the process, before or after the whole run. @returns {Goal} */
function processMemory(when, member, mb) {
  return {
    what: () => `MB of the process, ${when}`,
    most: { [EMBEDDED]: mb },
    text: (figure) => figure.toFixed(0),
    measure({ memory }, contestant) {
      const bytes = memory[member][contestant];
      return bytes === undefined ? undefined : bytes / 2 ** 20;
    },
  };
}

/** Without a gateway in front. @returns {Goal} */
function charges(contestant, store, perSecond) {
  return {
    what: () => `charges per second to one key, ${store}`,
    least: { [contestant]: perSecond },
    text: (count) => Math.round(count).toLocaleString('en-US'),
    measure: ({ settling }) => settling.find(({ title }) => title === store)?.perSecond.median,
  };
}

function rowOf({ works }, work, contestant) {
  return works.find(({ name }) => name === work)?.rows.find((row) => row.contestant === contestant);
}
