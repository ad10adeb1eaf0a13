/**
 * Whether an upstream account takes requests now, according to its latest answers.
 *
 * A client chooses what it sends, so the answer to its request may be due to that request alone. It
 * changes what other customers get only if another account has served the same request, or if
 * requests of another customer were answered alike (docs/decisions/0042). Until then, the request
 * moves to another account, and a limit counts only for the customer that met it.
 */

import { MINUTE_MS } from '../../base/times.js';
import { createRefusalWitness } from '../refusal-witness.js';
import type { RefusalCause, UpstreamCall } from '../upstream.js';

/**
 * `cooling`: it answers 429 to several customers, or unreadably, or could not be reached, and is
 * avoided for a while. `refused`: it refuses its credential or has no credit. After a minute it
 * gets requests again, which shows whether the operator has fixed that.
 */
export type AccountState = 'available' | 'cooling' | 'refused';

export type StandingRequest = Pick<UpstreamCall, 'accountId' | 'operation' | 'model' | 'bodyBytes'>;

export interface AccountStanding {
  state(): AccountState;
  /**
   * How long the account takes no such request, because it cannot be reached or its limits do not
   * admit the request; 0 if it takes it now.
   */
  waitMs(request: StandingRequest): number;
  /**
   * It refused its credential or answered unreadably, and is used only if no other account takes
   * the request. So no customer is refused because of the answers to others.
   */
  isAvoided(): boolean;
  /**
   * @param sentAt - When the request was sent. If the account was left out after that, it stays so:
   * the answer to an older request shows nothing new.
   */
  answered(sentAt: number): void;
  /**
   * @param retryAfterMs - For a `limit`: how long the account takes no request of this customer for
   * the same model that is at least as large.
   */
  refused(request: StandingRequest, cause: RefusalCause, retryAfterMs?: number): void;
  /** Another account has served a request that this one refused. */
  servedElsewhere(request: StandingRequest, cause: RefusalCause): void;
  /** No byte of a request was sent, so no request is the cause. */
  unreachable(): void;
}

/** A 429: which requests met it, and until when it lasts. */
interface Limit {
  readonly customer: string;
  /** Each model has limits of its own, and so has the counting of tokens. */
  readonly kind: string;
  readonly bytes: number;
  readonly until: number;
  /** Another account has served the request that met it. */
  isForAll: boolean;
}

const REFUSED_MS = MINUTE_MS;
const UNREACHABLE_MS = 5_000;
const UNREADABLE_MS = 5_000;
const DEFAULT_LIMIT_MS = 5_000;
/** Bodies up to this size count as equally large. */
const SMALL_BODY_BYTES = 4_096;
/** If more are in force, the oldest are forgotten. The next request meets them again. */
const MOST_LIMITS = 64;

/** @param now - Milliseconds from any origin. */
export function createAccountStanding(now: () => number): AccountStanding {
  const refusals = createRefusalWitness(now);
  let limits: Limit[] = [];
  let unreachableUntil = 0;
  let avoidedAs: Exclude<AccountState, 'available'> | undefined;
  let avoidedUntil = 0;
  let leftOutAt = -Infinity;

  /** Never shortens the time for which the account is avoided: this may be an older answer. */
  function avoid(as: Exclude<AccountState, 'available'>, ms: number): void {
    leftOutAt = now();
    if (avoidedAs !== 'refused' || leftOutAt >= avoidedUntil) avoidedAs = as;
    avoidedUntil = Math.max(avoidedUntil, leftOutAt + ms);
  }

  function addLimit(request: StandingRequest, ms: number): void {
    const at = now();
    const limit = { ...limitKeyOf(request), until: at + ms, isForAll: false };
    limits = limits.filter((each) => each.until > at && !covers(limit, each));
    limits.push(limit);
    if (limits.length > MOST_LIMITS) {
      const oldest = limits.findIndex(({ isForAll }) => !isForAll);
      limits.splice(Math.max(0, oldest), 1);
    }
  }

  /**
   * A limit counts for requests of the same kind that are at least as large: for those of its own
   * customer, and for all if another account served what met it, or if two customers met it.
   */
  function limitEnd(request: Pick<Limit, 'customer' | 'kind' | 'bytes'>): number {
    let end = 0;
    const endOf = new Map<string, number>();
    for (const { customer, kind, bytes, until, isForAll } of limits) {
      if (kind !== request.kind || bytes > request.bytes) continue;
      if (isForAll || customer === request.customer) end = Math.max(end, until);
      endOf.set(customer, Math.max(until, endOf.get(customer) ?? 0));
    }
    const [, second = 0] = [...endOf.values()].sort((a, b) => b - a);
    return Math.max(end, second);
  }

  return {
    state() {
      const at = now();
      if (avoidedAs === 'refused') return 'refused';
      const isCooling =
        (avoidedAs !== undefined && at < avoidedUntil) ||
        at < unreachableUntil ||
        limits.some(({ kind, bytes }) => limitEnd({ customer: NOBODY, kind, bytes }) > at);
      return isCooling ? 'cooling' : 'available';
    },
    waitMs(request) {
      if (limits.length === 0 && unreachableUntil === 0) return 0;
      return Math.max(0, Math.max(unreachableUntil, limitEnd(limitKeyOf(request))) - now());
    },
    isAvoided: () => avoidedAs !== undefined && now() < avoidedUntil,
    answered(sentAt) {
      refusals.answered(sentAt);
      if (sentAt < leftOutAt) return;
      avoidedAs = undefined;
      avoidedUntil = 0;
      unreachableUntil = 0;
    },
    refused(request, cause, retryAfterMs = DEFAULT_LIMIT_MS) {
      if (cause === 'limit') addLimit(request, retryAfterMs);
      else if (cause !== 'unknown' && refusals.refused(request.accountId)) {
        avoid('refused', REFUSED_MS);
      }
    },
    servedElsewhere(request, cause) {
      switch (cause) {
        case 'account':
          avoid('refused', REFUSED_MS);
          return;
        case 'unknown':
          avoid('cooling', UNREADABLE_MS);
          return;
        case 'limit': {
          const { customer, kind, bytes } = limitKeyOf(request);
          for (const limit of limits)
            if (limit.customer === customer && limit.kind === kind && limit.bytes === bytes)
              limit.isForAll = true;
          return;
        }
        case 'permission':
          // The other account may use a model or a beta that this one may not use.
          return;
      }
    },
    unreachable() {
      leftOutAt = now();
      unreachableUntil = Math.max(unreachableUntil, leftOutAt + UNREACHABLE_MS);
    },
  };
}

/** No account of the ledger has this id. */
const NOBODY = '';

function limitKeyOf({ accountId, operation, model, bodyBytes }: StandingRequest) {
  return {
    customer: accountId,
    kind: `${operation} ${model}`,
    bytes: Math.max(SMALL_BODY_BYTES, bodyBytes),
  };
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
