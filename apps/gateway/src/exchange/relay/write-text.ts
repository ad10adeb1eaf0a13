/** Two ways to write to a response that cost Node less than its defaults (docs/performance). */

import type { ServerResponse } from 'node:http';

/** UTF-8 takes at most three bytes for each unit of a string. */
const MOST_BYTES_PER_UNIT = 3;
/** Texts are first written here, because their length in bytes is not known before. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * The form in which Node writes a piece most cheaply with the encoding `latin1`. ASCII text that is
 * sure to fit into `scratch` stays a string, because Node joins a string with the head. Other text,
 * and longer text, becomes UTF-8 bytes. Given such text as a string, Node would count its bytes,
 * reserve three bytes per character, and only then encode it.
 */
export function encoded(piece: Uint8Array | string): Uint8Array | string {
  if (typeof piece !== 'string') return piece;
  if (piece.length * MOST_BYTES_PER_UNIT > scratch.length) return Buffer.from(piece);
  const length = scratch.write(piece);
  return length === piece.length ? piece : Buffer.from(scratch.subarray(0, length));
}

/**
 * Node joins the head and a string body into one write. Up to 16 KB in total it encodes them on the
 * stack; a longer text needs an allocation.
 */
const MAX_JOINED_BYTES = 15_000;

/**
 * Ends a response with its only body. A small body is passed as a string, because Node then sends
 * it in one write with the head.
 *
 * @param body - as {@link encoded} returns it
 */
export function endWithBody(res: ServerResponse, body: Uint8Array | string): void {
  const isSentAsItIs = typeof body === 'string' || body.length > MAX_JOINED_BYTES;
  const joinable = isSentAsItIs
    ? body
    : Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1');
  res.end(joinable, 'latin1');
}
