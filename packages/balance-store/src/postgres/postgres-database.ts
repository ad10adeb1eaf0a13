/**
 * PostgreSQL as a {@link LedgerDatabase}: SQL functions settle charges and place holds, and Prisma
 * serves some of the operators' reads.
 */

import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool } from 'pg';
import { PrismaClient } from '../generated/client.js';
import type { BackgroundOperations } from '../ledger/database/background-work.js';
import { createBackgroundWork } from '../ledger/database/background-work.js';
import type { LedgerDatabase } from '../ledger/database/ledger-database.js';
import type { LedgerThread } from '../ledger/threads/thread-client.js';
import { createAccountTable } from './accounts.js';
import { readBooks } from './books.js';
import { deleteCharges, takeArchiveLock } from './archives.js';
import { createAuditSource } from './audit/source.js';
import { checkCharging, probeCharging } from './charging.js';
import { listClosedMonths, listStatements } from './closed-months.js';
import { createDocumentTable } from './documents.js';
import { createEntryTable } from './entries.js';
import { createEventTable } from './events.js';
import { createHoldTable } from './holds.js';
import { createKeyTable } from './keys.js';
import { listQuarantined } from './quarantine.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';
import { createRequestTables } from './requests.js';
import { createSealTable } from './seals.js';
import { createSettleDriver, insertQuarantine } from './settle.js';
import { createBudgetReader, createSpenderTable } from './spenders.js';
import { readSpending, spendingNamedSince } from './spending.js';
import { createStandingReader } from './standing-reader.js';
import { summarizeLedger } from './summary.js';
import { listTrail } from './trail.js';
import { createBookRunner } from './transaction.js';
import { readUsage, rollUpUsage } from './usage.js';

export interface PostgresDatabaseParts {
  /** The pool for requests: admission reads, holds, settlements, bookings. */
  readonly hot: Pool;
  /**
   * The pool for everything else: operators' calls, and the lists and sums that holders of keys
   * read.
   */
  readonly admin: Pool;
  /** The pool for checks of the server, which must not wait for the others' connections. */
  readonly watch: Pool;
  /** The pool with one connection that records requests. */
  readonly record: Pool;
  /** The thread for work that reads the whole ledger. */
  readonly background: LedgerThread<BackgroundOperations>;
}

export function createPostgresDatabase(parts: PostgresDatabaseParts): LedgerDatabase {
  const { hot, admin, watch, record, background } = parts;
  const others = [hot, admin, record];
  const prisma = new PrismaClient({ adapter: new PrismaPg(admin) });
  const book = createBookRunner(hot);
  return {
    accounts: createAccountTable(admin),
    keys: createKeyTable(hot, admin),
    holds: createHoldTable(hot, admin),
    entries: createEntryTable(prisma),
    events: createEventTable(admin),
    documents: createDocumentTable(admin),
    seals: createSealTable(admin),
    archives: {
      lock: () => reachingDatabase(() => takeArchiveLock(admin)),
      source: createAuditSource(admin),
      deleteCharges: (ranges) => reachingDatabase(() => deleteCharges(admin, ranges)),
    },
    requests: createRequestTables(record, admin),
    settling: createSettleDriver(hot, (...due) => book('bookDue', ...due)),
    charging: {
      check: () => reachingDatabase(() => checkCharging(watch, others)),
      probe: () => reachingDatabase(() => probeCharging(watch, others)),
    },
    spenders: createSpenderTable(admin),
    readStanding: createStandingReader(hot),
    readBudgets: createBudgetReader(hot),
    book,
    readUsage: (query) => reachingDatabase(() => readUsage(admin, query)),
    readSpending: (query) => reachingDatabase(() => readSpending(admin, query)),
    spendingNamedSince: (accountId) => reachingDatabase(() => spendingNamedSince(admin, accountId)),
    readBooks: (query) => reachingDatabase(() => readBooks(admin, query)),
    listClosedMonths: () => reachingDatabase(() => listClosedMonths(admin)),
    listStatements: (filter) => reachingDatabase(() => listStatements(admin, filter)),
    rollUpUsage: (before, limit) => reachingDatabase(() => rollUpUsage(admin, before, limit)),
    listTrail: (filter) => listTrail(prisma, filter),
    quarantine: (usage) => reachingDatabase(() => insertQuarantine(hot, usage, null)),
    listQuarantined: (filter) => reachingDatabase(() => listQuarantined(admin, filter)),
    summarize: (pepperId) => reachingDatabase(() => summarizeLedger(admin, pepperId)),
    background: createBackgroundWork(background),
    ping: () =>
      reachingDatabase(async () => {
        await queryRows(hot, { text: 'SELECT 1', timeoutMs: READ_TIMEOUT_MS });
      }),
    async close() {
      await background.stop();
      await prisma.$disconnect();
      await Promise.all([watch, ...others].map((pool) => pool.end()));
    },
  };
}
