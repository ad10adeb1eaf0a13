import { unitsFromNumeric } from '../numeric.js';
import type { EntryFields } from './audit-source.js';

/**
 * The charge of the recorded tokens at the recorded rates. Does not use `chargeOf` of
 * `@gateway/billing`, because an audit that shared its code would share its errors.
 */
export function listPriceOf(row: EntryFields): bigint {
  const [input = 0n, output = 0n, read = 0n, write = 0n, write1h = 0n] = row
    .slice(12, 17)
    .map((text) => BigInt(text ?? 0));
  const [inputRate = 0n, outputRate = 0n, readRate = 0n, write5mRate = 0n, write1hRate = 0n] = row
    .slice(17, 22)
    .map((text) => unitsFromNumeric(text ?? '0'));
  return (
    input * inputRate +
    output * outputRate +
    read * readRate +
    (write - write1h) * write5mRate +
    write1h * write1hRate
  );
}
