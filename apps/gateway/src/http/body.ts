/**
 * Reads a request's body into one buffer, and decompresses it if the client compressed it. A body
 * is never larger than the cap. Its memory is reserved as it arrives, so that the bodies of an
 * account, and of the whole process, stay within their budgets. A declared length reserves nothing,
 * because a client may declare a body that it never sends.
 */

import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { SMALL_BYTES } from '../base/byte-budget.js';
import type { ByteReservation, ReservationOutcome } from '../base/byte-budget.js';
import { errorCode } from '../base/error-code.js';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { countBodyBytes } from '../base/heap-tuning.js';
import { judgeByProgress } from './arrivals.js';
import { LATE_REQUEST, brokenStatusOn } from './broken-request.js';
import { badRequest, waitOf } from './refusal.js';

export type BodyReading =
  | { readonly outcome: 'read'; readonly body: Buffer }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** The client disconnected before its request was complete, so no response can be sent. */
  | { readonly outcome: 'gone' };

const DECODERS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

/**
 * From this declared length on, a body is copied into one buffer while it arrives (see
 * {@link Pieces}). A smaller one has few chunks, which are joined at its end.
 */
const LARGE_BODY_BYTES = SMALL_BYTES;
/** Memory for a whole body is allocated once 1/4 of it has arrived (see {@link Pieces}). */
const ALLOCATION_DIVISOR = 4;
/** Memory for a large body is reserved in steps of this size, while it arrives. */
const RESERVATION_STEP_BYTES = 64 * 1024;
/**
 * Decompression may enlarge a body by this factor, or up to {@link FREE_INFLATION_BYTES} if that is
 * more. Real conversations grow by a factor of 10 to 30, so a body beyond this limit is an attack.
 */
const MAX_INFLATION = 200;
const FREE_INFLATION_BYTES = 1024 * 1024;

export interface BodyLimits {
  /** The limit for a body as it is received, and again after decompression. */
  readonly maxBytes: number;
  /** The body's memory is reserved here, and stays reserved after it has been read. */
  readonly memory: ByteReservation;
  /**
   * Sends `100 Continue` if the client waits for it. Called only if there is memory for the
   * declared length, so a client that is refused never sends its body.
   */
  readonly invite: () => void;
}

/**
 * Checks the headers. Called before any of the body is read.
 *
 * @returns the refusal, if the headers alone are reason enough
 */
export function checkBodyHeaders(
  req: IncomingMessage,
  { maxBytes }: Pick<BodyLimits, 'maxBytes'>,
): Refusal | undefined {
  const contentType = req.headers['content-type'];
  if (contentType === undefined || !/^application\/json\s*(;|$)/i.test(contentType)) {
    return newRefusal('unsupported_media_type');
  }
  if (!isDecodable(encodingOf(req))) {
    const names = Object.keys(DECODERS).join(', ');
    return newRefusal('unsupported_encoding', { names });
  }
  return declaredBytes(req) > maxBytes ? tooLarge(maxBytes) : undefined;
}

/**
 * Reads a body whose headers were checked, for a known key: however slow the client is, if the body
 * makes progress.
 */
export async function readBody(req: IncomingMessage, limits: BodyLimits): Promise<BodyReading> {
  const received = await collect(req, limits);
  if (!Buffer.isBuffer(received)) {
    return received === 'gone' ? { outcome: 'gone' } : { outcome: 'refused', refusal: received };
  }
  countBodyBytes(received.length);
  const encoding = encodingOf(req);
  if (encoding === 'identity') return { outcome: 'read', body: received };
  return decode(received, encoding as keyof typeof DECODERS, limits);
}

function collect(
  req: IncomingMessage,
  { maxBytes, memory, invite }: BodyLimits,
): Promise<Buffer | Refusal | 'gone'> {
  return new Promise((resolve) => {
    // The connection was closed while the key was looked up, so no event will follow. Or the
    // request was answered, because it did not arrive in time.
    if (req.destroyed || brokenStatusOn(req.socket) !== undefined) {
      resolve('gone');
      return;
    }
    const declared = declaredBytes(req);
    const refused = refusalOf(memory.check(declared));
    if (refused !== undefined) {
      resolve(refused);
      return;
    }
    invite();
    let reserved = 0;
    const pieces = new Pieces(declared >= LARGE_BODY_BYTES ? declared : 0);
    const stopJudging = req.complete
      ? undefined
      : judgeByProgress(req, {
          bytes: () => pieces.bytes,
          onLate() {
            stop(LATE_REQUEST);
          },
        });
    const finish = (result: Buffer | Refusal | 'gone'): void => {
      stopJudging?.();
      req.off('data', onData).off('end', onEnd).off('close', onGone).off('error', onGone);
      resolve(result);
    };
    const onData = (chunk: Buffer): void => {
      const bytes = pieces.bytes + chunk.length;
      let refusal = bytes > maxBytes ? tooLarge(maxBytes) : undefined;
      const needed = memoryFor(bytes, declared);
      if (refusal === undefined && needed > reserved) {
        reserved = needed;
        refusal = reserve(memory, needed);
      }
      if (refusal === undefined) {
        pieces.add(chunk);
        return;
      }
      stop(refusal);
    };
    const stop = (refusal: Refusal): void => {
      req.pause();
      finish(refusal);
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
 * The memory of a body of which `bytes` have arrived: exactly these bytes while they are few, then
 * whole steps, and the declared length once {@link Pieces} allocates it.
 */
function memoryFor(bytes: number, declared: number): number {
  if (declared >= LARGE_BODY_BYTES && isAllocated(bytes, declared)) return declared;
  if (bytes < SMALL_BYTES) return bytes;
  return Math.ceil(bytes / RESERVATION_STEP_BYTES) * RESERVATION_STEP_BYTES;
}

function isAllocated(bytes: number, declared: number): boolean {
  return bytes >= declared / ALLOCATION_DIVISOR;
}

/**
 * The chunks of a body that have arrived. If a large length is declared, memory for the whole body
 * is allocated once a quarter has arrived. From then on each chunk is copied there and freed. The
 * memory is not allocated earlier, because a client that declares a large body but sends little
 * must not occupy it.
 */
class Pieces {
  bytes = 0;
  #pieces: Buffer[] = [];
  readonly #length: number;
  #whole: Buffer | undefined;

  /**
   * @param length - The declared length. 0 if none was declared, or if the body is too small for a
   * buffer of its own: the chunks are then joined at the end.
   */
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
    if (this.#length > 0 && isAllocated(this.bytes, this.#length)) this.#join();
  }

  #join(): void {
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let at = 0;
    for (const piece of this.#pieces) at += piece.copy(whole, at);
    this.#whole = whole;
    this.#pieces = [];
  }

  whole(): Buffer {
    // Node emits `end` only once the declared length has arrived, so this is the whole buffer. The
    // bounds make sure that memory that was never written could not be returned.
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.bytes);
    const [only] = this.#pieces;
    if (this.#pieces.length === 1 && only !== undefined) return only;
    return Buffer.concat(this.#pieces, this.bytes);
  }
}

async function decode(
  received: Buffer,
  encoding: keyof typeof DECODERS,
  { maxBytes, memory }: BodyLimits,
): Promise<BodyReading> {
  const inflated = Math.max(FREE_INFLATION_BYTES, received.length * MAX_INFLATION);
  const mostBytes = Math.min(maxBytes, inflated);
  const unreserved = reserve(memory, received.length + mostBytes);
  // If there is no memory for the most that the body may become, it is read if it stays small.
  const maxOutputLength =
    unreserved === undefined ? mostBytes : Math.min(mostBytes, SMALL_BYTES - 1 - received.length);
  if (unreserved !== undefined && maxOutputLength <= 0) return refused(unreserved);
  const refusal = unreserved && reserve(memory, received.length + maxOutputLength);
  if (refusal !== undefined) return refused(refusal);
  try {
    const body = await DECODERS[encoding](received, { maxOutputLength });
    memory.resize(body.length);
    return { outcome: 'read', body };
  } catch (error) {
    if (errorCode(error) !== 'ERR_BUFFER_TOO_LARGE') {
      const message = `content-encoding: the body is not valid ${encoding}`;
      return refused(badRequest(message));
    }
    if (unreserved !== undefined) return refused(unreserved);
    return refused(maxOutputLength === maxBytes ? tooLarge(maxBytes) : INFLATES_TOO_MUCH);
  }
}

/** @returns the refusal, if the memory cannot be reserved */
export function reserve(memory: ByteReservation, bytes: number): Refusal | undefined {
  return refusalOf(memory.resize(bytes));
}

function refusalOf(outcome: ReservationOutcome): Refusal | undefined {
  switch (outcome) {
    case 'reserved':
      return undefined;
    case 'account_full':
      return newRefusal('account_bytes_limit', waitOf(1_000));
    case 'full':
      return OUT_OF_MEMORY;
  }
}

function declaredBytes(req: IncomingMessage): number {
  return Number(req.headers['content-length'] ?? 0);
}

function encodingOf(req: IncomingMessage): string {
  const name = req.headers['content-encoding']?.trim().toLowerCase() ?? '';
  return name === '' ? 'identity' : name;
}

function isDecodable(encoding: string): boolean {
  return encoding === 'identity' || Object.hasOwn(DECODERS, encoding);
}

function refused(refusal: Refusal): BodyReading {
  return { outcome: 'refused', refusal };
}

function tooLarge(maxBytes: number): Refusal {
  return newRefusal('body_too_large', { bytes: maxBytes });
}

const INFLATES_TOO_MUCH = newRefusal('inflates_too_much', { times: MAX_INFLATION });

const OUT_OF_MEMORY = newRefusal('memory_full');
