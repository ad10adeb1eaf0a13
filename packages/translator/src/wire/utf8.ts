/** Checks UTF-8 character by character. https://encoding.spec.whatwg.org/#utf-8-decoder */

/** How many bytes the character beyond ASCII at `at` takes; 0 if it is not valid UTF-8. */
export function characterLength(bytes: Uint8Array, at: number): 0 | 2 | 3 | 4 {
  const first = bytes[at] as number;
  if (first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return isWithin(bytes[at + 1]) ? 2 : 0;
  if (first < 0xf0) {
    // No longer form than needed, and no surrogates.
    const isShort = first === 0xe0 && (bytes[at + 1] as number) < 0xa0;
    const isSurrogate = first === 0xed && (bytes[at + 1] as number) > 0x9f;
    return !isShort && !isSurrogate && isWithin(bytes[at + 1]) && isWithin(bytes[at + 2]) ? 3 : 0;
  }
  const isShort = first === 0xf0 && (bytes[at + 1] as number) < 0x90;
  const isBeyond = first === 0xf4 && (bytes[at + 1] as number) > 0x8f;
  return !isShort &&
    !isBeyond &&
    isWithin(bytes[at + 1]) &&
    isWithin(bytes[at + 2]) &&
    isWithin(bytes[at + 3])
    ? 4
    : 0;
}

/** Whether a byte may stand within a character. */
function isWithin(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
