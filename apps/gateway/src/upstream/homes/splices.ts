/** Replaces parts of a JSON document whose positions a scan has found. All other bytes stay. */

import type { JsonSpan } from '@gateway/translator/native';

/** Puts `bytes` in the place of the bytes from `start` to `end`, which may be none. */
export interface Splice extends JsonSpan {
  readonly bytes: Uint8Array;
}

/** @returns how many bytes the splices add; negative if they remove some */
export function addedBytes(splices: readonly Splice[]): number {
  return splices.reduce((sum, { start, end, bytes }) => sum + bytes.length - (end - start), 0);
}

/**
 * @param splices - In any order. They do not overlap.
 * @returns the pieces of the document, of which those that stay are not copied
 */
export function splice(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const each of splices.toSorted((a, b) => a.start - b.start)) {
    if (each.start > from) pieces.push(bytes.subarray(from, each.start));
    pieces.push(each.bytes);
    from = each.end;
  }
  if (from < bytes.length) pieces.push(bytes.subarray(from));
  return pieces;
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
