/** Turns an account's row, with the number of its usable keys, into an {@link AccountRecord}. */

import type { AccountRecord, AccountStatus } from '../account.js';
import type { Metadata } from '../metadata.js';
import { allowanceDueAt } from './allowance.js';
import { membersWithout } from './tables.js';
import type { Row } from './tables.js';

/** `allowanceStart` is in the record as `allowanceDueAt`. */
export const ACCOUNT_MEMBERS = membersWithout('Account', ['allotted', 'seq']);

export interface StoredAccount extends Pick<Row<'Account'>, (typeof ACCOUNT_MEMBERS)[number]> {
  readonly usableKeys: number;
}

export function accountRecordOf(row: StoredAccount): AccountRecord {
  const { allowanceStart: _, ...shown } = row;
  return {
    ...shown,
    allowanceDueAt: allowanceDueAt(row),
    metadata: row.metadata as Metadata,
    noticeShares: row.noticeShares as readonly number[],
    state: row.state as AccountStatus,
  };
}
