/** Turns an account's row, with or without the number of its usable keys, into its record. */

import type { AccountStatus } from '../account.js';
import type { Metadata } from '../metadata.js';
import { membersWithout } from './tables.js';
import type { Row } from './tables.js';

export const ACCOUNT_MEMBERS = membersWithout('Account', ['allotted', 'seq']);

type StoredAccount = Pick<Row<'Account'>, (typeof ACCOUNT_MEMBERS)[number]>;

export function accountRecordOf<Stored extends StoredAccount>(row: Stored) {
  return {
    ...row,
    metadata: row.metadata as Metadata,
    noticeShares: row.noticeShares as readonly number[],
    state: row.state as AccountStatus,
  };
}
