/**
 * Compares texts by their bytes in UTF-8, which is how both databases order ids.
 *
 * @returns a number below 0 if `a` comes first, above 0 if `b` does
 */
export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
