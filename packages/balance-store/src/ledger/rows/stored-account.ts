/** Turns an account's row, with or without the number of its usable keys, into its record. */

import type { AccountStatus, EmptiedBy } from '../../account.js';
import type { Metadata } from '../../metadata.js';
import { allowanceDueAt } from '../rules/allowance.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

/** `allowanceStart` is in the record as `allowanceDueAt`. */
export const ACCOUNT_MEMBERS = membersWithout('Account', [
  'allotted',
  'opened',
  'budgeted',
  'labelSalt',
  'seq',
  'lastBookedAt',
]);

type StoredAccount = Pick<Row<'Account'>, (typeof ACCOUNT_MEMBERS)[number]>;

/** @param row.expiredCredit - What has expired although no entry says so yet. */
export function accountRecordOf<Stored extends StoredAccount & { readonly expiredCredit: bigint }>(
  row: Stored,
) {
  const { allowanceStart: _, expiredCredit, ...shown } = row;
  return {
    ...shown,
    balance: row.balance - expiredCredit,
    expired: row.expired + expiredCredit,
    emptiedBy: row.emptiedBy as EmptiedBy | null,
    allowanceDueAt: allowanceDueAt(row),
    metadata: row.metadata as Metadata,
    noticeShares: row.noticeShares as readonly number[],
    state: row.state as AccountStatus,
  };
}
