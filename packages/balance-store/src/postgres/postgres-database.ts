/** PostgreSQL as a {@link LedgerDatabase}: money by SQL functions, administration by Prisma. */

import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool } from 'pg';
import { PrismaClient } from '../generated/client.js';
import { auditLedger } from '../ledger/audit-ledger.js';
import type { LedgerDatabase } from '../ledger/ledger-database.js';
import { createAuditSource } from './audit-source.js';
import { createEntryTable } from './entries.js';
import { createHoldTable } from './holds.js';
import { createKeyTable } from './keys.js';
import { READ_TIMEOUT_MS, queryRows, reachingDatabase } from './query.js';
import { createSealTable } from './seals.js';
import { createSettleDriver, insertQuarantine } from './settle.js';
import { createStandingReader } from './standing-reader.js';
import { summarizeLedger } from './summary.js';
import { topUpOnce } from './top-up.js';

/**
 * @param hot - For requests: admission reads, settlements, top-ups.
 * @param admin - For operators.
 */
export function createPostgresDatabase(hot: Pool, admin: Pool): LedgerDatabase {
  const prisma = new PrismaClient({ adapter: new PrismaPg(admin) });
  return {
    keys: createKeyTable(prisma, hot),
    holds: createHoldTable(hot, admin),
    entries: createEntryTable(prisma),
    seals: createSealTable(admin),
    settling: createSettleDriver(hot),
    readStanding: createStandingReader(hot),
    topUp: (topUp) => reachingDatabase(() => topUpOnce(hot, topUp)),
    quarantine: (usage) => reachingDatabase(() => insertQuarantine(hot, usage, null)),
    summarize: () => reachingDatabase(() => summarizeLedger(admin)),
    audit: (options) => reachingDatabase(() => auditLedger(createAuditSource(admin), options)),
    ping: () =>
      reachingDatabase(async () => {
        await queryRows(hot, { text: 'SELECT 1', timeoutMs: READ_TIMEOUT_MS });
      }),
    async close() {
      await prisma.$disconnect();
      await Promise.all([hot.end(), admin.end()]);
    },
  };
}
