/** The result of recomputing the ledger from its rows. */

export interface AuditDifference {
  readonly check:
    | 'amount'
    | 'sequence'
    /** An entry is earlier than the one before it in its account. */
    | 'time'
    | 'running_balance'
    | 'balance'
    | 'account_totals'
    | 'key_totals'
    | 'total'
    /** An expiry took more than was left of its credit, or before its time. */
    | 'expiry'
    /** The unspent part, the source or the expiry of a credit differs from what entries say. */
    | 'credit_left'
    /** What moved between two sides of the books differs from what entries say. */
    | 'sides'
    /** The figures of a closed month, or its place in their chain, are not as recomputed. */
    | 'closing'
    /** A statement differs from the one that was issued, or a number is missing. */
    | 'statement'
    /** An entry has no author in the trail, or the trail has a booking without its entry. */
    | 'origin'
    /** What a budget has used differs from the charges that it counts. */
    | 'budget'
    /** A spender is not the one that its id names. */
    | 'spender'
    /** An hourly sum of a spender differs from the sum of its charges. */
    | 'spender_usage'
    /** An hourly or daily total of usage differs from the sum of its charges. */
    | 'usage'
    /**
     * An archive's row in `ledger_archive`, its carried sums, its sums of usage and its mark in the
     * trail disagree.
     */
    | 'archive'
    /**
     * What an account, a key, a group, a member, a budget or a promotional code may do differs from
     * what the trail says.
     */
    | 'rights'
    /** The entry differs from the one that was sealed. */
    | 'seal'
    /** A block does not follow from the previous block or from the entries it lists. */
    | 'block';
  readonly accountId: string | undefined;
  /** The key of the charge or of the total at fault. */
  readonly keyId: string | undefined;
  /** The entry at fault, if the difference concerns a single entry. */
  readonly entryId: string | undefined;
  /** Amounts are in units of 10^-14 USD unless the text names a unit. */
  readonly expected: string;
  readonly found: string;
}

/**
 * The end of the hash chain. A copy kept outside the database proves later that no earlier entry
 * was changed.
 */
export interface SealHead {
  readonly block: bigint;
  /** SHA-256, in hexadecimal. */
  readonly hash: string;
}

export interface AuditOptions {
  /**
   * A copy of an earlier end of the chain, kept elsewhere. The ledger must still contain that
   * block.
   */
  readonly anchor?: SealHead | undefined;
  /** Called after each page of accounts. */
  readonly onProgress?: ((done: { readonly entries: number }) => void) | undefined;
}

export interface AuditReport {
  readonly accounts: number;
  readonly keys: number;
  readonly entries: number;
  /** Charges that were moved to archives. Their sums are included in the amounts below. */
  readonly archived: number;
  /** Units of 10^-14 USD. */
  readonly credited: bigint;
  readonly adjusted: bigint;
  readonly expired: bigint;
  readonly charged: bigint;
  /** Parts of charges that could not be charged: list prices add up to `charged + writtenOff`. */
  readonly writtenOff: bigint;
  readonly balances: bigint;
  /**
   * What each side of the books has, since its accounts name the sides of their entries. They sum
   * to 0. `balance:paid` and `balance:given` still include the charges: `charged` is what they paid
   * of these, less `redeemed`.
   */
  readonly sides: readonly { readonly side: string; readonly amount: bigint }[];
  /** `credited + adjusted - expired - charged - balances`: zero in a sound ledger. */
  readonly gap: bigint;
  /** Entries that the hash chain covers. */
  readonly sealed: number;
  /** Rows of the trail, and how many of them the hash chain covers. */
  readonly trail: number;
  readonly sealedTrail: number;
  readonly head: SealHead | undefined;
  /** Requests that may have used tokens but were neither charged nor released, see `HoldState`. */
  readonly orphanedHolds: number;
  readonly quarantined: number;
  readonly conflicts: number;
  /** The first 1,000, in the order in which the audit found them. */
  readonly differences: readonly AuditDifference[];
  readonly isSound: boolean;
}

/** A report has no more differences than this. */
export const MAX_DIFFERENCES = 1_000;
