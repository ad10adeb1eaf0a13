/** Turns an account's row, with the number of its usable keys, into an {@link AccountRecord}. */

import type { AccountRecord, AccountStatus } from '../account.js';
import type { Metadata } from '../metadata.js';

/** @typeParam Amount - How the database returns an amount of USD. */
export interface StoredAccount<Amount> {
  readonly id: string;
  readonly name: string;
  readonly externalId: string | null;
  readonly metadata: unknown;
  readonly state: AccountStatus;
  readonly lowBalance: Amount | null;
  readonly balance: Amount;
  readonly spent: Amount;
  readonly credited: Amount;
  readonly adjusted: Amount;
  readonly expired: Amount;
  readonly writtenOff: Amount;
  readonly uncovered: Amount;
  readonly usableKeys: number;
  readonly createdAt: Date;
  readonly lastChargedAt: Date | null;
}

/** @param unitsOf - Reads an amount into units of 10^-14 USD. */
export function accountRecordOf<Amount>(
  row: StoredAccount<Amount>,
  unitsOf: (amount: Amount) => bigint,
): AccountRecord {
  return {
    id: row.id,
    name: row.name,
    externalId: row.externalId,
    metadata: row.metadata as Metadata,
    state: row.state,
    lowBalance: row.lowBalance === null ? null : unitsOf(row.lowBalance),
    balance: unitsOf(row.balance),
    spent: unitsOf(row.spent),
    credited: unitsOf(row.credited),
    adjusted: unitsOf(row.adjusted),
    expired: unitsOf(row.expired),
    writtenOff: unitsOf(row.writtenOff),
    uncovered: unitsOf(row.uncovered),
    usableKeys: row.usableKeys,
    createdAt: row.createdAt,
    lastChargedAt: row.lastChargedAt,
  };
}
