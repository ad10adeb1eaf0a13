/**
 * Clients that ask at a fixed mean rate, at random moments, whether or not earlier answers have come:
 * the latency that a contestant adds when it is not overloaded. Time counts from the moment a request
 * is due, so a contestant that stops for a while is charged for all who wait.
 */

import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { createRandom } from '../../torture/random.mjs';
import { createClient, createTally } from './client.mjs';

const TICK_MS = 1;
const CLIENTS = 128;
const STEPS = 1_000_000;

/** @returns the tally, and for each answer its milliseconds to the first byte and to the last */
export async function runSteady(target, { perSecond, durationMs, seed }) {
  const random = createRandom(seed);
  const tally = createTally(target.requests);
  const firstByteMs = [];
  const lastByteMs = [];
  const idle = Array.from({ length: CLIENTS }, () => createClient(target, tally));
  await Promise.all(idle.map(connected));
  /** When requests were due that no client was free for yet. */
  const waiting = [];
  let asked = 0;

  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  let dueAt = startedAt;
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      for (; dueAt <= now && dueAt < endsAt; dueAt += gapMs()) waiting.push(dueAt);
      askWaiting();
      if (dueAt < endsAt || waiting.length > 0 || idle.length < CLIENTS) return;
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

  function askWaiting() {
    while (waiting.length > 0 && idle.length > 0) ask(idle.pop(), waiting.shift());
  }

  function ask(client, since) {
    client.ask(
      asked++ % target.requests.length,
      (problem) => {
        idle.push(client);
        if (problem === undefined) lastByteMs.push(performance.now() - since);
        askWaiting();
      },
      () => firstByteMs.push(performance.now() - since),
    );
  }
}

/** A first answer, not counted among the times, so that no time holds the opening of a connection. */
function connected(client) {
  return new Promise((resolve) => {
    client.ask(0, resolve);
  });
}
