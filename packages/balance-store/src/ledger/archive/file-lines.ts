/**
 * The lines of an archive's file, one JSON object each: a header, blocks of the chain, and an end
 * with sums and a digest. The blocks are those from the first to the last that seal an archived
 * charge. Each block is followed by the archived charges that it seals. Amounts are decimal text in
 * USD. Times in the header are ISO 8601; `sealed_at_ms` and the times of charges are milliseconds
 * since the epoch, as text. A charge is the list of its columns in their sealed form, so that a
 * digest covers all of it; the columns that a digest may leave out are missing if they are absent.
 */

import { ADDED_LEDGER, SEALED_LEDGER } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import type { BlockFields } from '../seals/hashes.js';

export const FORMAT = 'gateway-ledger-archive';
export const FORMAT_VERSION = 1;

export interface HeaderLine {
  readonly format: typeof FORMAT;
  readonly version: typeof FORMAT_VERSION;
  /** The hash of the first block of the ledger's chain, which identifies the ledger. */
  readonly ledger: string;
  readonly number: number;
  /** The end of the previous archive. */
  readonly after: string | null;
  readonly until: string;
}

export interface BlockLine {
  readonly block: string;
  readonly previous_hash: string;
  readonly hash: string;
  readonly entries: number;
  readonly sealed_at_ms: string;
  /** Account or trail, first and last entry number, digests in hexadecimal. */
  readonly seals: readonly (readonly [
    account: string,
    from: string,
    to: string,
    digests: string,
  ])[];
}

export interface ChargeLine {
  readonly charge: readonly (string | null)[];
}

/** A charge in the form of its line. */
export function chargeLineOf(charge: SealedLedger): ChargeLine {
  let length = charge.length;
  while (ADDED_LEDGER[length - 1] !== undefined && charge[length - 1] == null) length -= 1;
  return { charge: charge.slice(0, length) };
}

/** @returns `undefined` if the line is not that of a charge */
export function chargeOfLine({ charge }: Partial<ChargeLine>): SealedLedger | undefined {
  const columns = Object.keys(SEALED_LEDGER).length;
  const fewest = columns - Object.keys(ADDED_LEDGER).length;
  if (!Array.isArray(charge)) return undefined;
  const { length } = charge;
  if (length > columns || length < fewest) return undefined;
  const missing: null[] = Array.from({ length: columns - length }, () => null);
  return charge.concat(missing) as SealedLedger;
}

export interface EndLine {
  readonly end: {
    readonly accounts: number;
    readonly charges: number;
    readonly charged_usd: string;
    readonly written_off_usd: string;
    readonly carry_digest: string;
    /** SHA-256 of all lines before this one, with their line ends. */
    readonly digest: string;
  };
}

export function blockLineOf(block: BlockFields): BlockLine {
  return {
    block: block.block.toString(),
    previous_hash: hex(block.previousHash),
    hash: hex(block.hash),
    entries: block.entries,
    sealed_at_ms: block.sealedAtMs,
    seals: block.seals.map(({ accountId, from, to, digests }) => [
      accountId,
      from.toString(),
      to.toString(),
      hex(digests),
    ]),
  };
}

export function blockOfLine(line: BlockLine): BlockFields {
  return {
    block: BigInt(line.block),
    previousHash: Buffer.from(line.previous_hash, 'hex'),
    hash: Buffer.from(line.hash, 'hex'),
    entries: line.entries,
    sealedAtMs: line.sealed_at_ms,
    seals: line.seals.map(([accountId, from, to, digests]) => ({
      accountId,
      from: BigInt(from),
      to: BigInt(to),
      digests: Buffer.from(digests, 'hex'),
    })),
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
