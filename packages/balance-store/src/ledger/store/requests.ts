/** The record of requests: see `request-record.ts`. */

import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../base/hours.js';
import { REQUEST_PERIOD_MS } from '../../request-record.js';
import type { BalanceStore } from '../../store.js';
import { assertTime } from '../rules/argument-checks.js';
import type { RequestTables } from '../requests/request-tables.js';
import { encodeBatch } from '../requests/batch.js';
import { Erasures } from '../requests/erasures.js';
import { KnownSeries } from '../requests/known-series.js';
import { isLabelled } from '../requests/sums.js';

/**
 * Blocks are added to the sums at the latest after this time. To add each at once would cost more
 * than the block: many keys have one request in it.
 */
const ADD_TO_SUMS_MS = 30_000;

export function createRequestRecord(requests: RequestTables): Pick<
  BalanceStore,
  'recordRequests' | 'listRequests' | 'sumRequests' | 'pruneRequests' | 'requestsRecordedFrom'
> & {
  /** Deletes the record of an account's requests. */
  readonly eraseRequests: (accountId: string) => Promise<void>;
  readonly closeRequests: () => Promise<void>;
} {
  const known = new KnownSeries(Date.now);
  const erasures = new Erasures(requests, known, Date.now);
  let timer: NodeJS.Timeout | undefined;
  let adding: Promise<void> = Promise.resolve();
  /** Begins when `adding` has ended. */
  let nextAdding: Promise<void> | undefined;
  let hasRecorded = false;
  let isClosed = false;

  /** Sums all requests that any process recorded before the call. */
  function addToSums(): Promise<void> {
    nextAdding ??= adding.then(startAdding);
    return nextAdding;
  }

  function startAdding(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    nextAdding = undefined;
    hasRecorded = false;
    const added = addAll();
    adding = added.catch(addSoon);
    return added;
  }

  async function addAll(): Promise<void> {
    let [added, isDone] = [0, false];
    while (!isDone) {
      const summed = await requests.addToSums();
      added += summed.added;
      ({ isDone } = summed);
    }
    if (added > 0) await tryToEraseAgain();
  }

  /** If it fails, the erasures are found again after the next batch. */
  function tryToEraseAgain(): Promise<void> {
    return erasures.eraseAgain().catch(() => undefined);
  }

  function addSoon(): void {
    if (isClosed) return;
    timer ??= setTimeout(() => {
      addToSums().catch(() => undefined);
    }, ADD_TO_SUMS_MS).unref();
  }

  // What a process that was killed has left.
  addSoon();

  return {
    async recordRequests(batch) {
      const stored = encodeBatch(erasures.without(batch), batch.id ?? randomUUID(), known);
      await requests.record(stored);
      for (const { id, accountId } of stored.series) known.add(Number(id), accountId);
      hasRecorded = true;
      addSoon();
      await tryToEraseAgain();
    },
    async listRequests(query) {
      assertTime('from', query.from);
      assertTime('until', query.until);
      return requests.list(query);
    },
    async sumRequests(query) {
      const periodMs = isLabelled(query) ? DAY_MS : REQUEST_PERIOD_MS;
      assertPeriod('from', query.from.getTime(), periodMs);
      assertPeriod('until', query.until.getTime(), periodMs);
      if (query.everyMs !== undefined) assertPeriod('everyMs', query.everyMs, periodMs);
      await addToSums();
      return requests.sums(query);
    },
    async requestsRecordedFrom(of) {
      if (of !== 'requests') await addToSums();
      return requests.recordedFrom(of);
    },
    async pruneRequests(pruning) {
      assertTime('before', pruning.before);
      await addToSums();
      while (!(await requests.prune(pruning)).isDone);
      known.clear();
    },
    async eraseRequests(accountId) {
      // What is being summed now is deleted afterwards.
      await adding;
      await erasures.erase(accountId);
    },
    async closeRequests() {
      isClosed = true;
      if (hasRecorded) await addToSums().catch(() => undefined);
      await adding;
      clearTimeout(timer);
    },
  };
}

function assertPeriod(name: string, value: number, periodMs: number): void {
  if (Number.isInteger(value / periodMs) && value >= 0) return;
  const period = periodMs === DAY_MS ? 'days' : 'periods of five minutes';
  throw new RangeError(`${name}: must be a whole number of ${period}`);
}
