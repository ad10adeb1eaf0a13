/** Whether an upstream account accepts requests now, according to its latest answers. */

import type { UpstreamFailure } from '../upstream.js';

/**
 * `cooling`: it answered 429, or unreadably, or could not be reached, and is not used for a while.
 * `refused`: it refused its credential or has no credit. After a minute it gets requests again,
 * which shows whether the operator has fixed that.
 */
export type AccountState = 'available' | 'cooling' | 'refused';

export interface AccountStanding {
  state(): AccountState;
  /** How long until the account takes requests again; 0 if it takes them now. */
  waitMs(): number;
  /**
   * @param sentAt - When the request was sent. If the account was left out after that, it stays so:
   * the answer to an older request shows nothing new.
   */
  answered(sentAt: number): void;
  failed(failure: UpstreamFailure): void;
  unreachable(): void;
  /** Its refusal could not be read, and another account has served the same request. */
  unreadable(): void;
}

const REFUSED_MS = 60_000;
const UNREACHABLE_MS = 5_000;
const DEFAULT_COOL_DOWN_MS = 5_000;

/** @param now - Milliseconds from any origin. */
export function createAccountStanding(now: () => number): AccountStanding {
  let state: AccountState = 'available';
  let until = 0;
  let leftOutAt = -Infinity;

  /** Never shortens the time for which the account is left out: this may be an older answer. */
  function leaveOut(as: AccountState, ms: number): void {
    leftOutAt = now();
    if (state !== 'refused' || leftOutAt >= until) state = as;
    until = Math.max(until, leftOutAt + ms);
  }

  return {
    state: () => (state === 'cooling' && now() >= until ? 'available' : state),
    waitMs: () => (state === 'available' ? 0 : Math.max(0, until - now())),
    answered(sentAt) {
      if (sentAt < leftOutAt) return;
      state = 'available';
      until = 0;
    },
    failed(failure) {
      if (failure.outcome === 'replace' && failure.operatorMustAct) {
        leaveOut('refused', REFUSED_MS);
      } else {
        const seconds = failure.refusal.retryAfterSeconds;
        leaveOut('cooling', seconds === undefined ? DEFAULT_COOL_DOWN_MS : seconds * 1000);
      }
    },
    unreachable() {
      leaveOut('cooling', UNREACHABLE_MS);
    },
    unreadable() {
      leaveOut('cooling', DEFAULT_COOL_DOWN_MS);
    },
  };
}
