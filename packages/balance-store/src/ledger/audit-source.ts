/** The rows that an audit reads, page by page. */

import type { SealHead } from '../audit.js';

export interface AuditSource {
  head(): Promise<SealHead | undefined>;
  /** In the order of their ids. */
  keysAfter(keyId: string, limit: number): Promise<readonly KeyTotals[]>;
  /** How many entries the key's row counts. `undefined` if there is no such key. */
  seqOf(keyId: string): Promise<bigint | undefined>;
  /** In the order of key and number, from `position` on, exclusive. */
  entriesAfter(
    position: LedgerPosition,
    lastKeyId: string | undefined,
    limit: number,
  ): Promise<readonly EntryFields[]>;
  /** In the order of key and number, from `position` on, exclusive. */
  sealsAfter(
    position: LedgerPosition,
    until: { readonly lastKeyId: string | undefined; readonly block: bigint },
    limit: number,
  ): Promise<readonly SealFields[]>;
  /** Blocks above `after` and not above `last`, at most `limit`, each with its seals by key. */
  blocksAfter(after: bigint, last: bigint, limit: number): Promise<readonly BlockFields[]>;
  counts(): Promise<AuditCounts>;
}

export interface LedgerPosition {
  readonly keyId: string;
  readonly seq: bigint;
}

export interface KeyTotals {
  readonly id: string;
  readonly seq: bigint;
  readonly balance: bigint;
  readonly spent: bigint;
  readonly credited: bigint;
  readonly writtenOff: bigint;
  readonly uncovered: bigint;
}

export interface AuditCounts {
  readonly quarantined: number;
  readonly conflicts: number;
  readonly orphanedHolds: number;
}

/** Every column as text, in the order in which they are sealed. Hashes are hexadecimal. */
export type EntryFields = [
  id: string,
  keyId: string,
  seq: string,
  kind: string,
  delta: string,
  balanceAfter: string,
  writtenOff: string,
  inputHash: string,
  createdAtMs: string,
  model: string | null,
  input: string | null,
  output: string | null,
  cacheRead: string | null,
  cacheWrite: string | null,
  cacheWrite1h: string | null,
  inputRate: string | null,
  outputRate: string | null,
  cacheReadRate: string | null,
  cacheWrite5mRate: string | null,
  cacheWrite1hRate: string | null,
  endpoint: string | null,
  streamed: string | null,
  upstreamId: string | null,
  remarks: string | null,
  actor: string | null,
];

/** A range of one key's entries, with the digest of each. */
export interface SealFields {
  readonly keyId: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly block: bigint;
  readonly digests: Uint8Array;
}

export interface BlockFields {
  readonly block: bigint;
  readonly previousHash: Uint8Array;
  readonly hash: Uint8Array;
  readonly entries: number;
  readonly sealedAtMs: string;
  /** In the order of their keys. */
  readonly seals: readonly Pick<SealFields, 'keyId' | 'from' | 'to' | 'digests'>[];
}

/** No entry has a higher number: positions after all entries of one key. */
export const MAX_SEQ = 2n ** 63n - 1n;
