/**
 * Waits for the next day or hour if this one is about to end, for tests that make charges and then
 * ask for those "of today": a day that ends between the two would make them fail. Only such tests
 * wait. All others run across midnight every night (see .github/workflows/nightly.yml).
 */

import { setTimeout as sleep } from 'node:timers/promises';

const HOUR_MS = 3_600_000;
const UNITS = {
  hour: { ms: HOUR_MS, enoughMs: 30_000 },
  day: { ms: 24 * HOUR_MS, enoughMs: 120_000 },
} as const;

/** Resolves when at least half a minute of this hour, or two minutes of this UTC day, are left. */
export async function untilSteady(unit: keyof typeof UNITS): Promise<void> {
  await sleep(waitMs(unit));
}

/**
 * The same for a file whose constants name the day: call it above them. It blocks this process, so
 * nothing may be running yet.
 */
export function waitUntilSteady(unit: keyof typeof UNITS): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs(unit));
}

function waitMs(unit: keyof typeof UNITS): number {
  const { ms, enoughMs } = UNITS[unit];
  const leftMs = ms - (Date.now() % ms);
  // One second more, because a timer may fire a little early.
  return leftMs < enoughMs ? leftMs + 1_000 : 0;
}
