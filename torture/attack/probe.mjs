/**
 * A thread that requests a URL repeatedly and keeps the longest time to a response, in
 * milliseconds.
 */

import { performance } from 'node:perf_hooks';
import { workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';

const { url, longest } = workerData;
const dispatcher = new Agent({ connections: 1 });
for (;;) {
  const startedAt = performance.now();
  try {
    await (await request(url, { dispatcher })).body.dump();
  } catch {
    // The gateway is restarting.
  }
  const ms = Math.round(performance.now() - startedAt);
  if (ms > Atomics.load(longest, 0)) Atomics.store(longest, 0, ms);
  await sleep(5);
}
