/**
 * Clients that send at a fixed mean rate, at random moments, without waiting for earlier responses.
 * This measures the latency that a contestant adds when it is not overloaded. Latency is counted
 * from the moment at which a request is due, so a pause of a contestant counts for every request
 * that waits.
 */

import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';
import { createRandom } from '../../torture/random.mjs';
import { createClient, createTally } from './client.mjs';

const TICK_MS = 1;
const CLIENTS = 128;
const STEPS = 1_000_000;

/** @returns the tally, and for each response the milliseconds to its first byte and to its last. */
export async function runSteady(target, { perSecond, durationMs, seed }) {
  const random = createRandom(seed);
  const tally = createTally(target.requests);
  const firstByteMs = [];
  const lastByteMs = [];
  const idle = Array.from({ length: CLIENTS }, () => createClient(target, tally));
  await Promise.all(idle.map(connected));
  /** Due times of the requests that wait for a free client. */
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
      resolve(undefined);
    }, TICK_MS);
  });
  for (const client of idle) client.close();
  return {
    tally,
    seconds: (performance.now() - startedAt) / 1000,
    firstByteMs: Float64Array.from(firstByteMs),
    lastByteMs: Float64Array.from(lastByteMs),
  };

  /** Time to the next request, of a Poisson process. */
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

/**
 * Sends a first request, so that no measured latency includes opening a connection. The latency of
 * this request is not recorded, but the tally counts its response.
 */
function connected(client) {
  return new Promise((resolve) => {
    client.ask(0, resolve);
  });
}
