import type { Prisma } from '../generated/client.js';
import { unitsFromNumeric } from '../numeric.js';

/** Reads USD into units of 10^-14 USD. `toFixed()` without an argument prints all digits. */
export function unitsFromDecimal(decimal: Prisma.Decimal): bigint {
  return unitsFromNumeric(decimal.toFixed());
}
