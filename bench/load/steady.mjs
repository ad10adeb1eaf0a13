/**
 * Clients that ask at a fixed mean rate, at random moments, whether or not earlier answers have come:
 * the latency that a contestant adds when it is not overloaded.
 */

import { createRandom } from '../../torture/random.mjs';
import { createClient, createTally } from './client.mjs';

const TICK_MS = 1;
const MAX_CLIENTS = 2_000;
const STEPS = 1_000_000;

/** @returns the tally, and for each answer its milliseconds to the first byte and to the last */
export async function runSteady(target, { perSecond, durationMs, seed }) {
  const random = createRandom(seed);
  const tally = createTally(target.requests);
  const firstByteMs = [];
  const lastByteMs = [];
  const idle = [];
  let clients = 0;
  let underWay = 0;
  let asked = 0;
  const startedAt = performance.now();
  let dueAt = startedAt;

  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      while (dueAt <= now && dueAt < startedAt + durationMs) {
        ask();
        dueAt += gapMs();
      }
      if (dueAt < startedAt + durationMs || underWay > 0) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  for (const client of idle) client.close();
  return {
    tally,
    seconds: (performance.now() - startedAt) / 1000,
    firstByteMs: Float64Array.from(firstByteMs),
    lastByteMs: Float64Array.from(lastByteMs),
  };

  /** Of a Poisson process. */
  function gapMs() {
    return (-Math.log((random.below(STEPS) + 1) / STEPS) * 1000) / perSecond;
  }

  function ask() {
    if (idle.length === 0 && clients === MAX_CLIENTS) {
      tally.failed += 1;
      tally.failures[0] ??= `more than ${MAX_CLIENTS} answers are waited for`;
      return;
    }
    const client = idle.pop() ?? newClient();
    const sentAt = performance.now();
    underWay += 1;
    client.ask(
      asked++ % target.requests.length,
      (problem) => {
        underWay -= 1;
        idle.push(client);
        if (problem === undefined) lastByteMs.push(performance.now() - sentAt);
      },
      () => firstByteMs.push(performance.now() - sentAt),
    );
  }

  function newClient() {
    clients += 1;
    return createClient(target, tally);
  }
}
