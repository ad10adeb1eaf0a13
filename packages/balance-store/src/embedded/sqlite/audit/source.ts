/** Reads the rows that an audit checks. */

import type { AuditSource } from '../../../ledger/audit/audit-source.js';
import type { Connection } from '../connection.js';
import { archiveReaders } from './archives.js';
import { chainReaders } from './chain.js';
import { entryReaders } from './entries.js';
import { totalReaders } from './totals.js';

export function createAuditSource(connection: Connection): AuditSource {
  return {
    ...totalReaders(connection),
    ...entryReaders(connection),
    ...chainReaders(connection),
    ...archiveReaders(connection),
  };
}
