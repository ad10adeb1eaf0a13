/**
 * Judges how fast requests arrive, so that slow clients are served and clients that hold
 * connections are not (docs/decisions/0056).
 *
 * A request has {@link ArrivalLimits.requestTimeoutMs} in all, whatever arrives. A body that is
 * read for a known key is judged by its progress instead: see {@link judgeByProgress}.
 */

import type { IncomingMessage } from 'node:http';

export interface ArrivalLimits {
  /** How long a request may take to arrive, unless its body is judged by its progress. */
  readonly requestTimeoutMs: number;
  /** How long an upload may be silent, or slower than {@link LEAST_BYTES_PER_SECOND}. */
  readonly uploadStallMs: number;
  /** How long an upload may take in all, however fast it is: it holds memory and a lease. */
  readonly uploadMaxMs: number;
}

/** 8 kbit/s, which even a phone with a bad connection reaches. */
export const LEAST_BYTES_PER_SECOND = 1_024;

interface Upload {
  /** How many bytes of the body have arrived. */
  readonly bytes: () => number;
  /** Called once, if the body arrives too slowly. */
  readonly onLate: () => void;
}

const uploads = new WeakMap<IncomingMessage, Upload>();

/**
 * From now on the rest of this request is judged by its progress. Call it for known keys only:
 * their uploads are bounded by their leases and their share of memory, and those of strangers are
 * not.
 *
 * @returns a function that ends this
 */
export function judgeByProgress(req: IncomingMessage, upload: Upload): () => void {
  uploads.set(req, upload);
  return () => {
    uploads.delete(req);
  };
}

/** One connection, and the request that arrives on it. */
export class Arrival {
  #req: IncomingMessage | undefined;
  #tookMs = 0;
  #pace: Pace | undefined;

  begin(req: IncomingMessage): void {
    this.#req = req;
    this.#tookMs = 0;
    this.#pace = undefined;
  }

  /**
   * @param elapsedMs - The time since the last look.
   * @returns whether the request is late and nobody was told: the caller must answer it
   */
  look(elapsedMs: number, limits: ArrivalLimits): boolean {
    const req = this.#req;
    if (req === undefined) return false;
    if (req.complete || req.destroyed) {
      this.#req = undefined;
      return false;
    }
    const upload = uploads.get(req);
    if (upload === undefined) {
      this.#tookMs += elapsedMs;
      if (this.#tookMs < limits.requestTimeoutMs) return false;
      this.#req = undefined;
      return true;
    }
    this.#pace ??= new Pace({ stallMs: limits.uploadStallMs, maxMs: limits.uploadMaxMs });
    if (this.#pace.isLate(elapsedMs, upload.bytes())) {
      uploads.delete(req);
      // What still arrives is discarded for a while, so that the client can read its answer.
      this.#tookMs = 0;
      upload.onLate();
    }
    return false;
  }
}

export interface PaceLimits {
  /** How long no bytes may move, or fewer than {@link LEAST_BYTES_PER_SECOND}. */
  readonly stallMs: number;
  /** How long it may take in all, however fast it is. */
  readonly maxMs: number;
}

/**
 * An upload, or an answer that a client reads, has a credit of time. It is spent by waiting and
 * refilled by bytes that move, but never above what it was at first, so that a fast beginning does
 * not pay for a long silence.
 */
export class Pace {
  readonly #limits: PaceLimits;
  #creditMs: number;
  #leftMs: number;
  #bytes = 0;

  constructor(limits: PaceLimits) {
    this.#limits = limits;
    this.#creditMs = limits.stallMs;
    this.#leftMs = limits.maxMs;
  }

  /** @param bytes - All that have moved so far. */
  isLate(elapsedMs: number, bytes: number): boolean {
    const earnedMs = ((bytes - this.#bytes) * 1_000) / LEAST_BYTES_PER_SECOND;
    this.#bytes = bytes;
    this.#leftMs -= elapsedMs;
    this.#creditMs = Math.min(this.#limits.stallMs, this.#creditMs - elapsedMs + earnedMs);
    return this.#creditMs <= 0 || this.#leftMs <= 0;
  }
}
