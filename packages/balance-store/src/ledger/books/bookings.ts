/** Credits, adjustments, reversals, transfers and fees, each once per id of its caller. */

import type {
  Adjustment,
  AdjustmentOutcome,
  Fee,
  Reversal,
  ReversalOutcome,
  Transfer,
  TransferOutcome,
} from '../../account.js';
import type { TopUp, TopUpOutcome } from '../../store.js';
import { bookingHash } from '../rows/contents-hash.js';
import { lotChangesOf } from '../rows/lot-changes.js';
import { entryId } from '../rules/entry-ids.js';
import { COUNTER_OF_REASON, GIFTS, TRANSFERS, UNKNOWN, counterOfCredit } from '../rules/sides.js';
import { book, credit } from './booking.js';
import { bookExpiries } from './expiries.js';
import { addLots, fitLotsTo, takeGiven, undoLotChanges } from './lots.js';
import type { LotEffect } from './lots.js';
import { recordChange } from './trail.js';
import type { AccountState, KnownMovement, LedgerTransaction, Lot } from './transaction.js';

export async function topUp(transaction: LedgerTransaction, input: TopUp): Promise<TopUpOutcome> {
  const { to, amount, source = 'paid', expiresAt, tax, note, reference, by } = input;
  const { counter = counterOfCredit(source) } = input;
  const accountId =
    'accountId' in to ? to.accountId : (await transaction.keyRecord(to.keyId))?.accountId;
  const account =
    accountId === undefined
      ? undefined
      : (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return { outcome: 'unknown' };
  const { withoutUsableKey = 'credit' } = input;
  const id = entryId.topUp(input.topUpId);
  const hash = bookingHash(
    'top_up',
    account.id,
    amount,
    source,
    expiresAt ?? null,
    reference ?? null,
    ...taxPart(tax),
  );
  const known = await transaction.findEntry(id);
  if (known !== undefined && known.hash !== hash) return { outcome: 'conflict' };
  if (known === undefined) {
    if (account.state === 'closed') return { outcome: 'account_closed' };
    if (withoutUsableKey === 'refuse' && (await transaction.countUsableKeys(account.id)) === 0) {
      return { outcome: 'no_usable_key' };
    }
    const at = await transaction.now();
    await bookExpiries(transaction, account, at);
    await credit(transaction, account, {
      id,
      hash,
      at,
      amount,
      source,
      counter,
      tax,
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
      details: { entry: id, amount, counter, source, expires_at: expiresAt, tax, reference },
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

/** What bookings got later is left out if it is absent, so that earlier hashes stay the same. */
function taxPart(tax: bigint | undefined): readonly string[] {
  return tax === undefined || tax === 0n ? [] : [`tax ${tax.toString()}`];
}

export async function adjust(
  transaction: LedgerTransaction,
  input: Adjustment,
): Promise<AdjustmentOutcome> {
  const { accountId, amount, reason, counter = COUNTER_OF_REASON[reason], tax, reference } = input;
  const id = entryId.adjustment(input.adjustmentId);
  const hash = bookingHash(
    'adjustment',
    accountId,
    amount,
    reason,
    reference ?? null,
    ...taxPart(tax),
  );
  return bookOnce<Closed>(transaction, { ...input, id, hash }, async (account, common) => {
    const balance = account.balance + amount;
    if (leavesMoneyInClosed(account, amount)) return { outcome: 'account_closed' };
    const { changes, given } =
      amount > 0n
        ? await lotsOfGoodwill(transaction, account, { id, amount, reason, balance })
        : counter === GIFTS
          ? await takeGiven(transaction, account, { amount: -amount, balance })
          : await fitLotsTo(transaction, account, balance);
    const lots = changes;
    const booking = { ...common, delta: amount, given, counter, tax, reason, lots } as const;
    await book(transaction, account, { ...booking, kind: 'adjustment' });
    return {
      action: 'balance.adjust',
      details: {
        entry: id,
        amount,
        counter,
        reason,
        tax,
        reference,
        balance_after: account.balance,
      },
    };
  });
}

/** A closed account may pay a debt, or be relieved of it, but has no money. */
function leavesMoneyInClosed({ state, balance }: AccountState, amount: bigint): boolean {
  return state === 'closed' && amount > 0n && balance + amount > 0n;
}

/** Goodwill is a gift: like other given money, nobody pays it back. */
async function lotsOfGoodwill(
  transaction: LedgerTransaction,
  account: AccountState,
  {
    id: entryId,
    amount: remaining,
    reason,
    balance,
  }: Pick<Adjustment, 'amount' | 'reason'> & { readonly id: string; readonly balance: bigint },
): Promise<LotEffect> {
  if (reason !== 'goodwill') return { changes: [], given: 0n };
  const source = 'promotional';
  const lot: Lot = { entryId, accountId: account.id, source, expiresAt: null, remaining };
  return addLots(transaction, account, { lots: [lot], balance });
}

export async function reverse(
  transaction: LedgerTransaction,
  input: Reversal,
): Promise<ReversalOutcome> {
  const { accountId, reverses, reference } = input;
  const id = entryId.adjustment(input.adjustmentId);
  const hash = bookingHash('reversal', accountId, reverses, reference ?? null);
  const found = await transaction.movement(reverses);
  return bookOnce<NotReversible | Closed>(
    transaction,
    { ...input, id, hash },
    async (account, common) => {
      if (found?.accountId !== accountId) {
        return { outcome: 'not_reversible', why: 'unknown_entry' };
      }
      const { kind, counter } = found;
      if (kind === 'expiry' || found.delta === 0n || found.reason === 'transfer') {
        return { outcome: 'not_reversible', why: 'kind' };
      }
      if (await transaction.isReversed(reverses)) {
        return { outcome: 'not_reversible', why: 'reversed' };
      }
      const amount = -found.delta;
      if (leavesMoneyInClosed(account, amount)) return { outcome: 'account_closed' };
      const { changes, given } = await undoLotChanges(transaction, account, {
        changes: changesBy(found),
        balance: account.balance + amount,
      });
      const same = {
        counter: counter ?? UNKNOWN,
        reason: (found.reason ?? 'correction') as Adjustment['reason'],
        tax: found.tax === null ? undefined : -found.tax,
        reverses,
      };
      const booking = { ...common, ...same, delta: amount, given, lots: changes } as const;
      await book(transaction, account, { ...booking, kind: 'adjustment' });
      const { balance: balance_after } = account;
      // A credit that was restored may have expired meanwhile.
      await bookExpiries(transaction, account, common.at);
      return {
        action: 'balance.adjust',
        details: { entry: id, amount, ...same, reference, balance_after },
      };
    },
  );
}

/** A credit changes its own lot, which its column does not repeat. */
function changesBy({ id: lot, kind, delta: amount, lots }: KnownMovement) {
  return kind === 'top_up' ? [{ lot, amount }] : lotChangesOf(lots);
}

export async function bookFee(
  transaction: LedgerTransaction,
  input: Fee,
): Promise<AdjustmentOutcome> {
  const { accountId, fee, counter, reference } = input;
  const id = entryId.fee(input.feeId);
  const hash = bookingHash('fee', accountId, fee, counter, reference ?? null);
  return bookOnce<never>(transaction, { ...input, id, hash }, async (account, common) => {
    const nothing = { delta: 0n, given: 0n } as const;
    const booking = { ...common, ...nothing, fee, counter, reason: 'fee' } as const;
    await book(transaction, account, { ...booking, kind: 'adjustment' });
    return { action: 'fee.book', details: { entry: id, amount: fee, counter, reference } };
  });
}

interface Once {
  readonly id: string;
  readonly hash: string;
  readonly accountId: string;
  readonly note?: string | undefined;
  readonly reference?: string | undefined;
  readonly by: Adjustment['by'];
}

interface Recorded {
  readonly action: string;
  readonly details: Readonly<Record<string, unknown>>;
}

type Common = Pick<Once, 'id' | 'hash' | 'note' | 'reference'> & {
  readonly at: Date;
  readonly actor: string;
};

type Closed = Extract<AdjustmentOutcome, { readonly outcome: 'account_closed' }>;
type NotReversible = Extract<ReversalOutcome, { readonly outcome: 'not_reversible' }>;

/**
 * Books an entry of an account, unless an earlier booking with this id did.
 *
 * @param work - Books it, and returns what the trail says of it; or why it did not.
 */
async function bookOnce<Refused extends NotReversible | Closed>(
  transaction: LedgerTransaction,
  { id, hash, accountId, note, reference, by }: Once,
  work: (account: AccountState, common: Common) => Promise<Recorded | Refused>,
): Promise<AdjustmentOutcome | Refused> {
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return { outcome: 'unknown_account' };
  const known = await transaction.findEntry(id);
  if (known !== undefined && known.hash !== hash) return { outcome: 'conflict' };
  if (known === undefined) {
    const at = await transaction.now();
    await bookExpiries(transaction, account, at);
    const done = await work(account, { id, hash, note, reference, at, actor: by.name });
    if ('outcome' in done) return done;
    await recordChange(transaction, {
      ...done,
      accountId,
      by,
      at,
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
  const closed = [source, target].find(({ state }) => state === 'closed');
  if (closed !== undefined) return { outcome: 'account_closed', accountId: closed.id };
  const at = await transaction.now();
  await bookExpiries(transaction, source, at);
  await bookExpiries(transaction, target, at);
  const free = source.balance - (await transaction.heldBy(from));
  if (free < amount) return { outcome: 'short', free: free > 0n ? free : 0n };
  const { transferId } = input;
  await moveMoney(transaction, { from: source, to: target, amount, transferId, note, by, at });
  await recordChange(transaction, {
    action: 'balance.transfer',
    accountId: from,
    by,
    at,
    details: { transfer: transferId, to, amount },
    personal: note === undefined ? undefined : { note },
  });
  return { outcome: 'transferred', fromBalance: source.balance, toBalance: target.balance };
}

/** Books both halves of a transfer. What is due of both accounts is booked before. */
export async function moveMoney(
  transaction: LedgerTransaction,
  {
    from: source,
    to: target,
    amount,
    transferId,
    note,
    by,
    at,
  }: {
    readonly from: AccountState;
    readonly to: AccountState;
    readonly amount: bigint;
    readonly transferId: string;
    readonly note: string | undefined;
    readonly by: Transfer['by'];
    readonly at: Date;
  },
): Promise<void> {
  const common = {
    kind: 'adjustment',
    reason: 'transfer',
    counter: TRANSFERS,
    hash: bookingHash('transfer', source.id, target.id, amount),
    at,
    actor: by.name,
    note,
  } as const;
  const taken = await fitLotsTo(transaction, source, source.balance - amount);
  await book(transaction, source, {
    ...common,
    id: entryId.transferOut(transferId),
    delta: -amount,
    given: taken.given,
    lots: taken.changes,
    reference: target.id,
  });
  const id = entryId.transferIn(transferId);
  const brought = await addLots(transaction, target, {
    lots: await carriedLots(transaction, { taken, to: target.id, id }),
    balance: target.balance + amount,
  });
  await book(transaction, target, {
    ...common,
    id,
    delta: amount,
    given: brought.given,
    lots: brought.changes,
    reference: source.id,
  });
}

/** The credits that a transfer took, as credits of the other account; equal terms as one. */
async function carriedLots(
  transaction: LedgerTransaction,
  { taken, to, id }: { readonly taken: LotEffect; readonly to: string; readonly id: string },
): Promise<readonly Lot[]> {
  const lots = new Map<string, Lot>();
  for (const { lot: takenId, amount } of taken.changes) {
    const from = await transaction.lot(takenId);
    if (from === undefined) throw new Error(`credit ${takenId} has no row`);
    const { source, expiresAt } = from;
    const terms = `${source} ${String(expiresAt?.getTime())}`;
    const before = lots.get(terms);
    const entryId = before?.entryId ?? (lots.size === 0 ? id : `${id}#${String(lots.size + 1)}`);
    const remaining = (before?.remaining ?? 0n) - amount;
    lots.set(terms, { entryId, accountId: to, source, expiresAt, remaining });
  }
  return [...lots.values()];
}
