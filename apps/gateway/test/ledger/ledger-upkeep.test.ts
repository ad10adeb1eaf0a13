/** The ledger's upkeep when one of its steps fails or takes long. */

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { BalanceStore, LedgerSummary } from '@gateway/balance-store';
import { pino } from 'pino';
import { startLedgerUpkeep } from '../../src/ledger/ledger-upkeep.js';

const MINUTE_MS = 60_000;
const RECORD = { days: 30, maxRows: 1_000 };

type Figures = Pick<LedgerSummary, 'orphanedHolds'> &
  Partial<Pick<LedgerSummary, 'lastEntryAt' | 'clockBehindMs'>>;

let lines: string[];
beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
});
afterEach(() => {
  jest.useRealTimers();
});

function setUp(sealEntries: () => Promise<undefined>) {
  const steps = {
    sealEntries: jest.fn(sealEntries),
    rollUpUsage: jest.fn(() => Promise.resolve()),
    expire: jest.fn(() => Promise.resolve()),
    pruneRequests: jest.fn(() => Promise.resolve()),
    summarize: jest.fn(() => Promise.resolve<Figures>({ orphanedHolds: 0 })),
    recordEvent: jest.fn(() => Promise.resolve()),
  };
  const log = pino({}, { write: (line: string) => lines.push(line) });
  return { steps, upkeep: startLedgerUpkeep(steps as unknown as BalanceStore, log, RECORD) };
}

it('lets credit expire and reads the figures although the ledger cannot be sealed', async () => {
  const { steps, upkeep } = setUp(() => Promise.reject(new Error('block 7 was changed')));
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect(steps.rollUpUsage).toHaveBeenCalledTimes(1);
  expect(steps.expire).toHaveBeenCalledTimes(1);
  expect(steps.summarize).toHaveBeenCalledTimes(2);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'ledger upkeep failed', step: 'seal', reason: 'block 7 was changed' },
  ]);
  await upkeep.stop();
});

it('skips the minutes in which it still runs, and begins no step once it is stopped', async () => {
  let finish: () => void = () => undefined;
  const { steps, upkeep } = setUp(
    () =>
      new Promise((resolve) => {
        finish = () => resolve(undefined);
      }),
  );
  await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
  expect(steps.sealEntries).toHaveBeenCalledTimes(1);
  finish();
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect(steps.expire).toHaveBeenCalledTimes(1);
  expect(steps.sealEntries).toHaveBeenCalledTimes(2);
  const stopped = upkeep.stop();
  finish();
  await stopped;
  await jest.advanceTimersByTimeAsync(5 * MINUTE_MS);
  expect(steps.expire).toHaveBeenCalledTimes(1);
  expect(steps.sealEntries).toHaveBeenCalledTimes(2);
});

it('looks for unsealed entries of all accounts once an hour, and again after a failure', async () => {
  let fails = false;
  const { steps, upkeep } = setUp(() =>
    fails ? Promise.reject(new Error('no disk')) : Promise.resolve(undefined),
  );
  const wholePasses = () =>
    (steps.sealEntries.mock.calls as unknown as readonly [{ readonly all: boolean }][]).flatMap(
      ([{ all }], minute) => (all ? [minute + 1] : []),
    );
  await jest.advanceTimersByTimeAsync(62 * MINUTE_MS);
  expect(wholePasses()).toEqual([1, 61]);
  fails = true;
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  fails = false;
  await jest.advanceTimersByTimeAsync(2 * MINUTE_MS);
  expect(wholePasses()).toEqual([1, 61, 64]);
  await upkeep.stop();
});

it('deletes old requests soon after the start, and then once an hour', async () => {
  const { steps, upkeep } = setUp(() => Promise.resolve(undefined));
  await jest.advanceTimersByTimeAsync(60 * MINUTE_MS);
  expect(steps.pruneRequests).toHaveBeenCalledTimes(1);
  await jest.advanceTimersByTimeAsync(MINUTE_MS);
  expect(steps.pruneRequests).toHaveBeenCalledTimes(2);
  const day = 24 * 60 * MINUTE_MS;
  const before = new Date((Math.floor(Date.now() / day) - RECORD.days) * day);
  const [, second] = steps.pruneRequests.mock.calls as readonly unknown[];
  expect(second).toEqual([{ before, maxKept: RECORD.maxRows }]);
  await upkeep.stop();
});

// F497
it('reports a clock behind the last entry once, and again when it has been set back again', async () => {
  const { steps, upkeep } = setUp(() => Promise.resolve(undefined));
  const entry = (ms: number, clockBehindMs: number) => {
    const found = { orphanedHolds: 0, lastEntryAt: new Date(ms), clockBehindMs };
    steps.summarize.mockImplementation(() => Promise.resolve(found));
  };
  const pass = () => jest.advanceTimersByTimeAsync(MINUTE_MS);
  entry(5_000, 1_000);
  await pass();
  expect(lines).toEqual([]);
  for (const clockBehindMs of [600_000, 540_000]) {
    entry(5_000, clockBehindMs);
    await pass();
  }
  entry(9_000, 60_000);
  // The event cannot be written, so the next pass reports it.
  steps.recordEvent.mockImplementationOnce(() => Promise.reject(new Error('no disk')));
  await pass();
  await pass();
  await upkeep.stop();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: 'clock behind the ledger', behind_seconds: '600' },
    { msg: 'ledger upkeep failed', step: 'summarize', reason: 'no disk' },
    { msg: 'clock behind the ledger', last_entry_at: '1970-01-01T00:00:09.000Z' },
  ]);
  expect(steps.recordEvent).toHaveBeenCalledTimes(3);
});
