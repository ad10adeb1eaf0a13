/** The trail records who changed what. It is append-only, and the ledger's hash chain seals it. */

export interface TrailEntry {
  /** Gap-free, from 1. */
  readonly seq: bigint;
  readonly createdAt: Date;
  /**
   * Who made the change: the name of an operator's token, the id of a key, or a fixed name such as
   * `cli`.
   */
  readonly actor: string;
  /** The address or network from which the change was requested; `null` if it is not known. */
  readonly address: string | null;
  /** The kind of change, such as `key.rotate`. */
  readonly action: string;
  readonly accountId: string | null;
  readonly keyId: string | null;
  /**
   * The values of the change, except those that may be about a person. For an updated field:
   * `before` and `after`.
   */
  readonly details: Readonly<Record<string, unknown>>;
  /**
   * The changed values that may be about a person: names, external ids, notes and metadata.
   * `erased` if they were erased.
   */
  readonly personal: Readonly<Record<string, unknown>> | 'erased' | undefined;
}

export interface TrailFilter {
  readonly limit: number;
  /** `seq` of the last entry of the previous page. */
  readonly before?: bigint | undefined;
  readonly accountId?: string | undefined;
  readonly keyId?: string | undefined;
}
