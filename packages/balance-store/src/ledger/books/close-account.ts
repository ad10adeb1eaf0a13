/** Ends accounts: nothing is left that could be spent, charged or credited. */

import type {
  AccountRecord,
  Actor,
  ClosedWith,
  Closing,
  ClosingOutcome,
  ClosingRest,
} from '../../account.js';
import { numericFromUnits } from '../../numeric.js';
import { bookingHash } from '../rows/contents-hash.js';
import { closingId, entryId } from '../rules/entry-ids.js';
import { BREAKAGE, COUNTER_OF_REASON, GIFTS } from '../rules/sides.js';
import { revokeKeys, wholeRecord } from './accounts.js';
import { book } from './booking.js';
import { moveMoney } from './bookings.js';
import { bookExpiries } from './expiries.js';
import { fitLotsTo, takeGiven } from './lots.js';
import { recordChange } from './trail.js';
import type { Change } from './trail.js';
import type { AccountState, LedgerTransaction } from './transaction.js';

export async function closeAccount(
  transaction: LedgerTransaction,
  closing: Closing,
): Promise<ClosingOutcome> {
  const { accountId, rest, debt, reason, by } = closing;
  const to = rest?.as === 'transfer' ? rest.to : undefined;
  const accounts = await transaction.lockAccounts([accountId, ...(to === undefined ? [] : [to])]);
  const account = accounts.get(accountId);
  if (account === undefined) return { outcome: 'unknown_account', accountId };
  const id = closingId(closing.closingId);
  const hash = bookingHash('closing', accountId, restText(rest), debt);
  const known = await transaction.findCreation(id);
  if (known !== undefined) {
    if (known.hash !== hash) return { outcome: 'conflict' };
    const booked = await bookedBy(transaction, closing);
    return { outcome: 'replayed', account: await recordOf(transaction, accountId), ...booked };
  }
  if (account.state === 'closed') return { outcome: 'account_closed', accountId };
  const target = to === undefined ? undefined : accounts.get(to);
  if (to !== undefined) {
    if (target === undefined) return { outcome: 'unknown_account', accountId: to };
    if (target.state === 'closed') return { outcome: 'account_closed', accountId: to };
  }
  const at = await transaction.now();
  await bookExpiries(transaction, account, at);
  if (target !== undefined) await bookExpiries(transaction, target, at);
  // Money that is held may still be charged, so it can be neither paid out nor given away.
  const held = await transaction.heldBy(accountId);
  if (held > 0n) return { outcome: 'in_flight', held };
  const { balance, given: givenBack } = account;
  const left = balance - givenBack;
  if (left < 0n && debt === 'refuse') return { outcome: 'in_debt', owed: -left };
  if (left > 0n && rest === undefined) return { outcome: 'rest_undecided', rest: left };

  const booked = { rest: left > 0n ? left : 0n, givenBack, writtenOff: left < 0n ? -left : 0n };
  const trail = await bookClosing(transaction, { account, target, at }, closing, booked);
  const before = await recordOf(transaction, accountId);
  await transaction.updateAccount(accountId, { state: 'closed', allowance: null });
  await transaction.insertCreation(id, { hash, accountId, keyId: null });
  trail.push(
    ...(await revokeKeys(transaction, await transaction.keyIdsOf(accountId), {
      accountId,
      by,
      at,
    })),
  );
  await transaction.insertEvent({
    type: 'account.closed',
    accountId,
    keyId: undefined,
    data: { by: by.name, rest: numericFromUnits(booked.rest), rest_as: rest?.as ?? null },
  });
  trail.push({
    action: 'account.close',
    accountId,
    by,
    at,
    details: {
      state: { before: before.state, after: 'closed' },
      allowance: { before: before.allowance, after: null },
      closing: closing.closingId,
      rest: booked.rest,
      rest_as: rest?.as,
      given_back: booked.givenBack,
      debt_written_off: booked.writtenOff,
    },
    personal: { reason },
  });
  for (const change of trail) await recordChange(transaction, change);
  return { outcome: 'closed', account: await recordOf(transaction, accountId), ...booked };
}

/** @returns what the trail has to say of it */
async function bookClosing(
  transaction: LedgerTransaction,
  of: {
    readonly account: AccountState;
    readonly target: AccountState | undefined;
    readonly at: Date;
  },
  { closingId: id, accountId, rest, reason: note, by }: Closing,
  { rest: left, givenBack, writtenOff }: ClosedWith,
): Promise<Change[]> {
  const { account, target, at } = of;
  const trail: Change[] = [];
  const common = { at, actor: by.name, note, kind: 'adjustment', isReplaced: true } as const;
  const recorded = { action: 'balance.adjust', accountId, by, at } as const;
  const adjust = async (
    part: Parameters<typeof entryId.closing>[1],
    booking: Pick<Parameters<typeof book>[2], 'delta' | 'given' | 'counter' | 'lots'> & {
      readonly reason: 'correction' | 'refund' | 'write_off';
    },
  ) => {
    const entry = entryId.closing(id, part);
    const { delta: amount, reason, counter } = booking;
    const hash = bookingHash('closing', accountId, part, amount);
    await book(transaction, account, { ...common, ...booking, id: entry, hash });
    const details = { entry, amount, reason, counter, balance_after: account.balance };
    trail.push({ ...recorded, details });
  };
  if (givenBack > 0n) {
    const { given, changes: lots } = await takeGiven(transaction, account, {
      amount: givenBack,
      balance: account.balance - givenBack,
    });
    const delta = -givenBack;
    await adjust('given', { delta, given, counter: GIFTS, reason: 'correction', lots });
  }
  if (writtenOff > 0n) {
    const counter = COUNTER_OF_REASON.write_off;
    await adjust('debt', { delta: writtenOff, given: 0n, counter, reason: 'write_off' });
  }
  if (left === 0n || rest === undefined) return trail;
  if (target !== undefined) {
    const transferId = closingId(id);
    await moveMoney(transaction, {
      from: account,
      to: target,
      amount: left,
      transferId,
      note,
      by,
      at,
    });
    const details = { transfer: transferId, to: target.id, amount: left };
    return [...trail, { ...recorded, action: 'balance.transfer', details }];
  }
  const { given, changes: lots } = await fitLotsTo(transaction, account, 0n);
  const [counter, reason] =
    rest.as === 'refund' ? [rest.counter, 'refund' as const] : [BREAKAGE, 'correction' as const];
  await adjust('rest', { delta: -left, given, counter, reason, lots });
  return trail;
}

/** What an earlier closing booked. */
async function bookedBy(
  transaction: LedgerTransaction,
  { closingId: id }: Closing,
): Promise<ClosedWith> {
  const booked = async (...ids: readonly string[]) => {
    for (const of of ids) {
      const found = await transaction.movement(of);
      if (found !== undefined) return found.delta < 0n ? -found.delta : found.delta;
    }
    return 0n;
  };
  return {
    rest: await booked(entryId.closing(id, 'rest'), entryId.transferOut(closingId(id))),
    givenBack: await booked(entryId.closing(id, 'given')),
    writtenOff: await booked(entryId.closing(id, 'debt')),
  };
}

export async function reopenAccount(
  transaction: LedgerTransaction,
  accountId: string,
  { reason, by }: { readonly reason: string; readonly by: Actor },
): Promise<AccountRecord | undefined> {
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account?.state === 'closed') {
    await transaction.updateAccount(accountId, { state: 'active' });
    const data = { by: by.name };
    await transaction.insertEvent({ type: 'account.reopened', accountId, keyId: undefined, data });
    await recordChange(transaction, {
      action: 'account.reopen',
      accountId,
      by,
      at: await transaction.now(),
      details: { state: { before: 'closed', after: 'active' } },
      personal: { reason },
    });
  }
  return wholeRecord(transaction, accountId);
}

async function recordOf(transaction: LedgerTransaction, accountId: string): Promise<AccountRecord> {
  const record = await wholeRecord(transaction, accountId);
  if (record === undefined) throw new Error(`account ${accountId} is gone`);
  return record;
}

function restText(rest: ClosingRest | undefined): string | null {
  if (rest === undefined) return null;
  return rest.as === 'breakage' ? rest.as : `${rest.as} ${'to' in rest ? rest.to : rest.counter}`;
}
