/** The record of requests: see `request-record.ts`. */

import { DAY_MS } from '../hours.js';
import { REQUEST_PERIOD_MS } from '../../request-record.js';
import type { BalanceStore } from '../../store.js';
import { assertTime } from '../argument-checks.js';
import type { RequestTables } from '../ledger-database.js';
import { encodeBatch } from '../requests/batch.js';
import { Erasures } from '../requests/erasures.js';
import { PendingSums } from '../requests/pending-sums.js';
import { isLabelled } from '../requests/sums.js';

/** Sums are written at the latest after this time. */
const WRITE_SUMS_MS = 30_000;

export function createRequestRecord(requests: RequestTables): Pick<
  BalanceStore,
  'recordRequests' | 'listRequests' | 'sumRequests' | 'pruneRequests'
> & {
  /** Deletes the record of an account's requests. */
  readonly eraseRequests: (accountId: string) => Promise<void>;
  readonly closeRequests: () => Promise<void>;
} {
  const pending = new PendingSums(Date.now);
  const erasures = new Erasures(requests, pending, Date.now);
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Writes the sums of all requests that were recorded before the call. */
  function writeSums(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (pending.isEmpty) return writing;
    pending.close();
    const written = writing.then(writeParts);
    writing = written.catch(() => undefined);
    return written;
  }

  async function writeParts(): Promise<void> {
    try {
      for (let part = pending.takePart(); part !== undefined; part = pending.takePart()) {
        await requests.record({ ...part, block: undefined });
      }
    } catch (error) {
      pending.dropClosed();
      throw error;
    }
    await tryToEraseAgain();
  }

  /** If it fails, the erasures are found again after the next batch. */
  function tryToEraseAgain(): Promise<void> {
    return erasures.eraseAgain().catch(() => undefined);
  }

  /** As with a block that cannot be written, the requests are then missing in the sums. */
  function tryToWriteSums(): void {
    writeSums().catch(() => undefined);
  }

  return {
    async recordRequests(batch) {
      const stored = encodeBatch(erasures.without(batch), pending);
      if (!pending.isEmpty) timer ??= setTimeout(tryToWriteSums, WRITE_SUMS_MS).unref();
      await requests.record(stored);
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
      await writeSums().catch(() => undefined);
    },
  };
}

function assertPeriod(name: string, value: number, periodMs: number): void {
  if (Number.isInteger(value / periodMs) && value >= 0) return;
  const period = periodMs === DAY_MS ? 'days' : 'periods of five minutes';
  throw new RangeError(`${name}: must be a whole number of ${period}`);
}
