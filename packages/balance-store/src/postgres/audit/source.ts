/** Reads the rows that an audit checks from PostgreSQL. */

import type { Pool } from 'pg';
import type { AuditSource } from '../../ledger/audit/audit-source.js';
import { readBooks } from '../books.js';
import { listClosedMonths, statementsAfter } from '../closed-months.js';
import { reachingDatabase } from '../query.js';
import { archiveReaders } from './archives.js';
import { chainReaders } from './chain.js';
import { entryReaders } from './entries.js';
import { spendingReaders } from './spending.js';
import { totalReaders } from './totals.js';

/** Its methods throw `StoreUnavailableError` for faults of the database. */
export function createAuditSource(pool: Pool): AuditSource {
  const readers: AuditSource = {
    ...totalReaders(pool),
    ...entryReaders(pool),
    ...chainReaders(pool),
    ...archiveReaders(pool),
    ...spendingReaders(pool),
    closedMonths: () => listClosedMonths(pool),
    statementsAfter: (position, limit) => statementsAfter(pool, position, limit),
    readBooks: (query) => readBooks(pool, query),
  };
  const methods = Object.entries(readers).map(([name, read]) => [
    name,
    (...args: readonly never[]) => reachingDatabase(() => (read as Read)(...args)),
  ]);
  return Object.fromEntries(methods) as AuditSource;
}

type Read = (...args: readonly never[]) => Promise<unknown>;
