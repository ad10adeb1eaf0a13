/**
 * The gateway's budgets: CPU time of its process per request, as a multiple of the bare proxy's in
 * the same rounds. For streams in the chat format, the time per event above the bare proxy.
 */

export const ratioBudgets = [
  { work: 'native-json-1k', times: 2.4 },
  { work: 'native-json-1m', times: 2 },
  { work: 'native-stream-300', times: 2 },
  { work: 'chat-json-1k', times: 3 },
];
export const chatEventBudget = { work: 'chat-stream-300', events: 300, usPerEvent: 1.2 };
export const latencyBudget = { work: 'native-json-1k', p50Ms: 1.5, p99Ms: 10 };
/** Charges per second to one key, through PostgreSQL, without a gateway in front. */
export const settlingBudget = { store: 'PostgreSQL', perSecond: 10_000 };
export const memoryBudget = { work: 'open-1000', kbPerStream: 70 };
