/** Which accounts of the upstream the gateway uses. */

export interface AnthropicTarget {
  readonly url: string;
  readonly apiKey: string;
}

/** The ceilings of an account. A customer's accounts share them fairly: see `fair-ceiling.ts`. */
export interface CeilingLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
}

export interface AccountTarget extends AnthropicTarget, CeilingLimits {
  readonly name: string;
  /**
   * Accounts of the ledger. Their requests go only to upstream accounts that list them, so that
   * they share no prompt cache with others. `undefined`: for all that no upstream account lists.
   */
  readonly onlyFor?: readonly string[] | undefined;
  /** A key for the provider's reports on this account. */
  readonly adminKey?: string | undefined;
}

/** Plain data, because the primary sends it to its workers. */
export type UpstreamTarget =
  | (AnthropicTarget & {
      /** Reached without a proxy: the bundled simulator, which listens on this machine. */
      readonly isLocal?: boolean;
    })
  | { readonly accounts: readonly AccountTarget[] };

/** Whether the bundled simulator answers in place of a model. */
export function isSimulated(target: UpstreamTarget): boolean {
  return 'isLocal' in target && target.isLocal === true;
}
