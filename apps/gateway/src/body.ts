/**
 * A request's body as one buffer, never larger than the cap, decompressed when the client compressed
 * it. Nothing beyond the cap is kept in memory.
 */

import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { errorCode } from './error-code.js';
import { noteBytes } from './garbage.js';
import type { Refusal } from './refusal.js';

export type BodyReading =
  | { readonly outcome: 'read'; readonly body: Buffer }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** The client went away before its request was complete: there is nobody to answer. */
  | { readonly outcome: 'gone' };

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

/** From here on a body comes in several pieces, which are garbage as soon as they are put together. */
const LARGE_BODY_BYTES = 64 * 1024;
/** One of so many equal parts of a body has to be there before memory is taken for all of it. */
const FAIR_PARTS = 4;

export async function readBody(
  req: IncomingMessage,
  limits: { readonly maxBytes: number },
): Promise<BodyReading> {
  const contentType = req.headers['content-type'];
  if (contentType === undefined || !/^application\/json\s*(;|$)/i.test(contentType)) {
    return refused(415, 'content-type: must be application/json');
  }
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBytes) {
    return tooLarge(limits.maxBytes);
  }
  const received = await collect(req, limits.maxBytes);
  if (received === 'gone') return { outcome: 'gone' };
  if (received === 'too_large') return tooLarge(limits.maxBytes);
  noteBytes(received.length);
  return decode(received, req.headers['content-encoding'], limits.maxBytes);
}

function collect(req: IncomingMessage, maxBytes: number): Promise<Buffer | 'too_large' | 'gone'> {
  return new Promise((resolve) => {
    // Closed while the credential was looked up: its events are over, none will come.
    if (req.destroyed) {
      resolve('gone');
      return;
    }
    const declared = Number(req.headers['content-length'] ?? 0);
    const pieces = new Pieces(declared >= LARGE_BODY_BYTES ? declared : 0);
    const finish = (result: Buffer | 'too_large' | 'gone'): void => {
      req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      if (pieces.bytes + chunk.length <= maxBytes) {
        pieces.add(chunk);
        return;
      }
      req.pause();
      finish('too_large');
    };
    const onEnd = (): void => {
      finish(pieces.whole());
    };
    const onGone = (): void => {
      finish('gone');
    };
    req.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}

/**
 * What has arrived of a body. Of one whose length is known each piece is let go of at once, as soon as a
 * fair part has come: whoever declares much and sends little must not take memory for all of it.
 */
class Pieces {
  bytes = 0;
  #pieces: Buffer[] = [];
  readonly #length: number;
  #whole: Buffer | undefined;

  /** @param length - As declared; 0 when not worth a buffer of that length. */
  constructor(length: number) {
    this.#length = length;
  }

  add(piece: Buffer): void {
    const at = this.bytes;
    this.bytes += piece.length;
    if (this.#whole !== undefined) {
      this.#whole.set(piece, at);
      return;
    }
    this.#pieces.push(piece);
    if (this.#length > 0 && this.bytes >= this.#length / FAIR_PARTS) this.#join();
  }

  #join(): void {
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(whole, at);
    this.#whole = whole;
    this.#pieces = [];
  }

  whole(): Buffer {
    // Node ends no request before all that it declared is there, and none later.
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.bytes);
    const [only] = this.#pieces;
    if (this.#pieces.length === 1 && only !== undefined) return only;
    return Buffer.concat(this.#pieces, this.bytes);
  }
}

async function decode(
  received: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Promise<BodyReading> {
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (name === 'identity' || name === '') return { outcome: 'read', body: received };
  if (!isDecodable(name)) {
    return refused(415, `content-encoding: must be one of ${Object.keys(DECODERS).join(', ')}`);
  }
  try {
    const body = await DECODERS[name](received, { maxOutputLength: maxBytes });
    return { outcome: 'read', body };
  } catch (error) {
    if (errorCode(error) === 'ERR_BUFFER_TOO_LARGE') return tooLarge(maxBytes);
    return refused(400, `content-encoding: the body is not valid ${name}`);
  }
}

function isDecodable(name: string): name is keyof typeof DECODERS {
  return Object.hasOwn(DECODERS, name);
}

function refused(status: number, message: string): BodyReading {
  return { outcome: 'refused', refusal: { status, type: 'invalid_request_error', message } };
}

function tooLarge(maxBytes: number): BodyReading {
  const message = `request body: exceeds the maximum of ${String(maxBytes)} bytes`;
  return { outcome: 'refused', refusal: { status: 413, type: 'request_too_large', message } };
}
