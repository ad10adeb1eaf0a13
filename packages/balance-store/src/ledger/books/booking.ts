/** Adds entries to a locked account: every kind but charges. */

import type { AdjustmentReason, CreditSource, EmptiedBy } from '../../account.js';
import { numericFromUnits } from '../../numeric.js';
import { balanceEvents } from '../rules/balance-events.js';
import { allotSpending, fitLotsToBalance } from './lots.js';
import { recordPersonalText } from './personal-text.js';
import type { AccountState, BookedEntry, LedgerTransaction } from './transaction.js';

interface Booking {
  readonly id: string;
  readonly kind: BookedEntry['kind'];
  readonly delta: bigint;
  readonly hash: string;
  readonly at: Date;
  readonly actor: string;
  readonly source?: CreditSource;
  readonly expiresAt?: Date | undefined;
  readonly reason?: AdjustmentReason;
  readonly reference?: string | undefined;
  readonly note?: string | undefined;
  /** Whether a credit follows in the same transaction. The caller then announces both together. */
  readonly isReplaced?: boolean;
}

/** Adds one entry to a locked account, and writes the `balance.*` events that the entry causes. */
export async function book(
  transaction: LedgerTransaction,
  account: AccountState,
  booking: Booking,
): Promise<void> {
  const { delta } = booking;
  const { balance, uncovered, noticeBase } = account;
  const before = { balance, uncovered, noticeBase };
  const cause = booking.reason ?? 'expiry';
  account.balance += delta;
  account.seq += 1n;
  switch (booking.kind) {
    case 'top_up':
      account.credited += delta;
      break;
    case 'adjustment':
      account.adjusted += delta;
      break;
    case 'expiry':
      account.expired -= delta;
      break;
  }
  if (delta > 0n) {
    // A credit ends the exhaustion that a write-off caused.
    account.uncovered = 0n;
    account.noticeBase = account.balance;
    if (account.balance > 0n) account.emptiedBy = null;
  } else {
    // What is taken is not used, so the whole of which shares are used becomes smaller, too.
    account.noticeBase = noticeBase > -delta ? noticeBase + delta : 0n;
    if (balance > 0n && account.balance <= 0n) account.emptiedBy = cause;
  }
  await transaction.insertEntry({
    id: booking.id,
    accountId: account.id,
    seq: account.seq,
    kind: booking.kind,
    delta,
    balanceAfter: account.balance,
    hash: booking.hash,
    createdAt: booking.at,
    actor: booking.actor,
    source: booking.source ?? null,
    expiresAt: booking.expiresAt ?? null,
    reason: booking.reason ?? null,
    reference: booking.reference ?? null,
    noteId: await recordPersonalText(transaction, account.id, booking.note),
  });
  if (booking.kind === 'adjustment' && delta < 0n) await fitLotsToBalance(transaction, account);
  await transaction.saveAccount(account);
  if (booking.reason !== undefined) {
    await transaction.insertEvent({
      type: 'balance.adjusted',
      accountId: account.id,
      keyId: undefined,
      data: {
        entry: booking.id,
        amount: numericFromUnits(delta),
        reason: booking.reason,
        balance: numericFromUnits(account.balance),
      },
    });
  }
  if (delta < 0n && booking.isReplaced !== true) {
    await announceFall(transaction, account, { before, cause });
  }
}

/** Writes the `balance.*` events that the change from `before` causes. */
export async function announceFall(
  transaction: LedgerTransaction,
  account: AccountState,
  {
    before,
    cause,
  }: {
    readonly before: Pick<AccountState, 'balance' | 'uncovered' | 'noticeBase'>;
    readonly cause: EmptiedBy;
  },
): Promise<void> {
  const after = {
    ...account,
    noticeShares: account.noticeShares as readonly number[],
    noticeBase: before.noticeBase,
  };
  for (const event of balanceEvents(after, before, cause)) await transaction.insertEvent(event);
}

interface Credit extends Omit<Booking, 'kind' | 'delta' | 'reason'> {
  readonly amount: bigint;
  readonly source: CreditSource;
}

/** @param account - Locked. */
export async function credit(
  transaction: LedgerTransaction,
  account: AccountState,
  { amount, ...given }: Credit,
): Promise<void> {
  const { id, source, expiresAt } = given;
  const isLot = source === 'promotional' || expiresAt !== undefined;
  // Earlier spending is taken from the lots that existed before this one.
  if (isLot) await allotSpending(transaction, account);
  const balanceAfter = account.balance + amount;
  const covered = balanceAfter > 0n ? balanceAfter : 0n;
  // If there was a debt, the part of the credit that pays it counts as used.
  const remaining = amount < covered ? amount : covered;
  if (isLot && remaining > 0n) noteExpiry(account, expiresAt);
  await book(transaction, account, { ...given, kind: 'top_up', delta: amount });
  if (isLot) {
    await transaction.saveLot({
      entryId: id,
      accountId: account.id,
      source,
      expiresAt: expiresAt ?? null,
      remaining,
    });
  }
  await transaction.insertEvent({
    type: 'credit.added',
    accountId: account.id,
    keyId: undefined,
    data: {
      entry: id,
      amount: numericFromUnits(amount),
      source,
      balance: numericFromUnits(account.balance),
    },
  });
}

function noteExpiry(account: AccountState, expiresAt: Date | undefined): void {
  if (expiresAt === undefined) return;
  const { nextExpiryAt } = account;
  if (nextExpiryAt === null || expiresAt < nextExpiryAt) account.nextExpiryAt = expiresAt;
}
