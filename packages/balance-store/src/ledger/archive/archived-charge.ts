/** Reads a charge in its sealed form, for the sums of an archive. */

import { unitsFromNumeric } from '../../numeric.js';
import type { EntryFields } from '../audit-source.js';
import type { CarriedCharge } from './carry.js';

export function carriedChargeOf(fields: EntryFields): CarriedCharge {
  const [, accountId, seq, , delta, balanceAfter, writtenOff, overCap, , createdAtMs, keyId] =
    fields;
  return {
    accountId,
    seq: BigInt(seq),
    keyId: keyId ?? '',
    delta: unitsFromNumeric(delta),
    writtenOff: unitsFromNumeric(writtenOff),
    overCap: unitsFromNumeric(overCap),
    createdAtMs: Number(createdAtMs),
    balanceAfter: unitsFromNumeric(balanceAfter),
  };
}
