/** Attempts that cost nothing although their usage reports tokens. */

/** How an attempt of a model ended. */
export type AttemptEnd =
  | { readonly kind: 'answered' }
  /**
   * The model refused before any output, whether that ended the message or another model went on.
   * `category`: as in `stop_details.category`, or in `trigger.category` of the `fallback` block;
   * `undefined` if the upstream names none.
   */
  | { readonly kind: 'refused'; readonly category: string | undefined };

/** The rule of a table for such attempts. */
export interface RefusalRule {
  /**
   * The only categories of refusals before any output that are billed. Any other refusal is free,
   * so that a category that the provider adds later is free until the table names it.
   */
  readonly billedRefusals: ReadonlySet<string>;
}

export function isUnbilled(end: AttemptEnd, { billedRefusals }: RefusalRule): boolean {
  if (end.kind === 'answered') return false;
  return end.category === undefined || !billedRefusals.has(end.category);
}

/** The categories that the provider bills; `LIST_RULES` names its page. */
export const BILLED_REFUSALS = ['bio', 'frontier_llm', 'reasoning_extraction'] as const;
