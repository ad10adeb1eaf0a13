/**
 * Decides whether a key of the embedded ledger is active, or why it is disabled. Each read of a
 * key's standing calls this function. The counts of an account's active keys and the event
 * `balance.exhausted` repeat its conditions, so change them together. The standing is derived on
 * each read and never stored, so a credit that races with an exhausting charge cannot leave the key
 * in the wrong state. The rules are those of the SQL functions `standing_of` and `state_in` on
 * PostgreSQL.
 */

import type { AccountStatus } from '../../account.js';
import type { KeyStanding, KeyState } from '../../key.js';

export interface StandingParts {
  readonly state: KeyState;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
  readonly balance: bigint;
  /**
   * The part of the charges since the last credit that the balance could not cover: the operator's
   * loss. The key stays exhausted until the next credit, even if the balance is above zero once
   * other holds have ended. Otherwise the same loss could be caused again and again.
   */
  readonly uncovered: bigint;
}

/**
 * The state of a key in its account: while the account is suspended, so is each key that would be
 * active. The key's own state counts again when the account is resumed. Closing an account revokes
 * its keys; nothing else could make one of them work.
 */
export function stateIn(accountState: AccountStatus, keyState: KeyState): KeyState {
  if (accountState === 'closed') return 'revoked';
  return keyState === 'active' ? accountState : keyState;
}

export function standingOf(
  { state, expiresAt, balance, uncovered }: StandingParts,
  nowMs: number,
): KeyStanding {
  if (state !== 'active') return state;
  if (expiresAt !== null && expiresAt <= nowMs) return 'expired';
  return balance <= 0n || uncovered > 0n ? 'exhausted' : 'active';
}
