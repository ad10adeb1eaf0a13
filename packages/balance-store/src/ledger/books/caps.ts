/** Sets the caps of keys: each is a budget of one key. */

import type { Actor } from '../../account.js';
import { CAP_PERIODS } from '../../key.js';
import type { CapPeriod, KeyCaps, KeyRecord } from '../../key.js';
import { rightsOf } from '../rows/spender-rights.js';
import { capId, capStartAt, newCap } from '../rules/caps.js';
import type { Row, SomeColumns } from '../tables/tables.js';
import { beforeAndAfter } from './trail.js';
import type { Change } from './trail.js';
import type { LedgerTransaction } from './transaction.js';

/** A key, and what it was charged. */
type CappedKey = Pick<KeyRecord, 'id' | 'accountId' | 'spent' | 'writtenOff' | 'lastChargedAt'>;

interface Setting {
  readonly by: Actor;
  readonly at: Date;
}

/**
 * Sets those caps of a key that are given, and ends those that are `null`. A new cap counts all
 * charges of the present period. Call it while the account is locked.
 *
 * @returns what the trail has to say of it
 */
export async function setCaps(
  transaction: LedgerTransaction,
  key: CappedKey,
  caps: Partial<KeyCaps>,
  { by, at }: Setting,
): Promise<readonly Change[]> {
  const { accountId, id: keyId } = key;
  const changes: Change[] = [];
  for (const period of CAP_PERIODS) {
    const cap = caps[period];
    if (cap === undefined) continue;
    const found = await setCap(transaction, key, { period, cap, at });
    if (found === undefined) continue;
    const details = { of: capId(keyId, period), ...found.details };
    changes.push({ action: found.action, accountId, keyId, by, at, details });
  }
  if (changes.length > 0) {
    const budgeted = await transaction.spenders.hasBudgets(accountId);
    await transaction.updateAccount(accountId, { budgeted });
  }
  return changes;
}

async function setCap(
  transaction: LedgerTransaction,
  key: CappedKey,
  { period, cap, at }: { period: CapPeriod; cap: bigint | null; at: Date },
): Promise<Pick<Change, 'action' | 'details'> | undefined> {
  const { spenders } = transaction;
  const before = await spenders.find('Budget', capId(key.id, period));
  const isSet = before?.endedSeq === null;
  if (cap === (isSet ? before.amount : null)) return undefined;
  if (before === undefined) {
    const row = newCap(key, { period, amount: cap ?? 0n, createdAt: at });
    await spenders.insert('Budget', row);
    await countBefore(transaction, key, { period, row });
    return { action: 'budget.create', details: rightsOf('Budget', row) };
  }
  if (cap === null) {
    const account = (await transaction.lockAccounts([key.accountId])).get(key.accountId);
    return change(transaction, before, { endedSeq: account?.seq ?? 0n });
  }
  if (isSet) return change(transaction, before, { amount: cap });
  // It begins anew: what was charged meanwhile counts, and what it counted before does not.
  const begun = { amount: cap, createdAt: at, endedSeq: null };
  await spenders.deleteUses(before.id);
  await countBefore(transaction, key, { period, row: { ...before, ...begun } });
  return change(transaction, before, begun);
}

async function change(
  transaction: LedgerTransaction,
  before: Row<'Budget'>,
  changed: SomeColumns<'Budget'>,
): Promise<Pick<Change, 'action' | 'details'>> {
  await transaction.spenders.update('Budget', before.id, changed);
  return {
    action: changed.endedSeq == null ? 'budget.update' : 'budget.end',
    details: beforeAndAfter(rightsOf('Budget', before), rightsOf('Budget', changed)),
  };
}

/** Adds the charges of the present period that were made before. */
async function countBefore(
  transaction: LedgerTransaction,
  { id: keyId, accountId, spent, writtenOff, lastChargedAt }: CappedKey,
  { period, row }: { readonly period: CapPeriod; readonly row: Row<'Budget'> },
): Promise<void> {
  const start = capStartAt(period, row.createdAt.getTime());
  if ((lastChargedAt?.getTime() ?? -1) < start) return;
  const charged =
    period === 'total'
      ? [{ amount: spent + writtenOff }]
      : await transaction.spenders.chargesSince(accountId, new Date(start), keyId);
  const used = charged.reduce((sum, { amount }) => sum + amount, 0n);
  const use = { budgetId: row.id, subject: '', startAt: BigInt(start), accountId, used };
  if (used > 0n) await transaction.spenders.insert('BudgetUse', use);
}
