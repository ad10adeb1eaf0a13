/** Adds entries to a locked account: every kind but charges. */

import type { CreditSource, EmptiedBy, EntryReason } from '../../account.js';
import { numericFromUnits } from '../../numeric.js';
import { HOUR_MS } from '../base/hours.js';
import { lotChangesText } from '../rows/lot-changes.js';
import type { LotChange } from '../rows/lot-changes.js';
import { balanceEvents } from '../rules/balance-events.js';
import { openingSides, sidesOf } from '../rules/sides.js';
import { addLots } from './lots.js';
import { recordPersonalText } from './personal-text.js';
import type { AccountState, BookedEntry, LedgerTransaction } from './transaction.js';

interface Booking {
  readonly id: string;
  readonly kind: BookedEntry['kind'];
  readonly delta: bigint;
  /** The part of `delta` that is given money. */
  readonly given: bigint;
  /** The account of the operator on the other side. */
  readonly counter: string;
  readonly tax?: bigint | undefined;
  readonly fee?: bigint | undefined;
  /** The credits that it changes, if that does not follow from the rest. */
  readonly lots?: readonly LotChange[] | undefined;
  readonly reverses?: string | undefined;
  readonly hash: string;
  readonly at: Date;
  readonly actor: string;
  readonly source?: CreditSource;
  readonly expiresAt?: Date | undefined;
  readonly reason?: EntryReason;
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
  if (!account.opened) throw new Error(`account ${account.id} was not opened`);
  const { delta, given, counter, tax = 0n, fee = 0n, at, reason } = booking;
  const { balance, uncovered, noticeBase } = account;
  const before = { balance, uncovered, noticeBase };
  addToTotals(account, booking);
  await transaction.insertEntry({
    id: booking.id,
    accountId: account.id,
    seq: account.seq,
    kind: booking.kind,
    delta,
    balanceAfter: account.balance,
    hash: booking.hash,
    createdAt: at,
    actor: booking.actor,
    source: booking.source ?? null,
    expiresAt: booking.expiresAt ?? null,
    reason: reason ?? null,
    reference: booking.reference ?? null,
    noteId: await recordPersonalText(transaction, account.id, booking.note),
    given,
    counter,
    tax: tax === 0n ? null : tax,
    fee: fee === 0n ? null : fee,
    lots: lotChangesText(booking.lots ?? []),
    reverses: booking.reverses ?? null,
  });
  const sides =
    reason === 'opening' ? openingSides(account) : sidesOf({ delta, given, counter, tax, fee });
  await transaction.addMoney(account.id, Math.floor(at.getTime() / HOUR_MS), sides);
  await transaction.saveAccount(account);
  if (reason === 'fee' || reason === 'opening') return;
  if (reason !== undefined) {
    await transaction.insertEvent({
      type: 'balance.adjusted',
      accountId: account.id,
      keyId: undefined,
      data: {
        entry: booking.id,
        amount: numericFromUnits(delta),
        reason,
        balance: numericFromUnits(account.balance),
      },
    });
  }
  if (delta < 0n && booking.isReplaced !== true) {
    await announceFall(transaction, account, { before, cause: reason ?? 'expiry' });
  }
}

function addToTotals(account: AccountState, { kind, delta, given, reason, at }: Booking): void {
  const { balance, noticeBase } = account;
  account.balance += delta;
  account.given += given;
  account.seq += 1n;
  account.lastBookedAt = at;
  switch (kind) {
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
  } else if (delta < 0n) {
    // What is taken is not used, so the whole of which shares are used becomes smaller, too.
    account.noticeBase = noticeBase > -delta ? noticeBase + delta : 0n;
    if (balance > 0n && account.balance <= 0n) account.emptiedBy = reason ?? 'expiry';
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

interface Credit extends Omit<Booking, 'kind' | 'delta' | 'given' | 'lots' | 'reason'> {
  readonly amount: bigint;
  readonly source: CreditSource;
}

/** @param account - Locked. */
export async function credit(
  transaction: LedgerTransaction,
  account: AccountState,
  { amount, ...booking }: Credit,
): Promise<void> {
  const { id, source, expiresAt = null } = booking;
  const lot = { entryId: id, accountId: account.id, source, expiresAt, remaining: amount };
  const isLot = source === 'promotional' || expiresAt !== null;
  const balance = account.balance + amount;
  const { given } = isLot
    ? await addLots(transaction, account, { lots: [lot], balance })
    : { given: 0n };
  await book(transaction, account, { ...booking, kind: 'top_up', delta: amount, given });
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
