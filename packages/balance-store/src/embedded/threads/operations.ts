/**
 * The operations of the ledger's threads. A thread finishes one operation before it starts the
 * next, except that an audit and the work of an archive let other calls run before each page.
 */

import type { AuditSource } from '../../ledger/audit/audit-source.js';
import { createBackgroundOperations } from '../../ledger/database/background-work.js';
import { callBook } from '../../ledger/books/index.js';
import type { BookArgs, BookName } from '../../ledger/books/index.js';
import { listAccounts, readBalanceAt, readLots } from '../sqlite/accounts.js';
import { readBooks } from '../sqlite/books.js';
import { deleteCharges } from '../sqlite/archives.js';
import { readHead } from '../sqlite/audit/chain.js';
import { createAuditSource } from '../sqlite/audit/source.js';
import { APPLICATION_ID } from '../sqlite/connection.js';
import type { Connection } from '../sqlite/connection.js';
import { listClosedMonths, listStatements } from '../sqlite/closed-months.js';
import { getDocument, listDocuments } from '../sqlite/documents.js';
import { finishEvent, listEvents, pruneEvents, takeDueEvents } from '../sqlite/events.js';
import { findEntries, findEntry, listEntries } from '../sqlite/entries.js';
import { countHolds, listHolds, placeHolds, releaseHolds, renewHolds } from '../sqlite/holds.js';
import { listKeys } from '../sqlite/keys.js';
import { insertQuarantine, listQuarantined, quarantineSettlement } from '../sqlite/quarantine.js';
import { emptyLog } from '../sqlite/log.js';
import {
  addToSums,
  eraseRequests,
  listRequests,
  pruneRequests,
  recordRequests,
  recordedFrom,
  sumRequests,
} from '../sqlite/requests.js';
import { spenderTable } from '../sqlite/spenders.js';
import { readSpending, spendingNamedSince } from '../sqlite/spending.js';
import { rollUpUsage } from '../sqlite/roll-up.js';
import { accountIdsAfter, changedAccountIds, sealBlock } from '../sqlite/seals.js';
import { settleBatch } from '../sqlite/settle.js';
import { summarizeLedger } from '../sqlite/summary.js';
import { erasuresAfter, listTrail } from '../sqlite/trail.js';
import { SqliteTransaction } from '../sqlite/transaction.js';
import { readUsage } from '../sqlite/usage.js';
import type { Settlement, SettleOutcome } from '../../store.js';
import type { CommitReports } from './commit-reports.js';

export type WriteOperations = ReturnType<typeof createWriteOperations>;
export type ReadOperations = ReturnType<typeof createReadOperations>;
export type RequestOperations = ReturnType<typeof createRequestOperations>;

/** The parameters without the connection, which the thread adds. */
type Rest<Args extends unknown[]> = Args extends [Connection, ...infer Others] ? Others : never;

function on<Args extends [Connection, ...unknown[]], Result>(
  connection: Connection,
  operation: (...args: Args) => Result,
): (...args: Rest<Args>) => Result {
  return (...args) => operation(...([connection, ...args] as unknown as Args));
}

export interface WriteParts {
  readonly commits: CommitReports;
  /** Throws if the file was replaced or deleted since it was opened. */
  readonly assertInPlace: () => void;
  /**
   * Throws if the ledger was moved to PostgreSQL since it was opened. A move holds the write lock,
   * and writes its mark before it releases the lock. A transaction that waited for the lock can
   * therefore find the mark only after it has begun, so this is called within each transaction.
   */
  readonly assertNotMoved: () => void;
  /** Called before the transaction of an erasure, and after it. */
  readonly beforeErasure: () => void;
  readonly afterErasure: () => void;
}

export function createWriteOperations(
  connection: Connection,
  { commits, assertInPlace, assertNotMoved, beforeErasure, afterErasure }: WriteParts,
) {
  const guarded: Connection = {
    ...connection,
    write(work) {
      assertInPlace();
      const result = connection.write(() => {
        assertNotMoved();
        commits.begun();
        return work();
      });
      commits.committed();
      return result;
    },
    writeAsync(work) {
      assertInPlace();
      return connection.writeAsync(() => {
        assertNotMoved();
        return work();
      });
    },
  };
  /** For operations that change no account and no key. */
  const aside = <Args extends [Connection, ...unknown[]], Result>(
    operation: (...args: Args) => Result,
  ) => {
    const run = on(guarded, operation);
    return (...args: Rest<Args>): Result => {
      const result = run(...args);
      commits.knows(undefined);
      return result;
    };
  };
  const bookDue = (...due: BookArgs<'bookDue'>) =>
    guarded.writeAsync(() => callBook(new SqliteTransaction(guarded), 'bookDue', due));
  return {
    async settleBatch(batch: readonly Settlement[]): Promise<readonly SettleOutcome[]> {
      for (;;) {
        const settled = settleBatch(guarded, batch, commits.kept);
        if (settled.outcomes !== undefined) {
          commits.knows(settled.changed);
          return settled.outcomes;
        }
        await bookDue(settled.withExpiredCredit, settled.at);
      }
    },
    quarantineSettlement: aside(quarantineSettlement),
    insertQuarantine: aside(insertQuarantine),
    async book<Name extends BookName>(name: Name, ...args: BookArgs<Name>) {
      if (name === 'eraseAccount') beforeErasure();
      const result = await guarded.writeAsync(() =>
        callBook(new SqliteTransaction(guarded), name, args),
      );
      if (name === 'eraseAccount') afterErasure();
      return result;
    },
    takeDueEvents: aside(takeDueEvents),
    finishEvent: aside(finishEvent),
    pruneEvents: aside(pruneEvents),
    placeHolds: aside(placeHolds),
    renewHolds: aside(renewHolds),
    releaseHolds: aside(releaseHolds),
    sealBlock: aside(sealBlock),
    rollUpUsage: aside(rollUpUsage),
    deleteCharges: on(guarded, deleteCharges),
    emptyLog: on(connection, emptyLog),
    /**
     * Writes a page as it is, so that the log needs room on the disk as for a charge. Nothing is
     * changed.
     */
    probeCharging(): void {
      guarded.write(() => {
        connection.exec(`PRAGMA application_id = ${String(APPLICATION_ID)}`);
      });
    },
    ping(): void {
      assertInPlace();
      connection.get('SELECT 1');
    },
  };
}

/** The record of requests, on a connection to its own file. */
export function createRequestOperations(
  connection: Connection,
  {
    assertInPlace,
    beforeErasure,
    afterErasure,
  }: Pick<WriteParts, 'assertInPlace' | 'beforeErasure' | 'afterErasure'>,
) {
  const guarded: Connection = {
    ...connection,
    write(work) {
      assertInPlace();
      return connection.write(work);
    },
  };
  return {
    recordRequests: on(guarded, recordRequests),
    addToSums: on(guarded, addToSums),
    listRequests: on(connection, listRequests),
    sumRequests: on(connection, sumRequests),
    recordedFrom: on(connection, recordedFrom),
    pruneRequests: on(guarded, pruneRequests),
    eraseRequests(accountId: string, series: readonly number[]): void {
      beforeErasure();
      eraseRequests(guarded, accountId, series);
      afterErasure();
    },
  };
}

export function createReadOperations(connection: Connection) {
  const source = createAuditSource(connection);
  return {
    ...createBackgroundOperations(source),
    listAccounts: on(connection, listAccounts),
    readLots: on(connection, readLots),
    readBalanceAt: on(connection, readBalanceAt),
    listKeys: on(connection, listKeys),
    readUsage: on(connection, readUsage),
    readSpending: on(connection, readSpending),
    spendingNamedSince: on(connection, spendingNamedSince),
    readBooks: on(connection, readBooks),
    listClosedMonths: on(connection, listClosedMonths),
    listStatements: on(connection, listStatements),
    listEvents: on(connection, listEvents),
    ...spenderTable(connection),
    getDocument: on(connection, getDocument),
    listDocuments: on(connection, listDocuments),
    listTrail: on(connection, listTrail),
    erasuresAfter: on(connection, erasuresAfter),
    listHolds: on(connection, listHolds),
    countHolds: on(connection, countHolds),
    findEntry: on(connection, findEntry),
    findEntries: on(connection, findEntries),
    listEntries: on(connection, listEntries),
    accountIdsAfter: on(connection, accountIdsAfter),
    changedAccountIds: on(connection, changedAccountIds),
    readHead: on(connection, readHead),
    listQuarantined: on(connection, listQuarantined),
    summarize: on(connection, summarizeLedger),
    archives: () => source.archives(),
    carriesAfter: (...args: Parameters<AuditSource['carriesAfter']>) =>
      source.carriesAfter(...args),
    hasCarriedCharges: (number: number) => source.hasCarriedCharges(number),
  };
}
