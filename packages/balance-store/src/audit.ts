/** The result of recomputing the ledger from its rows. */

export interface AuditDifference {
  readonly check:
    'amount' | 'sequence' | 'running_balance' | 'key_balance' | 'key_totals' | 'total';
  readonly keyId: string | undefined;
  /** The entry at fault, when one is. */
  readonly entryId: string | undefined;
  readonly expected: string;
  readonly found: string;
}

export interface AuditReport {
  readonly keys: number;
  readonly entries: number;
  /** Units of 10^-14 USD. */
  readonly credited: bigint;
  readonly charged: bigint;
  readonly balances: bigint;
  /** `credited - charged - balances`: zero in a sound ledger. */
  readonly gap: bigint;
  readonly quarantined: number;
  readonly conflicts: number;
  /** At most 1,000, in ledger order. */
  readonly differences: readonly AuditDifference[];
  readonly isSound: boolean;
}
