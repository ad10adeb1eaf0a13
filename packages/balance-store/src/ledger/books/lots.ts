/**
 * Lots: credits that expire or were given for free, with the unspent part of each.
 *
 * Charges take from the credit that expires first, then from free credits that do not expire, then
 * from all other money. Charges do not change the rows of lots. Their spending is taken from the
 * lots later, before a booking of another kind reads or changes them. In between, the lots and
 * their order do not change, so the result is the same as if each charge had been taken from them
 * at once.
 *
 * Negative adjustments take from other money first. The lots never exceed the balance: the part of
 * a credit that pays a debt counts as used, so that the expiry of the credit cannot take money that
 * was paid later.
 */

import type { UnspentCredit } from '../../account.js';
import type { AccountState, LedgerTransaction, Lot } from './transaction.js';

/** Takes the spending since the last call from the lots. @returns the lots with an unspent part */
export async function allotSpending(
  transaction: LedgerTransaction,
  account: AccountState,
): Promise<readonly Lot[]> {
  const lots = await transaction.lotsOf(account.id);
  const unallotted = account.spent - account.allotted;
  account.allotted = account.spent;
  return takeFromLots(transaction, lots, unallotted);
}

/** Reduces the lots to the amount that the balance covers. */
export async function fitLotsToBalance(
  transaction: LedgerTransaction,
  account: AccountState,
): Promise<void> {
  const lots = await allotSpending(transaction, account);
  const total = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
  const covered = account.balance > 0n ? account.balance : 0n;
  if (total > covered) await takeFromLots(transaction, lots, total - covered);
}

async function takeFromLots(
  transaction: LedgerTransaction,
  lots: readonly Lot[],
  amount: bigint,
): Promise<readonly Lot[]> {
  let left = amount;
  for (const lot of lots) {
    const taken = lot.remaining < left ? lot.remaining : left;
    if (taken === 0n) continue;
    left -= taken;
    lot.remaining -= taken;
    await transaction.saveLot(lot);
  }
  return lots.filter(({ remaining }) => remaining > 0n);
}

/** Computes the unspent part of each lot after all spending so far, without changing the rows. */
export function unspentOf(
  { balance, spent, allotted }: Pick<AccountState, 'balance' | 'spent' | 'allotted'>,
  lots: readonly Lot[],
): UnspentCredit {
  let unallotted = spent - allotted;
  let other = balance > 0n ? balance : 0n;
  const unspent: UnspentCredit['lots'][number][] = [];
  for (const { entryId, source, expiresAt, remaining: before } of lots) {
    const taken = before < unallotted ? before : unallotted;
    unallotted -= taken;
    const remaining = before - taken;
    other -= remaining;
    if (remaining > 0n) unspent.push({ entryId, source, expiresAt, remaining });
  }
  return { lots: unspent, other };
}
