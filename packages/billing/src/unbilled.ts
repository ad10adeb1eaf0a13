/** Attempts that cost nothing although their usage reports tokens. */

import type { ChargeableUsage } from './charge.js';

/** How an attempt of a model ended. */
export type AttemptEnd =
  | { readonly kind: 'answered' }
  /** Refused before any output, for a reason of this category. */
  | { readonly kind: 'refused'; readonly category: string }
  /** The model declined, and another one went on. */
  | { readonly kind: 'declined' };

/** The rules of a table for such attempts. */
export interface UnbilledRules {
  /** The categories of refusals that cost nothing if they come before any output. */
  readonly unbilledRefusals: ReadonlySet<string>;
  readonly declinedAttempts: 'billed' | 'unbilled_without_output';
}

export function isUnbilled(
  end: AttemptEnd,
  usage: Pick<ChargeableUsage, 'outputTokens'>,
  rules: UnbilledRules,
): boolean {
  switch (end.kind) {
    case 'answered':
      return false;
    case 'refused':
      return rules.unbilledRefusals.has(end.category);
    case 'declined':
      return rules.declinedAttempts === 'unbilled_without_output' && usage.outputTokens === 0;
  }
}
