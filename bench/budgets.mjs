/**
 * The gateway's budgets: the CPU time of all its processes per request, including PostgreSQL and
 * Redis, as a multiple of the bare proxy's CPU time in the same rounds. For streams in the chat
 * format, the budget is the CPU time per event above that of the bare proxy.
 */

export const ratioBudgets = [
  { work: 'native-json-1k', times: 2.4 },
  { work: 'native-json-1k-32', times: 3 },
  { work: 'native-json-1k-steady', times: 2.5 },
  { work: 'native-json-1m', times: 2 },
  { work: 'native-stream-300', times: 2 },
  { work: 'chat-json-1k', times: 3 },
];
export const chatEventBudget = { work: 'chat-stream-300', events: 300, usPerEvent: 1.2 };
/**
 * The most by which the median latency may exceed that of direct requests, at 50 requests a second.
 */
export const latencyBudget = { work: 'native-json-1k-steady', addedP50Ms: 2 };
/** How much later than through the bare proxy a stream's first byte may arrive. */
export const firstByteBudget = { work: 'native-stream-steady-paced', aboveBareMs: 1 };
/** Charges per second to one key, without a gateway in front. */
export const settlingBudgets = {
  'gateway-servers': { store: 'PostgreSQL', perSecond: 10_000 },
  'gateway-embedded': { store: 'embedded (SQLite)', perSecond: 30_000 },
};
export const memoryBudget = { work: 'open-1000', kbPerStream: 70 };
/** Resident memory of the gateway with the embedded ledger: before and after the whole run. */
export const processBudgets = { 'gateway-embedded': { idleMb: 120, afterwardsMb: 220 } };
