/**
 * A slowdown on purpose, to see that the guard notices it. Loaded into a gateway with `--import`,
 * it burns, when a request arrives, PLANTED_PERCENT of the CPU time that the process used since the
 * request before.
 */

import { subscribe } from 'node:diagnostics_channel';
import { isMainThread } from 'node:worker_threads';

const share = Number(process.env.PLANTED_PERCENT) / 100;
/** CPU time of the process that was paid for, the burnt time included. */
let paidMs = usedMs();

// Worker threads load this module too, but requests arrive in the main thread.
if (isMainThread) {
  subscribe('http.server.request.start', () => {
    const used = usedMs();
    const burnMs = share * (used - paidMs);
    // Not by the clock: this thread may have to wait for a processor.
    const until = ownMs() + burnMs;
    while (ownMs() < until);
    paidMs = used + Math.max(0, burnMs);
  });
}

function usedMs() {
  return inMs(process.cpuUsage());
}

/** CPU time of the main thread. */
function ownMs() {
  return inMs(process.threadCpuUsage());
}

function inMs({ user, system }) {
  return (user + system) / 1000;
}
