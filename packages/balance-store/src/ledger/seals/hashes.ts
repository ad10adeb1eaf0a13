/**
 * The hashes of the chain over the ledger. On PostgreSQL, SQL functions extend the chain, so its
 * checks are independent of them; the embedded ledger extends it with this file.
 */

import { createHash } from 'node:crypto';
import { ADDED_LEDGER } from '../../generated/tables.js';
import { sealedField } from './sealed-field.js';

/** Used in place of an account's id for the trail. */
export const TRAIL = 'trail';

export const DIGEST_BYTES = 16;

/** A range of one account's entries, or of the trail, with the digest of each. */
export interface SealFields {
  readonly accountId: string;
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
  /** In the order of their accounts. */
  readonly seals: readonly Pick<SealFields, 'accountId' | 'from' | 'to' | 'digests'>[];
}

/**
 * @param fields - All columns of an entry, or of a row of the trail, as text, in the order of the
 * SQL function `entry_digest` or `trail_digest`.
 */
export function digestOfEntry(fields: readonly (string | null)[]): Buffer {
  let text = '';
  for (const [index, field] of fields.entries()) {
    const added = ADDED_LEDGER[index];
    if (added === undefined) text += sealedField(field);
    // The name precedes the value, so that two added columns cannot be exchanged.
    else if (field !== null) text += sealedField(added) + sealedField(field);
  }
  return createHash('sha256').update(text).digest().subarray(0, DIGEST_BYTES);
}

export function hashOfBlock({
  previousHash,
  block,
  entries,
  sealedAtMs,
  seals,
}: Omit<BlockFields, 'hash'>): Buffer {
  const hash = createHash('sha256')
    .update(previousHash)
    .update([block.toString(), String(entries), sealedAtMs].map(sealedField).join(''));
  for (const { accountId, from, to, digests } of seals) {
    hash
      .update([accountId, from.toString(), to.toString()].map(sealedField).join(''))
      .update(digests);
  }
  return hash.digest();
}
