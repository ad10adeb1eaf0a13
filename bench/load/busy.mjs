/** Clients that send the next request as soon as they have a response. Measures the throughput. */

import { performance } from 'node:perf_hooks';
import { createClient, createTally } from './client.mjs';

/**
 * @param {any} target
 * @param {object} options
 * @param {number} options.connections
 * @param {number} options.durationMs
 * @param {number} [options.maxRequests] - ends earlier, once this many requests were sent
 * @returns the tally and the seconds from the first request to the last response.
 */
export async function runBusy(target, { connections, durationMs, maxRequests = Infinity }) {
  const tally = createTally(target.requests);
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  let next = 0;
  await Promise.all(Array.from({ length: connections }, () => askUntil(endsAt)));
  return { tally, seconds: (performance.now() - startedAt) / 1000 };

  function askUntil(deadline) {
    const client = createClient(target, tally);
    return new Promise((resolve) => {
      const again = (problem) => {
        // This client stops after a failure. Otherwise a contestant that fails immediately would
        // receive requests without a pause.
        if (problem !== undefined || next >= maxRequests || performance.now() >= deadline) {
          client.close();
          resolve(undefined);
          return;
        }
        client.ask(next++ % target.requests.length, again);
      };
      again();
    });
  }
}
