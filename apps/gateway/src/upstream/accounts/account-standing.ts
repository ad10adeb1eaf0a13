/**
 * Whether an upstream account takes requests now, according to its latest answers.
 *
 * A client chooses what it sends, so the answer to its request may be due to that request alone. It
 * changes what other customers get only if another account has served the same request, or if
 * requests of another customer were answered alike (docs/decisions/0042). Until then, the request
 * moves to another account, and a limit counts only for the customer that met it.
 *
 * An overload counts for one model. Only what is true of the whole account counts for all models:
 * that it cannot be reached, refuses its credential, or is answered for by something in between.
 */

import { MINUTE_MS } from '../../base/times.js';
import { createRefusalWitness } from '../refusal-witness.js';
import type { RefusalCause } from '../upstream.js';
import { createCircuit } from './circuit.js';
import { createModelCircuits } from './model-circuits.js';
import { createRequestLimits } from './request-limits.js';
import type { LimitedRequest } from './request-limits.js';

/**
 * `cooling`: for one model or for all, it limits several customers, is overloaded, answered
 * unreadably, or could not be reached, and is avoided for a while. `refused`: it refuses its
 * credential or has no credit. After a minute it gets a request again, which shows whether the
 * operator has fixed that.
 */
export type AccountState = 'available' | 'cooling' | 'refused';

export type StandingRequest = LimitedRequest;

/** How long an account takes no such request. */
export interface Wait {
  /** 0 if it takes it now. */
  readonly ms: number;
  /** `limit`: its limits do not admit it; `unreachable`: nothing can be sent to it. */
  readonly cause: 'limit' | 'unreachable';
}

export interface AccountStanding {
  state(): AccountState;
  wait(request: StandingRequest): Wait;
  /**
   * It failed, and is used only if no other account takes the request. So no customer is refused
   * because of the answers to others.
   */
  isAvoided(request: StandingRequest): boolean;
  /** Must be called when a request is sent: it may be the one that finds out about recovery. */
  sent(request: StandingRequest): void;
  /**
   * It judged the request itself, so the account as a whole is in order.
   *
   * @param sentAt - When the request was sent. If the account was left out after that, it stays so:
   * the answer to an older request shows nothing new.
   */
  answered(request: StandingRequest, sentAt: number): void;
  /** It served the request. Includes {@link AccountStanding.answered}. */
  served(request: StandingRequest, sentAt: number): void;
  /**
   * @param limitMs - For a `limit`: how long the account takes no request of this customer for the
   * same model that is at least as large. Without it, the 429 is about this request alone.
   */
  refused(request: StandingRequest, cause: RefusalCause, limitMs?: number): void;
  /** Another account has served a request that failed at this one. */
  servedElsewhere(request: StandingRequest, cause: RefusalCause): void;
  /** No byte of a request was sent, so no request is the cause. */
  unreachable(): void;
}

const REFUSED_MS = MINUTE_MS;
const UNREACHABLE_MS = 5_000;
const UNREADABLE_MS = 5_000;

/** @param now - Milliseconds from any origin. */
export function createAccountStanding(now: () => number): AccountStanding {
  const refusals = createRefusalWitness(now);
  const limits = createRequestLimits(now);
  const account = createCircuit(now);
  const models = createModelCircuits(now);
  let unreachableUntil = 0;
  let openAs: Exclude<AccountState, 'available'> = 'cooling';

  function open(as: typeof openAs, ms: number): void {
    if (!account.isOpen() || as === 'refused') openAs = as;
    account.open(ms);
  }

  function recovered(sentAt: number): void {
    refusals.answered(sentAt);
    account.answered(sentAt);
    if (sentAt >= unreachableUntil - UNREACHABLE_MS) unreachableUntil = 0;
  }

  return {
    state() {
      if (account.isUnproven() && openAs === 'refused') return 'refused';
      const isCooling =
        account.isOpen() || now() < unreachableUntil || limits.holdsAll() || models.isAnyOpen();
      return isCooling ? 'cooling' : 'available';
    },
    wait(request) {
      const limitMs = limits.waitMs(request);
      if (unreachableUntil === 0) return limitMs === 0 ? NO_WAIT : { ms: limitMs, cause: 'limit' };
      const unreachableMs = Math.max(0, unreachableUntil - now());
      return limitMs > unreachableMs
        ? { ms: limitMs, cause: 'limit' }
        : { ms: unreachableMs, cause: 'unreachable' };
    },
    isAvoided: (request) => account.isOpen() || models.isOpen(request),
    sent(request) {
      limits.sent(request);
      account.sent();
      models.sent(request);
    },
    answered(request, sentAt) {
      limits.failed(request);
      models.unclear(request);
      recovered(sentAt);
    },
    served(request, sentAt) {
      recovered(sentAt);
      limits.served(request, sentAt);
      models.served(request, sentAt);
    },
    refused(request, cause, limitMs) {
      account.failed();
      if (cause === 'limit' && limitMs !== undefined) limits.add(request, limitMs);
      else limits.failed(request);
      if (cause === 'overload') models.refused(request);
      else models.unclear(request);
      const isCredential = cause === 'account' || cause === 'permission';
      if (isCredential && refusals.refused(request.accountId)) open('refused', REFUSED_MS);
    },
    servedElsewhere(request, cause) {
      switch (cause) {
        case 'account':
          open('refused', REFUSED_MS);
          return;
        case 'overload':
          models.servedElsewhere(request);
          return;
        case 'unknown':
          open('cooling', UNREADABLE_MS);
          return;
        case 'limit':
          limits.servedElsewhere(request);
          return;
        case 'permission':
          // The other account may use a model or a beta that this one may not use.
          return;
      }
    },
    unreachable() {
      unreachableUntil = now() + UNREACHABLE_MS;
      // Afterwards, one request finds out whether it can be reached.
      open('cooling', UNREACHABLE_MS);
    },
  };
}

const NO_WAIT: Wait = { ms: 0, cause: 'limit' };
