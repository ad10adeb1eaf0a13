/**
 * One field of a hashed text. Its length in bytes precedes it, so that fields cannot run together.
 */
export function sealedField(text: string | null): string {
  return text === null ? '-,' : `${String(Buffer.byteLength(text))}:${text},`;
}
