/**
 * What happens at a time: credits expire, allowances are renewed, and keys are announced to expire.
 */

import { numericFromUnits } from '../../numeric.js';
import { allowanceDueAt, allowanceMonthOf } from '../rules/allowance.js';
import { bookingHash } from '../rows/contents-hash.js';
import { entryId } from '../rules/entry-ids.js';
import { BREAKAGE, GIFTS, UNKNOWN } from '../rules/sides.js';
import { announceFall, book, credit } from './booking.js';
import { allotSpending, firstExpiryOf, isGiven } from './lots.js';
import { latestOf } from './transaction.js';
import type { AccountState, LedgerTransaction } from './transaction.js';

const ACCOUNTS_PER_CALL = 10;
/** The actors of what the store itself books. */
const EXPIRY_ACTOR = 'expiry';
const ALLOWANCE_ACTOR = 'allowance';
const OPENING_ACTOR = 'opening';

/** The progress of one call. */
export interface ExpiryProgress {
  /** How many entries or events it wrote. */
  readonly done: number;
  /** The last account that it looked at; `undefined` if no account is left. */
  readonly last: string | undefined;
}

/**
 * Takes back the unspent part of the expired credits of a few accounts. A transaction locks only
 * these accounts, so that a charge never waits for the expired credits of all accounts.
 *
 * @param after - Only accounts whose ids are greater.
 */
export async function expireCredits(
  transaction: LedgerTransaction,
  after: string,
): Promise<ExpiryProgress> {
  const due = await transaction.accountsWithExpiredLots(after, ACCOUNTS_PER_CALL);
  const accounts = await transaction.lockAccounts(due);
  const at = await transaction.now();
  let done = 0;
  for (const account of accounts.values()) done += await bookExpiries(transaction, account, at);
  return { done, last: due.length < ACCOUNTS_PER_CALL ? undefined : due.at(-1) };
}

/**
 * Opens a few accounts of earlier versions, which recorded no other side of an entry.
 *
 * @param after - Only accounts whose ids are greater.
 */
export async function openAccounts(
  transaction: LedgerTransaction,
  after: string,
): Promise<ExpiryProgress> {
  const due = await transaction.accountsToOpen(after, ACCOUNTS_PER_CALL);
  const accounts = await transaction.lockAccounts(due);
  const at = await transaction.now();
  for (const account of accounts.values()) await openAccount(transaction, account, at);
  return { done: due.length, last: due.length < ACCOUNTS_PER_CALL ? undefined : due.at(-1) };
}

/** From this entry on, the account's entries say which part of them is given money. */
async function openAccount(
  transaction: LedgerTransaction,
  account: AccountState,
  at: Date,
): Promise<void> {
  if (account.opened) return;
  account.opened = true;
  if (account.seq === 0n) return transaction.saveAccount(account);
  const lots = await allotSpending(transaction, account);
  await book(transaction, account, {
    id: entryId.opening(account.id),
    kind: 'adjustment',
    reason: 'opening',
    delta: 0n,
    given: lots.reduce((sum, lot) => sum + (isGiven(lot) ? lot.remaining : 0n), 0n),
    counter: UNKNOWN,
    hash: bookingHash('opening', account.id),
    at,
    actor: OPENING_ACTOR,
  });
}

/**
 * Renews the allowances of a few accounts, each once in a month, whoever calls.
 *
 * @param after - Only accounts whose ids are greater.
 */
export async function renewAllowances(
  transaction: LedgerTransaction,
  after: string,
): Promise<ExpiryProgress> {
  const month = allowanceMonthOf(await transaction.now());
  const due = await transaction.accountsWithDueAllowance(after, month, ACCOUNTS_PER_CALL);
  const done = await renewDue(transaction, due);
  return { done, last: due.length < ACCOUNTS_PER_CALL ? undefined : due.at(-1) };
}

/**
 * Books what is due of these accounts: the expiry of credits, and the allowance of this month.
 *
 * @param since - The time of charges that wait for it. It is later than now if another account of
 * their batch has a later entry, because the clock was set back.
 */
export async function bookDue(
  transaction: LedgerTransaction,
  accountIds: readonly string[],
  since: Date | null = null,
): Promise<void> {
  const accounts = await transaction.lockAccounts(accountIds);
  const at = latestOf(await transaction.now(), since);
  for (const account of accounts.values()) {
    if (isAllowanceDue(account, at)) await renew(transaction, account, at);
    else await bookExpiries(transaction, account, at);
  }
}

/**
 * Opens the account, and books the expiry of credits that have expired. Must precede every entry
 * that takes from a balance or adds to it, so that the entry finds no money that has expired.
 *
 * @param account - Locked.
 * @returns how many entries it booked
 */
export async function bookExpiries(
  transaction: LedgerTransaction,
  account: AccountState,
  at: Date,
): Promise<number> {
  await openAccount(transaction, account, at);
  if (account.nextExpiryAt === null || account.nextExpiryAt > at) return 0;
  return isAllowanceDue(account, at)
    ? renew(transaction, account, at)
    : expireLots(transaction, account, { at, isReplaced: false });
}

async function renewDue(
  transaction: LedgerTransaction,
  accountIds: readonly string[],
): Promise<number> {
  const accounts = await transaction.lockAccounts(accountIds);
  const at = await transaction.now();
  let done = 0;
  for (const account of accounts.values()) {
    if (isAllowanceDue(account, at)) done += await renew(transaction, account, at);
  }
  return done;
}

function isAllowanceDue(account: AccountState, at: Date): boolean {
  const dueAt = allowanceDueAt(account);
  return dueAt !== null && dueAt <= at && account.state === 'active';
}

/**
 * Books the expiry of what is left of the last allowance, and then the next one. The balance only
 * seems to fall in between, so no event is written about that, and no automatic top-up sees it. If
 * it is lower afterwards, the events are those of one fall.
 */
async function renew(
  transaction: LedgerTransaction,
  account: AccountState,
  at: Date,
): Promise<number> {
  await openAccount(transaction, account, at);
  const { balance, uncovered, noticeBase } = account;
  const before = { balance, uncovered, noticeBase };
  const expired = await expireLots(transaction, account, { at, isReplaced: true });
  const month = allowanceMonthOf(at);
  const { id: accountId, allowance: amount } = account;
  if (amount === null) throw new Error(`account ${accountId} has no allowance`);
  account.allowanceStart = month.start;
  const id = entryId.allowance(accountId, month.name);
  // If someone has set `allowance_start` back, the month does not get a second one.
  if ((await transaction.findEntry(id)) !== undefined) {
    await transaction.saveAccount(account);
    await announceFall(transaction, account, { before, cause: 'expiry' });
    return expired;
  }
  const reference = `monthly allowance ${month.name}`;
  const { endsAt: expiresAt } = month;
  await credit(transaction, account, {
    id,
    hash: bookingHash('top_up', accountId, amount, 'promotional', expiresAt ?? null, reference),
    at,
    actor: ALLOWANCE_ACTOR,
    amount,
    source: 'promotional',
    counter: GIFTS,
    expiresAt,
    reference,
  });
  const since = { ...before, noticeBase: account.noticeBase };
  await announceFall(transaction, account, { before: since, cause: 'expiry' });
  return expired + 1;
}

/** Writes the event `key.expiring` for the keys of a few accounts, once for each expiry. */
export async function announceExpiringKeys(
  transaction: LedgerTransaction,
  after: string,
  { keysWithinMs }: { readonly keysWithinMs: number },
): Promise<ExpiryProgress> {
  const before = new Date((await transaction.now()).getTime() + keysWithinMs);
  const accountIds = await transaction.accountsWithExpiringKeys(after, before, ACCOUNTS_PER_CALL);
  // An account's events are numbered in the order of their commits only under its lock.
  await transaction.lockAccounts(accountIds);
  const keys = await transaction.takeExpiringKeys(accountIds, before);
  for (const { keyId, accountId, expiresAt } of keys) {
    await transaction.insertEvent({
      type: 'key.expiring',
      accountId,
      keyId,
      data: { expires_at: expiresAt.toISOString() },
    });
  }
  const last = accountIds.length < ACCOUNTS_PER_CALL ? undefined : accountIds.at(-1);
  return { done: keys.length, last };
}

async function expireLots(
  transaction: LedgerTransaction,
  account: AccountState,
  { at, isReplaced }: { readonly at: Date; readonly isReplaced: boolean },
): Promise<number> {
  const lots = await allotSpending(transaction, account);
  // `allotSpending` has changed `account.allotted`. The account is saved here, because `book` may
  // not be called below.
  await transaction.saveAccount(account);
  const held = await transaction.heldBy(account.id);
  let done = 0;
  for (const lot of lots) {
    if (lot.expiresAt === null || lot.expiresAt > at) continue;
    // The amount that is held for requests in flight may still be charged. A later call takes the
    // rest.
    const free = account.balance - held;
    const taken = free < lot.remaining ? free : lot.remaining;
    if (taken <= 0n) continue;
    await book(transaction, account, {
      id: entryId.expiry(lot.entryId, account.seq + 1n),
      kind: 'expiry',
      delta: -taken,
      given: isGiven(lot) ? -taken : 0n,
      counter: isGiven(lot) ? GIFTS : BREAKAGE,
      hash: bookingHash('expiry', account.id, lot.entryId, taken),
      at,
      actor: EXPIRY_ACTOR,
      reference: lot.entryId,
      isReplaced,
    });
    await transaction.insertEvent({
      type: 'credit.expired',
      accountId: account.id,
      keyId: undefined,
      data: {
        entry: lot.entryId,
        amount: numericFromUnits(taken),
        balance: numericFromUnits(account.balance),
      },
    });
    lot.remaining -= taken;
    await transaction.saveLot(lot);
    done += 1;
  }
  if (done > 0) {
    account.nextExpiryAt = firstExpiryOf(lots.filter(({ remaining }) => remaining > 0n));
    await transaction.saveAccount(account);
  }
  return done;
}
