/**
 * The payments of the account, read again until none is under way. A payment that was under way and
 * is credited makes the balance load again, so that the page needs no reload.
 */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Answer, Failure, Page } from '../shared/api.js';
import { useResource } from '../shared/resource.js';
import type { Resource } from '../shared/resource.js';
import { payingId } from './paying.js';
import { get, isLink } from './session.js';
import type { Entry, Payment } from './types.js';

export interface Payments {
  /** The newest first. For a key that may not see the account, the one that this tab started. */
  readonly latest: readonly Payment[];
  /** Of one payment. `undefined` for a key that may pay, but not see the account. */
  readonly limits: { readonly minUsd: string; readonly maxUsd: string } | undefined;
}

/** Counts the times that the balance has changed by something that happened on this page. */
export const creditsSeen = signal(0);

const LATEST = 20;
/** At least as many credits as the payments that are compared with them. */
const CREDITS = 100;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
const WAIT_GROWTH = 1.25;

/** @returns `value` is `null` where payments are not configured. */
export function usePayments(): Resource<Payments | null> {
  // Those under way, and those that are paid but not credited yet: the credit comes just after.
  const watched = useRef(new Set([payingId.peek()].filter((id) => id !== undefined)));
  const payments = useResource('payments', (signal) => load(watched.current, signal));
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

/** @param watched - Gets the payments under way, and loses those that have ended. */
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
  // Those of another account, or that are no longer among the latest.
  for (const id of watched) if (!latest.some((payment) => payment.id === id)) watched.delete(id);
  if (paid.length > 0) {
    const credited = await findCredited(signal);
    const seen = paid.filter(({ reference }) => reference !== null && credited.has(reference));
    for (const { id } of seen) watched.delete(id);
    if (seen.length > 0) creditsSeen.value += 1;
  }
  return found;
}

interface Listed extends Page<Payment> {
  readonly min_usd: string;
  readonly max_usd: string;
}

async function find(signal: AbortSignal): Promise<Answer<Payments | null>> {
  const list = await get<Listed>('top-ups', { query: { limit: LATEST }, signal });
  if (list.ok) {
    const { data, min_usd: minUsd, max_usd: maxUsd } = list.value;
    return { ...list, value: { latest: data, limits: { minUsd, maxUsd } } };
  }
  const status = list.failure.kind === 'refused' ? list.failure.status : undefined;
  if (status === 404) return { ok: true, value: null, text: '' };
  if (status !== 403) return list;
  // It may pay all the same, and see what it has paid.
  const id = payingId.peek();
  const own = id === undefined ? undefined : await get<Payment>(`top-ups/${id}`, { signal });
  if (own?.ok === false && own.failure.kind !== 'refused') return own;
  const latest = own?.ok === true ? [own.value] : [];
  return { ok: true, value: { latest, limits: undefined }, text: '' };
}

async function findCredited(signal: AbortSignal): Promise<ReadonlySet<string>> {
  const credits = await get<Page<Entry>>('usage', {
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
