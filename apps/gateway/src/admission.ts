/**
 * Who may pass: the credential's form, the key behind it, its limits, its balance.
 *
 * The order bounds the overdraft: a lease is taken before the balance is read and given back only
 * after the charge is durable, so at most as many requests as the key has leases can cross zero.
 */

import type { Request } from 'express';
import { StoreUnavailableError, isWellFormedCredential } from '@gateway/balance-store';
import type { HoldOutcome, KeyRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { Lease } from '@gateway/rate-limiter';
import { addressGroup } from './client-address.js';
import { INVALID_KEY_MESSAGE, readCredential } from './credentials.js';
import { retryAfterSeconds, storeUnavailable } from './refusal.js';
import type { Refusal } from './refusal.js';
import type { Services } from './services.js';

export type Authentication =
  | { readonly outcome: 'authenticated'; readonly key: KeyRecord }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

/** Well-formed credentials that no key has, per address: guesses, each of which costs a query. */
const UNKNOWN_KEY_POLICY = { limit: 30, windowMs: 60_000 } as const;

/** Finds the key that a request presents, whatever its standing; a revoked key is unknown. */
export async function authenticate(
  req: Request,
  services: Services,
  accepted: 'bearer_or_x_api_key' | 'bearer',
): Promise<Authentication> {
  const presented = readCredential(req.headers, accepted);
  if (presented.outcome === 'refused') return presented;
  if (!isWellFormedCredential(presented.credential)) return UNKNOWN_KEY;
  try {
    const key = await services.store.findKeyByCredential(presented.credential);
    if (key !== undefined && key.state !== 'revoked') return { outcome: 'authenticated', key };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { outcome: 'refused', refusal: storeUnavailable(error) };
  }
  const guesses = await services.limiter.record(
    `unknown-key:${addressGroup(req.ip)}`,
    UNKNOWN_KEY_POLICY,
  );
  if (guesses.outcome === 'allowed') return UNKNOWN_KEY;
  return {
    outcome: 'refused',
    refusal: rateLimited('too many requests with unknown API keys', guesses.retryAfterMs),
  };
}

/** What stopped an authenticated request. */
export type LimitName = 'concurrency' | 'rate' | 'balance';

export type KeyAdmission =
  | { readonly outcome: 'admitted'; readonly lease: Lease }
  | { readonly outcome: 'refused'; readonly refusal: Refusal; readonly limit?: LimitName };

/**
 * Takes a lease and a permit of an authenticated key and checks that it is active and funded.
 *
 * @param hold - What to set aside of the balance, in units of 10^-14 USD, if it must never fall below
 * zero. Whoever is admitted with a hold settles the request or gives the hold back.
 */
export async function admitKey(
  key: KeyRecord,
  hold: { readonly requestId: string; readonly amount: bigint } | undefined,
  services: Services,
): Promise<KeyAdmission> {
  const admission = await services.limiter.admit(key.id, key.limits);
  if (admission.outcome === 'denied') {
    const what =
      admission.limit === 'concurrency'
        ? `this key already has ${String(key.limits.concurrency)} requests in flight, its limit`
        : `this key exceeds its limit of ${String(key.limits.burst)} requests at once and ${String(key.limits.requestsPerMinute)} per minute`;
    return {
      outcome: 'refused',
      refusal: rateLimited(what, admission.retryAfterMs),
      limit: admission.limit,
    };
  }
  try {
    const refused =
      hold === undefined
        ? await checkStanding(key, services)
        : await placeHold(key, hold, services);
    if (refused === undefined) return admission;
    admission.lease.release();
    return refused;
  } catch (error) {
    admission.lease.release();
    // Whether it was placed is not known.
    if (hold !== undefined) services.store.releaseHold(hold.requestId);
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { outcome: 'refused', refusal: storeUnavailable(error) };
  }
}

type RefusedAdmission = KeyAdmission & { readonly outcome: 'refused' };

async function checkStanding(
  key: KeyRecord,
  { store }: Services,
): Promise<RefusedAdmission | undefined> {
  const { standing } = await store.readStanding(key.id);
  return standing === 'active' ? undefined : UNKNOWN_KEY;
}

async function placeHold(
  key: KeyRecord,
  hold: { readonly requestId: string; readonly amount: bigint },
  { store }: Services,
): Promise<RefusedAdmission | undefined> {
  const placed = await store.placeHold({ ...hold, keyId: key.id });
  switch (placed.outcome) {
    case 'held':
      return undefined;
    case 'inactive':
      return UNKNOWN_KEY;
    case 'short':
      return {
        outcome: 'refused',
        limit: 'balance',
        refusal: shortOf(placed, hold.amount),
      };
  }
}

function shortOf(
  { balance, held, shortfall }: HoldOutcome & { readonly outcome: 'short' },
  amount: bigint,
): Refusal {
  // What other requests of the key do not use up is free again when they end.
  const fitsLater = amount <= balance;
  const others =
    held === 0n ? '' : `, of which ${formatUsd(held)} USD are held for requests in flight`;
  return {
    status: 402,
    type: 'billing_error',
    message:
      `this request may cost up to ${formatUsd(amount)} USD, and the balance is ` +
      `${formatUsd(balance)} USD${others}: ${formatUsd(shortfall)} USD short; ` +
      (fitsLater ? 'wait for them to end, lower max_tokens' : 'lower max_tokens') +
      ', shorten the prompt or add credit',
    code: 'insufficient_quota',
    shouldRetry: fitsLater,
    ...(fitsLater ? { retryAfterSeconds: 2 } : {}),
  };
}

export function rateLimited(what: string, waitMs: number): Refusal {
  const seconds = retryAfterSeconds(waitMs);
  return {
    status: 429,
    type: 'rate_limit_error',
    message: `${what}; wait ${String(seconds)} ${seconds === 1 ? 'second' : 'seconds'} before trying again`,
    code: 'rate_limit_exceeded',
    retryAfterSeconds: seconds,
  };
}

const UNKNOWN_KEY = {
  outcome: 'refused',
  refusal: {
    status: 401,
    type: 'authentication_error',
    message: INVALID_KEY_MESSAGE,
    code: 'invalid_api_key',
  },
} as const;
