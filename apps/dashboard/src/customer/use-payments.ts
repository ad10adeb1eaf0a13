/**
 * The payments of the account, read again until none is under way. When a payment that was under
 * way is credited, the balance is loaded again, so that the page needs no reload.
 */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Answer, Failure } from '../shared/api/api.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { payingId } from './paying.js';
import { call, isLink } from './session.js';

type Payment = Sent<'payment'>;

export interface Payments {
  /** The newest first. A key that may not see the account gets only the payment of this tab. */
  readonly latest: readonly Payment[];
  /** Limits of one payment. `undefined` for a key that may pay but may not see the account. */
  readonly limits: { readonly minUsd: string; readonly maxUsd: string } | undefined;
}

/** Counts the changes of the balance that this page has caused or seen. */
export const creditsSeen = signal(0);

const LATEST = 20;
/** How many credits are read: more than payments, because the list also has other credits. */
const CREDITS = 100;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const WAIT_GROWTH = 1.25;

/** @returns a resource whose `value` is `null` if payments are not configured. */
export function usePayments(): Resource<Payments | null> {
  // Ids of payments that are under way, or paid but not credited yet. The credit follows soon.
  const watched = useRef(new Set([payingId.peek()].filter((id) => id !== undefined)));
  const payments = useResource('payments', (signal) => load(watched.current, signal), {
    // It has its own times at which it is read again.
    isLive: false,
  });
  const waitMs = useRef(FIRST_WAIT_MS);
  const { isLoading, failure, reload } = payments;
  useEffect(() => {
    if (isLoading) return undefined;
    if (failure === undefined ? watched.current.size === 0 : !isPassing(failure)) {
      waitMs.current = FIRST_WAIT_MS;
      return undefined;
    }
    const isToWait = failure !== undefined && 'retryAfterSeconds' in failure;
    const timer = setTimeout(reload, isToWait ? failure.retryAfterSeconds * 1_000 : waitMs.current);
    waitMs.current = Math.min(waitMs.current * WAIT_GROWTH, LONGEST_WAIT_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [isLoading]);
  return payments;
}

/** @param watched - Payments under way are added to it, and those that have ended are removed. */
async function load(
  watched: Set<string>,
  signal: AbortSignal,
): Promise<Answer<Payments | null> | undefined> {
  if (isLink.peek()) return undefined;
  const found = await find(signal);
  if (!found.ok || found.value === null) return found;
  const { latest } = found.value;
  const paid: Payment[] = [];
  for (const payment of latest) {
    if (isUnderWay(payment)) watched.add(payment.id);
    else if (payment.state === 'paid' && watched.has(payment.id)) paid.push(payment);
    else watched.delete(payment.id);
  }
  // Also removes payments of another account and those that are no longer among the latest.
  for (const id of watched) if (!latest.some((payment) => payment.id === id)) watched.delete(id);
  if (paid.length > 0) {
    const credited = await findCredited(signal);
    const seen = paid.filter(({ reference }) => reference !== null && credited.has(reference));
    for (const { id } of seen) watched.delete(id);
    if (seen.length > 0) creditsSeen.value += 1;
  }
  return found;
}

async function find(signal: AbortSignal): Promise<Answer<Payments | null>> {
  const list = await call('GET /v1/dashboard/top-ups', {
    query: { limit: LATEST },
    signal,
  });
  if (list.ok) {
    const { data, min_usd: minUsd, max_usd: maxUsd } = list.value;
    return { ...list, value: { latest: data, limits: { minUsd, maxUsd } } };
  }
  const status = list.failure.kind === 'refused' ? list.failure.status : undefined;
  if (status === 404) return { ok: true, value: null, text: '' };
  if (status !== 403) return list;
  // A key that may not list payments may still pay, and read the payment that it started.
  const id = payingId.peek();
  const own =
    id === undefined
      ? undefined
      : await call('GET /v1/dashboard/top-ups/:payment_id', {
          path: { payment_id: id },
          signal,
        });
  if (own?.ok === false && own.failure.kind !== 'refused') return own;
  const latest = own?.ok === true ? [own.value] : [];
  return { ok: true, value: { latest, limits: undefined }, text: '' };
}

async function findCredited(signal: AbortSignal): Promise<ReadonlySet<string>> {
  const credits = await call('GET /v1/dashboard/usage', {
    query: { kind: 'credit', limit: CREDITS },
    signal,
  });
  const entries = credits.ok ? credits.value.data : [];
  return new Set(
    entries.flatMap((entry) =>
      entry.object === 'credit' && entry.reference !== null ? [entry.reference] : [],
    ),
  );
}

function isPassing({ kind }: Failure): boolean {
  return kind !== 'refused' && kind !== 'unauthorized';
}

function isUnderWay({ state }: Payment): boolean {
  return state === 'open' || state === 'pending';
}
