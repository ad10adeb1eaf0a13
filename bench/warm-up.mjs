/**
 * Warms contestants up, so that most of their code is compiled before it is measured. V8 optimizes
 * a function after a number of calls. Until a gateway has answered some 20,000 small requests,
 * compiling its code takes up to half as much CPU time as answering them. A gateway in production
 * has long finished compiling.
 */

import { measure, takesPart } from './measure.mjs';
import { works } from './works.mjs';

/** One workload of each kind. */
const KINDS = ['native-json-1k', 'native-stream-30', 'chat-json-1k', 'chat-stream-30'];
const ANSWERS = 30_000;

/**
 * Runs every kind of workload before the first measurement.
 *
 * @param {any} session
 * @param {readonly any[]} contestants
 * @param {number} durationMs - the maximum time for one kind and one contestant. A slow contestant
 * answers fewer requests in this time, so less of its code is compiled
 */
export async function warmUpAll(session, contestants, durationMs) {
  for (const work of works.filter(({ name }) => KINDS.includes(name))) {
    for (const contestant of contestants) {
      if (!takesPart(contestant, work)) continue;
      await warmUp(session, contestant, work, { durationMs, maxRequests: ANSWERS });
    }
  }
}

/**
 * @param {any} session
 * @param {any} contestant
 * @param {any} work
 * @param {{ durationMs: number, maxRequests?: number }} limits - ends at the first of them
 */
export function warmUp(session, contestant, work, limits) {
  const { connections = 32 } = work;
  const act = (load) => load.ask('busy', { connections, ...limits });
  return measure({ session, contestant, work, pace: 'full', act });
}
