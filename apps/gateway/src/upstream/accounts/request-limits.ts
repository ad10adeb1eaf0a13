/**
 * The limits (429) that an account has set to requests, by model and size. Each counts for the
 * customer that met it, and for all once another account has served the same request, or once two
 * customers have met it. A limit may last for days, and the operator may raise it earlier. So once
 * a minute, one of the requests that it holds back is sent all the same. If that is served, the
 * limit has ended.
 */

import { MINUTE_MS } from '../../base/times.js';
import type { UpstreamCall } from '../upstream.js';

export type LimitedRequest = Pick<UpstreamCall, 'accountId' | 'operation' | 'model' | 'bodyBytes'>;

export interface RequestLimits {
  /** How long the limits hold this request back; 0 if it may be sent. */
  waitMs(request: LimitedRequest): number;
  /** Whether requests of all customers are held back. */
  holdsAll(): boolean;
  /** A request met a 429 that lasts for this time. */
  add(request: LimitedRequest, ms: number): void;
  /** Another account has served a request that met a 429 of this one. */
  servedElsewhere(request: LimitedRequest): void;
  sent(request: LimitedRequest): void;
  /** Of a request that was sent, nothing is known about the limits. */
  failed(request: LimitedRequest): void;
  /** @param sentAt - Limits that were met after that stay. */
  served(request: LimitedRequest, sentAt: number): void;
}

/** A 429: which requests met it, and until when it lasts. */
interface Limit {
  readonly customer: string;
  /** Each model has limits of its own, and so has the counting of tokens. */
  readonly kind: string;
  readonly bytes: number;
  readonly metAt: number;
  readonly until: number;
  /** When one of the requests that it holds back is sent all the same. */
  nextProbeAt: number;
  /** Another account has served the request that met it. */
  isForAll: boolean;
}

const PROBE_PERIOD_MS = MINUTE_MS;
/** Bodies up to this size count as equally large. */
const SMALL_BODY_BYTES = 4_096;
/** If more are in force, the oldest are forgotten. The next request meets them again. */
const MOST_LIMITS = 64;
/** No account of the ledger has this id. */
const NOBODY = '';

/** @param now - Milliseconds from any origin. */
export function createRequestLimits(now: () => number): RequestLimits {
  let limits: Limit[] = [];

  /**
   * Limits hold back requests of the same kind that are at least as large: those of the customer
   * that met the limit, and those of all if another account served what met it, or if two
   * customers met it.
   */
  function endOf(request: LimitKey, isOver: (limit: Limit) => boolean): number {
    let end = 0;
    const endOfCustomer = new Map<string, number>();
    for (const limit of limits) {
      if (!appliesTo(limit, request) || isOver(limit)) continue;
      const { customer, until, isForAll } = limit;
      if (isForAll || customer === request.customer) end = Math.max(end, until);
      endOfCustomer.set(customer, Math.max(until, endOfCustomer.get(customer) ?? 0));
    }
    const [, second = 0] = [...endOfCustomer.values()].sort((a, b) => b - a);
    return Math.max(end, second);
  }

  /** The request has shown nothing about these limits, so another one may find out at once. */
  function release(request: LimitedRequest, isConcerned: (limit: Limit) => boolean): void {
    if (limits.length === 0) return;
    const at = now();
    const key = keyOf(request);
    for (const limit of limits) {
      const wasProbed = limit.metAt + PROBE_PERIOD_MS <= at;
      if (wasProbed && appliesTo(limit, key) && isConcerned(limit)) limit.nextProbeAt = at;
    }
  }

  return {
    waitMs(request) {
      if (limits.length === 0) return 0;
      const at = now();
      const end = endOf(keyOf(request), ({ nextProbeAt }) => nextProbeAt <= at);
      return Math.max(0, end - at);
    },
    holdsAll() {
      const at = now();
      return limits.some(
        ({ kind, bytes }) => endOf({ customer: NOBODY, kind, bytes }, () => false) > at,
      );
    },
    add(request, ms) {
      // One customer that meets a limit twice confirms it for no other.
      release(request, ({ customer }) => customer === request.accountId);
      const metAt = now();
      const until = metAt + ms;
      const nextProbeAt = Math.min(until, metAt + PROBE_PERIOD_MS);
      const limit = { ...keyOf(request), metAt, until, nextProbeAt, isForAll: false };
      limits = limits.filter((each) => each.until > metAt && !covers(limit, each));
      limits.push(limit);
      if (limits.length > MOST_LIMITS) {
        const oldest = limits.findIndex(({ isForAll }) => !isForAll);
        limits.splice(Math.max(0, oldest), 1);
      }
    },
    servedElsewhere(request) {
      const { customer, kind, bytes } = keyOf(request);
      for (const limit of limits)
        if (limit.customer === customer && limit.kind === kind && limit.bytes === bytes)
          limit.isForAll = true;
    },
    sent(request) {
      if (limits.length === 0) return;
      const at = now();
      const key = keyOf(request);
      for (const limit of limits)
        if (limit.nextProbeAt <= at && appliesTo(limit, key))
          limit.nextProbeAt = Math.min(limit.until, at + PROBE_PERIOD_MS);
    },
    failed(request) {
      release(request, () => true);
    },
    served(request, sentAt) {
      if (limits.length === 0) return;
      const key = keyOf(request);
      limits = limits.filter((limit) => limit.metAt > sentAt || !appliesTo(limit, key));
    },
  };
}

type LimitKey = Pick<Limit, 'customer' | 'kind' | 'bytes'>;

function keyOf({ accountId, operation, model, bodyBytes }: LimitedRequest): LimitKey {
  return {
    customer: accountId,
    kind: `${operation} ${model}`,
    bytes: Math.max(SMALL_BODY_BYTES, bodyBytes),
  };
}

function appliesTo(limit: Limit, { kind, bytes }: LimitKey): boolean {
  return limit.kind === kind && limit.bytes <= bytes;
}

/** Whether `limit` holds back every request that the older limit holds back, for as long. */
function covers(limit: Limit, older: Limit): boolean {
  return (
    !older.isForAll &&
    limit.customer === older.customer &&
    limit.kind === older.kind &&
    limit.bytes <= older.bytes &&
    limit.until >= older.until
  );
}
