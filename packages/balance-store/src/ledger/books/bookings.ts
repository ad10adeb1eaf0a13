/** Credits, adjustments, transfers and expiries: every entry of the ledger that is not a charge. */

import type {
  Adjustment,
  AdjustmentOutcome,
  AdjustmentReason,
  CreditSource,
  Transfer,
  TransferOutcome,
} from '../../account.js';
import { numericFromUnits } from '../../numeric.js';
import type { TopUp, TopUpOutcome } from '../../store.js';
import { balanceEvents } from '../balance-events.js';
import { bookingHash } from '../contents-hash.js';
import { entryId } from '../entry-ids.js';
import { allotSpending, fitLotsToBalance } from './lots.js';
import { recordPersonalText } from './personal-text.js';
import { recordChange } from './trail.js';
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
  const before = account.balance;
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
    await announceFall(transaction, account, { balance: before, uncovered: account.uncovered });
  }
}

/** Writes the `balance.*` events that the change from `before` causes. */
export async function announceFall(
  transaction: LedgerTransaction,
  account: AccountState,
  before: Pick<AccountState, 'balance' | 'uncovered'>,
): Promise<void> {
  const after = { ...account, noticeShares: account.noticeShares as readonly number[] };
  for (const event of balanceEvents(after, before)) await transaction.insertEvent(event);
}

export async function topUp(transaction: LedgerTransaction, input: TopUp): Promise<TopUpOutcome> {
  const { to, amount, source = 'paid', expiresAt, note, reference, by } = input;
  const accountId =
    'accountId' in to ? to.accountId : (await transaction.keyRecord(to.keyId))?.accountId;
  const account =
    accountId === undefined
      ? undefined
      : (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return { outcome: 'unknown' };
  const id = entryId.topUp(input.topUpId);
  const hash = bookingHash(
    'top_up',
    account.id,
    amount,
    source,
    expiresAt ?? null,
    reference ?? null,
  );
  const known = await transaction.findEntry(id);
  if (known !== undefined && known.hash !== hash) return { outcome: 'conflict' };
  if (known === undefined) {
    const at = await transaction.now();
    await credit(transaction, account, {
      id,
      hash,
      at,
      amount,
      source,
      actor: by.name,
      expiresAt,
      note,
      reference,
    });
    await recordChange(transaction, {
      action: 'credit.add',
      accountId: account.id,
      by,
      at,
      details: { entry: id, amount, source, expires_at: expiresAt, reference },
      personal: note === undefined ? undefined : { note },
    });
  }
  return {
    outcome: known === undefined ? 'credited' : 'replayed',
    accountId: account.id,
    balance: known?.balanceAfter ?? account.balance,
    activeKeys: await activeKeysOf(transaction, account),
  };
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
  await book(transaction, account, { ...given, kind: 'top_up', delta: amount });
  if (isLot) {
    const covered = account.balance > 0n ? account.balance : 0n;
    await transaction.saveLot({
      entryId: id,
      accountId: account.id,
      source,
      expiresAt: expiresAt ?? null,
      // If there was a debt, the part of the credit that pays it counts as used.
      remaining: amount < covered ? amount : covered,
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

async function activeKeysOf(
  transaction: LedgerTransaction,
  { id, balance, uncovered }: AccountState,
): Promise<number> {
  return balance > 0n && uncovered === 0n ? transaction.countUsableKeys(id) : 0;
}

export async function adjust(
  transaction: LedgerTransaction,
  input: Adjustment,
): Promise<AdjustmentOutcome> {
  const { accountId, amount, reason, note, reference, by } = input;
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return { outcome: 'unknown_account' };
  const id = entryId.adjustment(input.adjustmentId);
  const hash = bookingHash('adjustment', accountId, amount, reason, reference ?? null);
  const known = await transaction.findEntry(id);
  if (known !== undefined && known.hash !== hash) return { outcome: 'conflict' };
  if (known === undefined) {
    const at = await transaction.now();
    await book(transaction, account, {
      id,
      kind: 'adjustment',
      delta: amount,
      hash,
      at,
      actor: by.name,
      reason,
      reference,
      note,
    });
    await recordChange(transaction, {
      action: 'balance.adjust',
      accountId,
      by,
      at,
      details: { entry: id, amount, reason, reference, balance_after: account.balance },
      personal: note === undefined ? undefined : { note },
    });
  }
  return {
    outcome: known === undefined ? 'adjusted' : 'replayed',
    balance: known?.balanceAfter ?? account.balance,
    activeKeys: await activeKeysOf(transaction, account),
  };
}

export async function transfer(
  transaction: LedgerTransaction,
  input: Transfer,
): Promise<TransferOutcome> {
  const { from, to, amount, note, by } = input;
  const accounts = await transaction.lockAccounts([from, to]);
  const [source, target] = [accounts.get(from), accounts.get(to)];
  if (source === undefined) return { outcome: 'unknown_account', accountId: from };
  if (target === undefined) return { outcome: 'unknown_account', accountId: to };
  const ids = [
    entryId.transferOut(input.transferId),
    entryId.transferIn(input.transferId),
  ] as const;
  const hash = bookingHash('transfer', from, to, amount);
  const [out, into] = [await transaction.findEntry(ids[0]), await transaction.findEntry(ids[1])];
  if (out !== undefined || into !== undefined) {
    return out?.hash === hash && into?.hash === hash
      ? { outcome: 'replayed', fromBalance: out.balanceAfter, toBalance: into.balanceAfter }
      : { outcome: 'conflict' };
  }
  const free = source.balance - (await transaction.heldBy(from));
  if (free < amount) return { outcome: 'short', free: free > 0n ? free : 0n };
  const at = await transaction.now();
  const common = {
    kind: 'adjustment',
    reason: 'transfer',
    hash,
    at,
    actor: by.name,
    note,
  } as const;
  await book(transaction, source, { ...common, id: ids[0], delta: -amount, reference: to });
  await book(transaction, target, { ...common, id: ids[1], delta: amount, reference: from });
  await recordChange(transaction, {
    action: 'balance.transfer',
    accountId: from,
    by,
    at,
    details: { transfer: input.transferId, to, amount },
    personal: note === undefined ? undefined : { note },
  });
  return { outcome: 'transferred', fromBalance: source.balance, toBalance: target.balance };
}
