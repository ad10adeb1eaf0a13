/** Token counts of one request, in classes that do not overlap. */

export interface Usage {
  /** Prompt tokens that neither came from the cache nor were written to it. */
  readonly inputTokens: number;
  /** All generated tokens, thinking included. */
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  /** All cache writes, of either lifetime. */
  readonly cacheCreationInputTokens: number;
  /** The part of `cacheCreationInputTokens` with a lifetime of one hour. */
  readonly cacheCreation1hInputTokens: number;
  /** The part of `outputTokens` spent on thinking. */
  readonly thinkingTokens: number;
}

/** A usage document that money may depend on, or why it may not. */
export type UsageReading =
  | { readonly outcome: 'read'; readonly usage: Usage }
  | { readonly outcome: 'invalid'; readonly reason: string };
