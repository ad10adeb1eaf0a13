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
  return takeFromLots(transaction, account, { lots, amount: unallotted });
}

/** Reduces the lots to the amount that the balance covers. */
export async function fitLotsToBalance(
  transaction: LedgerTransaction,
  account: AccountState,
): Promise<void> {
  const lots = await allotSpending(transaction, account);
  const total = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
  const covered = account.balance > 0n ? account.balance : 0n;
  if (total > covered) await takeFromLots(transaction, account, { lots, amount: total - covered });
}

async function takeFromLots(
  transaction: LedgerTransaction,
  account: AccountState,
  { lots, amount }: { readonly lots: readonly Lot[]; readonly amount: bigint },
): Promise<readonly Lot[]> {
  let left = amount;
  for (const lot of lots) {
    const taken = lot.remaining < left ? lot.remaining : left;
    if (taken === 0n) continue;
    left -= taken;
    lot.remaining -= taken;
    await transaction.saveLot(lot);
  }
  const unspent = lots.filter(({ remaining }) => remaining > 0n);
  account.nextExpiryAt = firstExpiryOf(unspent);
  return unspent;
}

/** @param lots - In their order, with an unspent part each. */
export function firstExpiryOf(lots: readonly Pick<Lot, 'expiresAt'>[]): Date | null {
  return lots[0]?.expiresAt ?? null;
}

/**
 * What is left of the credits that have expired, as far as their expiry is not booked. Nobody may
 * spend it. Charges take from the credits that expire first, so the spending that is not taken from
 * the credits yet is all taken from these, if they cover it. The SQL function `expired_credit` has
 * the same rule.
 *
 * @param expired - The rows of the credits that have expired.
 */
export function expiredCreditOf(
  { spent, allotted }: Pick<AccountState, 'spent' | 'allotted'>,
  expired: readonly Pick<Lot, 'remaining'>[],
): bigint {
  const left = expired.reduce((sum, { remaining }) => sum + remaining, 0n) - (spent - allotted);
  return left > 0n ? left : 0n;
}

/**
 * Computes the unspent part of each lot after all spending so far, without changing the rows. Lots
 * that have expired are left out.
 */
export function unspentOf(
  { balance, spent, allotted }: Pick<AccountState, 'balance' | 'spent' | 'allotted'>,
  lots: readonly Lot[],
  at: Date,
): UnspentCredit {
  let unallotted = spent - allotted;
  let other = balance > 0n ? balance : 0n;
  const unspent: UnspentCredit['lots'][number][] = [];
  for (const { entryId, source, expiresAt, remaining: before } of lots) {
    const taken = before < unallotted ? before : unallotted;
    unallotted -= taken;
    const remaining = before - taken;
    other -= remaining;
    const isExpired = expiresAt !== null && expiresAt <= at;
    if (remaining > 0n && !isExpired) unspent.push({ entryId, source, expiresAt, remaining });
  }
  return { lots: unspent, other };
}
