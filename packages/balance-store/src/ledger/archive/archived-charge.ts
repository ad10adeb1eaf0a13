/** Reads a charge in its sealed form, for the sums of an archive. */

import { SEALED_LEDGER as AT } from '../../generated/tables.js';
import type { SealedLedger } from '../../generated/tables.js';
import { unitsFromNumeric } from '../../numeric.js';
import type { CarriedCharge } from './carry.js';

export function carriedChargeOf(fields: SealedLedger): CarriedCharge {
  return {
    accountId: fields[AT.accountId],
    seq: BigInt(fields[AT.seq]),
    keyId: fields[AT.keyId] ?? '',
    delta: unitsFromNumeric(fields[AT.delta]),
    writtenOff: unitsFromNumeric(fields[AT.writtenOff]),
    overCap: unitsFromNumeric(fields[AT.overCap]),
    createdAtMs: Number(fields[AT.createdAt]),
    balanceAfter: unitsFromNumeric(fields[AT.balanceAfter]),
  };
}
