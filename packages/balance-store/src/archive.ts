/** Archives: the charges before a day move from the ledger into a file, and their sums stay. */

import type { Actor } from './account.js';

export interface ArchiveOptions {
  /** Charges before this time leave the ledger: 00:00 UTC of a day, at least three days ago. */
  readonly until: Date;
  /**
   * The file to write. If it exists, an earlier call for the same archive must have written it.
   */
  readonly file: string;
  readonly by: Actor;
  readonly onProgress?: ((progress: ArchiveProgress) => void) | undefined;
}

/**
 * `audit`: recomputes the ledger. `write`: writes the file. `verify`: reads the file again. `mark`:
 * records the sums and the mark of the archive. `delete`: deletes the charges.
 */
export interface ArchiveProgress {
  readonly stage: 'audit' | 'write' | 'verify' | 'mark' | 'delete';
  /**
   * Entries so far (stage `audit`) or charges; in the stage `mark`, 1 once the mark is recorded.
   */
  readonly done: number;
  /** `undefined` while it is not known. In the stage `write` it grows until all are found. */
  readonly total: number | undefined;
}

/** One archive, as the ledger records it. Amounts are in units of 10^-14 USD. */
export interface LedgerArchive {
  /** From 1, without gaps. */
  readonly number: number;
  readonly until: Date;
  readonly createdAt: Date;
  readonly charges: number;
  readonly charged: bigint;
  readonly writtenOff: bigint;
  /** The last block of the hash chain that seals one of the charges. */
  readonly lastBlock: bigint;
  readonly lastHash: string;
  /** SHA-256, in hexadecimal, of the rows that carry the sums. */
  readonly carryDigest: string;
  /** SHA-256, in hexadecimal, of the hourly totals of usage of the archived period. */
  readonly usageDigest: string;
  /** SHA-256, in hexadecimal, of the file up to its last line, which contains this digest. */
  readonly fileDigest: string;
}

export interface ArchiveReport {
  readonly archive: LedgerArchive;
  /**
   * The number of charges that this call deleted. Lower than `archive.charges` if an earlier call
   * deleted some.
   */
  readonly deleted: number;
}

/** The facts that a file states about itself, after everything in it was recomputed. */
export interface ArchiveFileSummary {
  readonly number: number;
  /** The hash of the first block of the ledger's chain, which identifies the ledger. */
  readonly ledger: string;
  /** `until` of the previous archive; `undefined` for the first. */
  readonly after: Date | undefined;
  readonly until: Date;
  readonly accounts: number;
  readonly charges: number;
  readonly charged: bigint;
  readonly writtenOff: bigint;
  readonly firstBlock: bigint;
  readonly lastBlock: bigint;
  readonly lastHash: string;
  readonly carryDigest: string;
  readonly digest: string;
}

export interface ArchiveComparison {
  readonly file: ArchiveFileSummary;
  /** The differences between the ledger and the file. Empty if the file belongs to the ledger. */
  readonly differences: readonly { readonly expected: string; readonly found: string }[];
}
