/**
 * One field of a hashed text. Its length in bytes precedes it, so that the ends of fields are
 * unambiguous.
 */
export function sealedField(text: string | null): string {
  return text === null ? '-,' : `${String(Buffer.byteLength(text))}:${text},`;
}
