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
import type { LotChange } from '../rows/lot-changes.js';
import type { AccountState, LedgerTransaction, Lot } from './transaction.js';

/** What an entry changes in lots. */
export interface LotEffect {
  readonly changes: readonly LotChange[];
  /** What it changes in given money. */
  readonly given: bigint;
}

/** Takes the spending since the last call from the lots. @returns the lots with an unspent part */
export async function allotSpending(
  transaction: LedgerTransaction,
  account: AccountState,
): Promise<readonly Lot[]> {
  const lots = await transaction.lotsOf(account.id);
  const unallotted = account.spent - account.allotted;
  account.allotted = account.spent;
  return (await takeFromLots(transaction, account, { lots, amount: unallotted })).left;
}

/** Reduces the lots to what this balance covers, which an entry will leave. */
export async function fitLotsTo(
  transaction: LedgerTransaction,
  account: AccountState,
  balance: bigint,
): Promise<LotEffect> {
  const lots = await allotSpending(transaction, account);
  const total = lots.reduce((sum, { remaining }) => sum + remaining, 0n);
  const excess = total - (balance > 0n ? balance : 0n);
  if (excess <= 0n) return { changes: [], given: 0n };
  return (await takeFromLots(transaction, account, { lots, amount: excess })).effect;
}

/**
 * Takes back what was given: from given money, in the order in which charges use it. What it does
 * not cover is taken as usual.
 *
 * @param balance - What the entry will leave.
 */
export async function takeGiven(
  transaction: LedgerTransaction,
  account: AccountState,
  { amount, balance }: { readonly amount: bigint; readonly balance: bigint },
): Promise<LotEffect> {
  const lots = (await allotSpending(transaction, account)).filter(isGiven);
  const { effect } = await takeFromLots(transaction, account, { lots, amount });
  const fitted = await fitLotsTo(transaction, account, balance);
  return {
    changes: [...effect.changes, ...fitted.changes],
    given: effect.given + fitted.given,
  };
}

/** Adds lots that an entry brings, which will leave this balance. */
export async function addLots(
  transaction: LedgerTransaction,
  account: AccountState,
  { lots, balance }: { readonly lots: readonly Lot[]; readonly balance: bigint },
): Promise<LotEffect> {
  // Earlier spending is taken from the lots that existed before these.
  await allotSpending(transaction, account);
  for (const lot of lots) await transaction.saveLot(lot);
  // If there was a debt, the part of a lot that pays it counts as used.
  const used = await fitLotsTo(transaction, account, balance);
  const brought = lots.reduce((sum, lot) => sum + (isGiven(lot) ? lot.remaining : 0n), 0n);
  return {
    changes: lots.map(({ entryId: lot, remaining: amount, source, expiresAt }) => ({
      lot,
      amount,
      terms: { source, expiresAt },
    })),
    given: brought + used.given,
  };
}

/**
 * Undoes changes of lots, the last one first: what was taken from a lot is its again, also if the
 * lot has expired, and what was added is taken, as far as it is left.
 *
 * @param balance - What the reversal will leave.
 */
export async function undoLotChanges(
  transaction: LedgerTransaction,
  account: AccountState,
  { changes, balance }: { readonly changes: readonly LotChange[]; readonly balance: bigint },
): Promise<LotEffect> {
  await allotSpending(transaction, account);
  const undone: LotChange[] = [];
  let given = 0n;
  for (const { lot: id, amount: changed } of [...changes].reverse()) {
    const lot = await transaction.lot(id);
    if (lot === undefined) continue;
    const amount = changed < lot.remaining ? -changed : -lot.remaining;
    if (amount === 0n) continue;
    lot.remaining += amount;
    await transaction.saveLot(lot);
    undone.push({ lot: id, amount });
    if (isGiven(lot)) given += amount;
  }
  const fitted = await fitLotsTo(transaction, account, balance);
  return { changes: [...undone, ...fitted.changes], given: given + fitted.given };
}

export function isGiven({ source }: Pick<Lot, 'source'>): boolean {
  return source === 'promotional';
}

async function takeFromLots(
  transaction: LedgerTransaction,
  account: AccountState,
  { lots, amount }: { readonly lots: readonly Lot[]; readonly amount: bigint },
): Promise<{ readonly left: readonly Lot[]; readonly effect: LotEffect }> {
  const changes: LotChange[] = [];
  let given = 0n;
  let toTake = amount;
  for (const lot of lots) {
    const taken = lot.remaining < toTake ? lot.remaining : toTake;
    if (taken === 0n) continue;
    toTake -= taken;
    lot.remaining -= taken;
    await transaction.saveLot(lot);
    changes.push({ lot: lot.entryId, amount: -taken });
    if (isGiven(lot)) given -= taken;
  }
  const left = lots.filter(({ remaining }) => remaining > 0n);
  account.nextExpiryAt = firstExpiryOf(left);
  return { left, effect: { changes, given } };
}

/**
 * The part of charges that is paid from given money, if the spending that is not allotted rises
 * from one amount to another. The SQL function `settle_batch` has the same rule.
 *
 * @param lots - In the order in which charges use them.
 */
export function givenBetween(
  lots: readonly Pick<Lot, 'source' | 'remaining'>[],
  from: bigint,
  until: bigint,
): bigint {
  let start = 0n;
  let given = 0n;
  for (const lot of lots) {
    const end = start + lot.remaining;
    const [first, last] = [start > from ? start : from, end < until ? end : until];
    if (isGiven(lot) && last > first) given += last - first;
    start = end;
  }
  return given;
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
