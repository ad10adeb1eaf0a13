/**
 * Decides whether a key may make a request now. Its limits, those of its account and its standing
 * are checked before the body is read. With `OVERDRAFT=none` the highest possible charge is held
 * after the body was read.
 *
 * The order bounds the overdraft: a lease is taken before the balance is read and given back only
 * after the charge is durable. The lease is also one of the account, so at most as many requests as
 * the account has leases (`ACCOUNT_CONCURRENCY`) can take the balance below zero, each by its own
 * charge. A holder cannot raise this bound: it creates and revokes keys, but the lease of a request
 * counts until the request ends, whatever happens to its key (docs/decisions/0038).
 */

import { StoreUnavailableError, renewalOf } from '@gateway/balance-store';
import type {
  BudgetUse,
  CapUse,
  EmptiedBy,
  HoldOutcome,
  KeyRecord,
  Spender,
  Standing,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { Admission, Group, Lease, Policy } from '@gateway/rate-limiter';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { storeUnavailable, waitOf } from '../http/refusal.js';
import type { LimitName } from '../observe/finished-request.js';
import { checkNetwork } from './allowed-networks.js';
import { isBookingDue } from './authentication.js';
import { UNKNOWN_KEY } from './credentials.js';
import type { ExchangeParts } from './exchange-parts.js';
import type { ExchangeRoute } from './route.js';
import type { NamedModel } from './preparation/native-body-scan.js';
import {
  emptyBudget,
  emptyBudgets,
  fitsOnceFree,
  overBudget,
  usedUpCap,
} from './spending/budget-refusals.js';
import type { LackOfRoom } from './spending/hold-line.js';

export interface RefusedAdmission {
  readonly outcome: 'refused';
  readonly refusal: Refusal;
  readonly limit?: LimitName;
}

export type KeyAdmission =
  | {
      readonly outcome: 'admitted';
      readonly lease: Lease;
      /** Whether the account has budgets; false when absent. See {@link checkBudgets}. */
      readonly isBudgeted?: boolean;
    }
  | RefusedAdmission;

/** Why a request could not hold what it may cost. */
export interface FailedHold extends LackOfRoom {
  /** What could be held instead, in units of 10^-14 USD; may be negative. */
  readonly available?: bigint;
  /** What the client is told. May read what the sentence names. */
  readonly refuse: () => Promise<RefusedAdmission>;
}

/**
 * Counting tokens has limits of its own: it is free and must not use up the permits of paid
 * requests.
 */
export type LimitedWork = 'paid' | 'count_tokens';

export function workOf({ operation }: Pick<ExchangeRoute, 'operation'>): LimitedWork {
  return operation === 'count_tokens' ? 'count_tokens' : 'paid';
}

/**
 * The limits of `count_tokens` are the limits of the key and of its account times this factor,
 * because Claude Code sends 19 such requests at once.
 */
const COUNT_TOKENS_FACTOR = 4;

type AdmissionParts = Pick<ExchangeParts, 'store' | 'limiter' | 'accountLimits'>;

/**
 * Takes a lease and a permit of a key and of its account, and checks its standing and its caps.
 *
 * A stopped key takes neither, so that somebody who goes on using a suspended key, such as a thief,
 * does not use up the limits of the account's other keys.
 */
export async function admitKey(
  key: KeyRecord,
  work: LimitedWork,
  parts: AdmissionParts,
): Promise<KeyAdmission> {
  const stopped = isStopped(key) ? await checkStanding(key, parts) : undefined;
  if (isRefused(stopped)) return stopped;
  const asked = limitsOf(key, work, parts.accountLimits);
  const admission = await admitWithin(asked, parts);
  if (admission.outcome === 'refused') return admission;
  if (admission.outcome === 'denied') return denied(admission, asked);
  try {
    const standing = await checkStanding(key, parts);
    if (standing === undefined) return admission;
    const { lease } = admission;
    if (standing === 'budgeted') return { outcome: 'admitted', lease, isBudgeted: true };
    lease.release();
    return standing;
  } catch (error) {
    admission.lease.release();
    throw error;
  }
}

export function denied(
  { of, limit, retryAfterMs }: Extract<Admission, { readonly outcome: 'denied' }>,
  asked: AskedLimits,
  explanation = '',
): RefusedAdmission {
  const [who, whose, limits] =
    of === 'subject'
      ? (['this key', '', asked.limits] as const)
      : (['this account', 'account_', asked.account.policy] as const);
  const values = { who, explanation, ...waitOf(retryAfterMs) };
  const refusal =
    limit === 'concurrency'
      ? newRefusal('concurrency_limit', { ...values, limit: limits.concurrency })
      : newRefusal('rate_limit', {
          ...values,
          burst: limits.burst,
          per_minute: limits.requestsPerMinute,
        });
  return { outcome: 'refused', refusal, limit: `${whose}${limit}` };
}

function isStopped({ standing }: KeyRecord): boolean {
  return standing === 'suspended' || standing === 'expired';
}

/** An admission that was asked for before the credential was checked. */
export interface EarlyAdmission {
  readonly admission: Promise<KeyAdmission>;
  /** Gives the lease back, once there is one. */
  readonly giveBack: () => void;
}

/**
 * Asks the limits of a key that was used in the last minute, while its credential is looked up
 * again, which saves a round trip. Only the limits may be those of a minute ago.
 */
export function admitEarly(
  credential: string,
  address: string | undefined,
  work: LimitedWork,
  parts: AdmissionParts & Pick<ExchangeParts, 'now'>,
): EarlyAdmission | undefined {
  const recalled = parts.store.recallKey(credential);
  if (recalled === undefined || isStopped(recalled)) return undefined;
  // A thief elsewhere does not use up the limits of the key.
  if (checkNetwork(recalled, address) !== undefined) return undefined;
  if (isBookingDue(recalled, parts.now())) return undefined;
  const admission = admitKey(recalled, work, parts);
  return {
    admission,
    giveBack() {
      admission.then(
        (early) => {
          if (early.outcome === 'admitted') early.lease.release();
        },
        () => undefined,
      );
    },
  };
}

export interface AskedLimits {
  readonly subject: string;
  readonly limits: Policy;
  readonly account: Group;
}

/** Without Redis, the limits of all workers are counted by the primary, which may have ended. */
export async function admitWithin(
  { subject, limits, account }: AskedLimits,
  { limiter }: Pick<ExchangeParts, 'limiter'>,
) {
  try {
    return await limiter.admit(subject, limits, account);
  } catch (error) {
    return unavailable(error);
  }
}

export function limitsOf(key: KeyRecord, work: LimitedWork, accountLimits: Policy): AskedLimits {
  const { id, accountId, limits } = key;
  const shared = accountPolicy(accountLimits, limits);
  if (work === 'paid') {
    return { subject: id, limits, account: { subject: accountId, policy: shared } };
  }
  return {
    subject: `count_tokens:${id}`,
    limits: manyTimes(limits),
    account: { subject: `count_tokens:${accountId}`, policy: manyTimes(shared) },
  };
}

/**
 * Never below the limits of the key that asks. Its limits come from the operator: a key that a
 * holder creates has at most the limits of the key that created it.
 *
 * All keys of the account share one bucket, so its burst and its rate are the same for all. A key
 * with more of them than the account takes a part of a permit for each request.
 */
function accountPolicy(account: Policy, key: Policy): Policy {
  return {
    ...account,
    concurrency: Math.max(account.concurrency, key.concurrency),
    cost: Math.min(1, account.burst / key.burst, account.requestsPerMinute / key.requestsPerMinute),
  };
}

function manyTimes({ concurrency, burst, requestsPerMinute, ...rest }: Policy): Policy {
  return {
    ...rest,
    concurrency: concurrency * COUNT_TOKENS_FACTOR,
    burst: burst * COUNT_TOKENS_FACTOR,
    requestsPerMinute: requestsPerMinute * COUNT_TOKENS_FACTOR,
  };
}

/** `budgeted`: it may make requests, as far as the budgets of its account allow them. */
type CheckedStanding = RefusedAdmission | 'budgeted' | undefined;

/**
 * @returns the refusal, if the key may not make requests or the ledger cannot be read; `undefined`
 * if it may
 */
export async function checkStanding(
  key: KeyRecord,
  { store }: Pick<ExchangeParts, 'store'>,
): Promise<CheckedStanding> {
  try {
    const standing = await store.readStanding(key.id);
    if (standing.standing !== 'active') return refusedAs(inactiveKey(standing, key));
    const { cap, isBudgeted } = standing;
    if (cap === undefined || !isUsedUp(cap)) return isBudgeted ? 'budgeted' : undefined;
    const renewsAt = renewalOf(cap.period, new Date()) ?? null;
    return { ...refusedAs(usedUpCap({ ...cap, renewsAt })), limit: 'cap' };
  } catch (error) {
    return unavailable(error);
  }
}

export function isRefused(checked: CheckedStanding): checked is RefusedAdmission {
  return checked !== undefined && checked !== 'budgeted';
}

/**
 * Looks whether a budget that counts the request is used up. With `OVERDRAFT=none` the hold of a
 * paid request decides this instead.
 *
 * @returns the refusal, if one is, or if the ledger cannot be read
 */
export async function checkBudgets(
  key: KeyRecord,
  spender: Spender | undefined,
  { store }: Pick<ExchangeParts, 'store'>,
): Promise<RefusedAdmission | undefined> {
  try {
    const [empty] = emptyBudgets(await store.readBudgets(key.id, spender));
    if (empty === undefined) return undefined;
    return { ...refusedAs(await emptyBudget(empty, store)), limit: limitOf(empty) };
  } catch (error) {
    return unavailable(error);
  }
}

function limitOf({ budget }: BudgetUse): LimitName {
  return budget.isCap ? 'cap' : 'budget';
}

/** Whether every request of the key is refused because of this cap. */
export function isUsedUp({ cap, used }: Pick<CapUse, 'cap' | 'used'>): boolean {
  return used >= cap;
}

/**
 * Looks, without waiting, at what is known of the ledger. Called last before a request is sent,
 * because its body may have taken long.
 *
 * @returns the refusal, if the request could not be charged at the moment
 */
export function checkCharging({
  store,
}: Pick<ExchangeParts, 'store'>): RefusedAdmission | undefined {
  const { fault } = store.charging();
  return fault === undefined ? undefined : refusedAs(storeUnavailable(fault));
}

/**
 * Holds the most that a request can cost, so that no balance falls below zero and no cap and no
 * budget is passed. Afterwards the request must be settled, or its hold released.
 *
 * @param hold.amount - in units of 10^-14 USD
 * @param hold.advice - what a client that is refused can do about the limit of its answer
 * @returns why the amount cannot be held; `undefined` if it is held
 */
export async function placeHold(
  key: KeyRecord,
  {
    advice,
    ...hold
  }: RefusedHold & { readonly requestId: string; readonly spender: Spender | undefined },
  { store }: Pick<ExchangeParts, 'store'>,
): Promise<FailedHold | undefined> {
  let placed: HoldOutcome;
  try {
    placed = await store.placeHold({ ...hold, keyId: key.id });
  } catch (error) {
    // The hold may or may not have been placed.
    store.releaseHold(hold.requestId);
    const refused = unavailable(error);
    return { outcome: 'failed', refuse: () => Promise.resolve(refused) };
  }
  return placed.outcome === 'held'
    ? undefined
    : failedHold(placed, key, { ...hold, advice }, { store });
}

function failedHold(
  placed: Exclude<HoldOutcome, { readonly outcome: 'held' }>,
  key: KeyRecord,
  request: RefusedHold,
  { store }: Pick<ExchangeParts, 'store'>,
): FailedHold {
  const { amount } = request;
  const failed = (
    { limit, ...more }: Pick<FailedHold, 'available' | 'waitsFor'> & { readonly limit: LimitName },
    refusal: () => Promise<Refusal> | Refusal,
  ): FailedHold => ({
    outcome: 'failed',
    ...more,
    refuse: () => refusing(async () => ({ ...refusedAs(await refusal()), limit })),
  });
  switch (placed.outcome) {
    case 'inactive':
      return {
        outcome: 'failed',
        refuse: () =>
          refusing(async () => {
            // The key was active a moment ago. This refusal reports why it no longer is.
            const checked = await checkStanding(key, { store });
            return isRefused(checked) ? checked : refusedAs(UNKNOWN_KEY);
          }),
      };
    case 'over_budget': {
      const { use, chain } = placed;
      // Other budgets whose chains end with the same one leave other amounts.
      const ofChain = chain === undefined ? '' : ` with ${String(chain.left)}`;
      const level = `${use.budget.id} of ${use.subject}${ofChain}`;
      const waitsFor = fitsOnceFree(placed, amount) ? level : undefined;
      const available = chain?.room ?? use.amount - use.used - use.held;
      return failed({ limit: limitOf(use), available, ...waiting(waitsFor) }, () =>
        overBudget(placed, request, store),
      );
    }
    case 'short': {
      const { balance, held } = placed;
      const waitsFor = amount <= balance ? 'balance' : undefined;
      return failed(
        { limit: 'balance', available: balance - held, ...waiting(waitsFor) },
        async () => shortOf(placed, request, await expiredBefore(key, { store })),
      );
    }
  }
}

function waiting(waitsFor: string | undefined): Pick<FailedHold, 'waitsFor'> {
  return waitsFor === undefined ? {} : { waitsFor };
}

/** What a refusal names may be read from a ledger that is unavailable by now. */
async function refusing(refuse: () => Promise<RefusedAdmission>): Promise<RefusedAdmission> {
  try {
    return await refuse();
  } catch (error) {
    return unavailable(error);
  }
}

interface RefusedHold {
  readonly amount: bigint;
  readonly advice: string;
}

function refusedAs(refusal: Refusal): RefusedAdmission {
  return { outcome: 'refused', refusal };
}

function unavailable(error: unknown): RefusedAdmission {
  if (!(error instanceof StoreUnavailableError)) throw error;
  return refusedAs(storeUnavailable(error));
}

/** Reports why the key does not work. Only the holder of a real key can get this answer. */
function inactiveKey(standing: Standing, key: KeyRecord): Refusal {
  switch (standing.standing) {
    case 'exhausted':
      return exhausted(standing);
    case 'suspended':
      return newRefusal('key_suspended');
    case 'expired': {
      const when = key.expiresAt === null ? '' : ` on ${key.expiresAt.toISOString()}`;
      return newRefusal('key_expired', { when });
    }
    case 'active':
    case 'revoked':
    case 'unknown':
      return UNKNOWN_KEY;
  }
}

function exhausted({
  balance: units,
  uncovered,
  emptiedBy,
}: Exclude<Standing, { readonly standing: 'unknown' }>): Refusal {
  const balance = formatUsd(units);
  if (uncovered > 0n) {
    return newRefusal('balance_uncovered', { balance, uncovered: formatUsd(uncovered) });
  }
  const reason =
    emptiedBy === undefined ? "this key's balance is used up" : EMPTIED_TEXTS[emptiedBy];
  return newRefusal('balance_exhausted', { reason, balance });
}

/** What took the balance, if it was not used up. */
const EMPTIED_TEXTS: Readonly<Record<EmptiedBy, string>> = {
  expiry: "the credit of this key's account has expired",
  refund: "a payment of this key's account was refunded",
  chargeback: "a payment of this key's account was disputed and taken back",
  transfer: "the balance of this key's account was moved to another account",
  correction: "the balance of this key's account was corrected",
  goodwill: "the balance of this key's account was corrected",
  write_off: "the balance of this key's account was written off",
};

/**
 * The refusal is that of the API for a model without access. A 403 would mean the credential to
 * clients: Claude Code shows it as "Failed to authenticate".
 *
 * @returns the refusal, if the key may not use one of the models that a request names
 */
export function checkModels(
  { models }: KeyRecord,
  named: readonly NamedModel[],
): Refusal | undefined {
  if (models === null) return undefined;
  const forbidden = named.find(({ model }) => model === undefined || !models.includes(model));
  if (forbidden === undefined) return undefined;
  const { path, model = 'models that the provider chooses' } = forbidden;
  return newRefusal('model_not_allowed', { param: path, model, models: models.join(', ') });
}

/** Why the balance is low, if the last booking of the account took credit that had expired. */
async function expiredBefore(
  { accountId }: Pick<KeyRecord, 'accountId'>,
  { store }: Pick<ExchangeParts, 'store'>,
): Promise<string> {
  const { entries } = await store.listEntries({ accountId, withoutCharges: true, limit: 1 });
  const [last] = entries;
  if (last?.kind !== 'expiry') return '';
  return ` (${formatUsd(-last.delta)} USD of credit expired at ${last.createdAt.toISOString()})`;
}

/** @param expired - See {@link expiredBefore}. */
function shortOf(
  { balance, held, shortfall }: HoldOutcome & { readonly outcome: 'short' },
  { amount, advice }: RefusedHold,
  expired: string,
): Refusal {
  const fitsLater = amount <= balance;
  return newRefusal(fitsLater ? 'over_balance_with_holds' : 'over_balance', {
    amount: formatUsd(amount),
    balance: `${formatUsd(balance)} USD${expired}`,
    held: held === 0n ? '' : `, of which ${formatUsd(held)} USD are held for requests in flight`,
    shortfall: formatUsd(shortfall),
    advice,
  });
}
