/** Reads the rows that an audit checks. */

import type { AuditSource } from '../../../ledger/audit/audit-source.js';
import { readBooks } from '../books.js';
import { listClosedMonths, statementsAfter } from '../closed-months.js';
import type { Connection } from '../connection.js';
import { archiveReaders } from './archives.js';
import { chainReaders } from './chain.js';
import { entryReaders } from './entries.js';
import { spendingReaders } from './spending.js';
import { totalReaders } from './totals.js';

export function createAuditSource(connection: Connection): AuditSource {
  return {
    ...totalReaders(connection),
    ...entryReaders(connection),
    ...chainReaders(connection),
    ...archiveReaders(connection),
    ...spendingReaders(connection),
    closedMonths: () => Promise.resolve(listClosedMonths(connection)),
    statementsAfter: (position, limit) =>
      Promise.resolve(statementsAfter(connection, position, limit)),
    readBooks: (query) => readBooks(connection, query),
  };
}
