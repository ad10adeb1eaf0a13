/** The record of requests: see `request-record.ts`. */

import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../base/hours.js';
import { REQUEST_PERIOD_MS } from '../../request-record.js';
import { StoreUnavailableError } from '../../store.js';
import type { BalanceStore } from '../../store.js';
import { assertTime } from '../rules/argument-checks.js';
import type { RequestTables } from '../requests/request-tables.js';
import { encodeBatch } from '../requests/batch.js';
import type { StoredBatch } from '../requests/batch.js';
import { Erasures } from '../requests/erasures.js';
import { PendingSums } from '../requests/pending-sums.js';
import { isLabelled } from '../requests/sums.js';

/** Sums are written at the latest after this time. */
const WRITE_SUMS_MS = 30_000;

export function createRequestRecord(requests: RequestTables): Pick<
  BalanceStore,
  'recordRequests' | 'listRequests' | 'sumRequests' | 'pruneRequests' | 'requestsRecordedFrom'
> & {
  /** Deletes the record of an account's requests. */
  readonly eraseRequests: (accountId: string) => Promise<void>;
  readonly closeRequests: () => Promise<void>;
} {
  const pending = new PendingSums(Date.now);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  /** A part of the sums whose writing failed. It is repeated first, under its id. */
  let failed: StoredBatch | undefined;
  let isClosed = false;
  const waiting = {
    forget(accountId: string): void {
      pending.forget(accountId);
      // It may have sums of the account, and losing the others loses no money.
      failed = undefined;
    },
  };
  const erasures = new Erasures(requests, waiting, Date.now);

  /** Writes the sums of all requests that were recorded before the call. */
  function writeSums(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (pending.isEmpty && failed === undefined) return writing;
    pending.close();
    const written = writing.then(writeParts);
    writing = written.catch(() => undefined);
    return written;
  }

  async function writeParts(): Promise<void> {
    for (let part = failed ?? nextPart(); part !== undefined; part = nextPart()) {
      failed = part;
      try {
        await requests.record(part);
      } catch (error) {
        // What the database refuses would be refused again.
        if (!(error instanceof StoreUnavailableError)) failed = undefined;
        throw error;
      }
      failed = undefined;
    }
    await tryToEraseAgain();
  }

  /** If it fails, the erasures are found again after the next batch. */
  function tryToEraseAgain(): Promise<void> {
    return erasures.eraseAgain().catch(() => undefined);
  }

  function nextPart(): StoredBatch | undefined {
    const part = pending.takePart();
    return part && { ...part, id: randomUUID(), blocks: [] };
  }

  /** What cannot be written is tried again later. A crash before that loses it. */
  function tryToWriteSums(): void {
    writeSums().catch(() => {
      if (!isClosed) timer ??= setTimeout(tryToWriteSums, WRITE_SUMS_MS).unref();
    });
  }

  return {
    async recordRequests(batch) {
      const encoded = encodeBatch(erasures.without(batch), batch.id ?? randomUUID(), pending);
      await requests.record(encoded.stored);
      // After the write, so that the sums have what the list has.
      for (const request of encoded.requests) pending.add(request);
      if (!pending.isEmpty) timer ??= setTimeout(tryToWriteSums, WRITE_SUMS_MS).unref();
      await tryToEraseAgain();
      if (pending.isDue) tryToWriteSums();
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
      await writeSums();
      return requests.sums(query);
    },
    async requestsRecordedFrom(of) {
      if (of !== 'requests') await writeSums();
      return requests.recordedFrom(of);
    },
    async pruneRequests(pruning) {
      assertTime('before', pruning.before);
      await writeSums();
      while (!(await requests.prune(pruning)).isDone);
    },
    async eraseRequests(accountId) {
      // What is being written now is deleted afterwards.
      await writing;
      await erasures.erase(accountId);
    },
    async closeRequests() {
      isClosed = true;
      await writeSums().catch(() => undefined);
    },
  };
}

function assertPeriod(name: string, value: number, periodMs: number): void {
  if (Number.isInteger(value / periodMs) && value >= 0) return;
  const period = periodMs === DAY_MS ? 'days' : 'periods of five minutes';
  throw new RangeError(`${name}: must be a whole number of ${period}`);
}
