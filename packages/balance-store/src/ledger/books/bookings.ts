/** Credits, adjustments and transfers, each once per id of its caller. */

import type { Adjustment, AdjustmentOutcome, Transfer, TransferOutcome } from '../../account.js';
import type { TopUp, TopUpOutcome } from '../../store.js';
import { bookingHash } from '../rows/contents-hash.js';
import { entryId } from '../rules/entry-ids.js';
import { book, credit } from './booking.js';
import { bookExpiries } from './expiries.js';
import { recordChange } from './trail.js';
import type { AccountState, LedgerTransaction } from './transaction.js';

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
    await bookExpiries(transaction, account, at);
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
    await bookExpiries(transaction, account, at);
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
  const at = await transaction.now();
  await bookExpiries(transaction, source, at);
  await bookExpiries(transaction, target, at);
  const free = source.balance - (await transaction.heldBy(from));
  if (free < amount) return { outcome: 'short', free: free > 0n ? free : 0n };
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
