/** The trail: who changed what. Append-only, and sealed by the ledger's hash chain. */

export interface TrailEntry {
  /** Gap-free, from 1. */
  readonly seq: bigint;
  readonly createdAt: Date;
  readonly actor: string;
  readonly address: string | null;
  /** Such as `key.rotate`. */
  readonly action: string;
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** The changed values, before and after, except those that may be about a person. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Names, notes and metadata, before and after. `erased` if they were erased. */
  readonly personal: Readonly<Record<string, unknown>> | 'erased' | undefined;
}

export interface TrailFilter {
  readonly limit: number;
  /** The number of the last entry of the previous page. */
  readonly before?: bigint | undefined;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
}
