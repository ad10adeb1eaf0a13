/**
 * Sends one response to the client.
 *
 * Back-pressure: while the client reads slowly, unsent bytes are kept up to a limit, if there is
 * memory for them; beyond it the upstream is paused. The pauses of one response have a budget. A
 * client that exceeds it is disconnected: an upstream that is blocked for long breaks the stream,
 * and nobody is charged for a broken stream.
 *
 * After a disconnect, `relay.ts` still reads the upstream's response, for at most `drainMs`, and
 * charges it if it is complete.
 *
 * Once the end is written, `http/departures.ts` judges how the client reads.
 */

import type { Response } from 'express';
import { SMALL_BYTES } from '../../base/byte-budget.js';
import type { ByteBudget, ByteReservation } from '../../base/byte-budget.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { waitForClientOf } from '../../http/departures.js';
import { sendRefusal } from '../../http/refusal.js';
import type { RefusalContext } from '../../http/refusal.js';
import type { StreamOutput } from '../../http/response-format.js';
import type { Delivery } from '../../ledger/delivery.js';
import { encoded, endWithBody } from './write-text.js';

export interface ClientPatience {
  /** How long, in total, a client that reads slowly may pause the upstream. */
  readonly clientPausesMs: number;
}

export interface ClientResponseOptions {
  readonly accountId: string;
  readonly patience: ClientPatience;
  /** Memory for bytes that the client has not read. */
  readonly memory: ByteBudget;
  readonly upstream: { pause(): void; resume(): void };
  /** Called once if the client closes its connection before its response is complete. */
  readonly onLeave: () => void;
}

/** Unsent bytes at which the upstream is paused. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** How often a paused response is checked. */
const PAUSE_CHECK_MS = 100;

export class ClientResponse {
  readonly #res: Response;
  readonly #options: ClientResponseOptions;
  /**
   * Output of this tick. It is sent together at the end of the tick, or with the end of the
   * response.
   */
  #queue: Uint8Array[] = [];
  #hasLeft = false;
  /** Bytes of the response that were written, and those for which the client had left. */
  #writtenBytes = 0;
  #missedBytes = 0;
  /** Of the written bytes, those that have left this process, counted by whole writes. */
  #sentBytes = 0;
  #isUpstreamOver = false;
  #unsent: ByteReservation | undefined;
  #pauseTimer: NodeJS.Timeout | undefined;
  #pausedMs = 0;

  constructor(res: Response, options: ClientResponseOptions) {
    this.#res = res;
    this.#options = options;
    res.on('close', this.#onClose);
    res.on('error', ignoreSocketError);
    // The response to a pipelined request has no socket while an earlier response is being sent. If
    // the connection closes meanwhile, Node 22 does not tell this response.
    if (res.socket === null) res.req.socket.once('close', this.#onClose);
    if (res.destroyed) this.#onClose();
  }

  /** Whether the client has gone. Nothing is sent then. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /**
   * How much the client got, if it has left.
   *
   * @param rest - The end of the response, which was not written yet.
   */
  deliveryWith(rest: StreamOutput | string): Delivery | undefined {
    if (!this.#hasLeft) return undefined;
    const queued = bytesOf(this.#queue) + bytesOf(rest);
    const bytes = this.#writtenBytes + this.#missedBytes + queued;
    return { sentBytes: this.#sentBytes, bytes };
  }

  startStream(headers: Readonly<Record<string, string>>): void {
    this.#res.writeHead(200, { ...headers, ...STREAM_HEADERS });
  }

  /**
   * Sends output at the end of this tick, with all other output of the tick. If the upstream's
   * response ends in this tick, the output waits for {@link flush} or {@link endStream}, so that it
   * is sent in one write with the end.
   */
  queue(output: StreamOutput): void {
    if (this.#hasLeft) {
      this.#missedBytes += bytesOf(output);
      return;
    }
    if (this.#queue.length === 0) process.nextTick(this.#onTickEnd);
    this.#add(output);
  }

  flush(): void {
    const pieces = this.#queue;
    this.#queue = [];
    for (const piece of pieces) this.write(piece);
  }

  write(piece: Uint8Array): void {
    if (this.#hasLeft) {
      this.#missedBytes += piece.length;
      return;
    }
    this.#writtenBytes += piece.length;
    // Once the client has left, Node no longer knows how many bytes were waiting.
    const isRoomy = this.#res.write(piece, (error) => {
      if (error == null) this.#sentBytes += piece.length;
    });
    if (isRoomy) this.#unsent?.release();
    else if (!this.#isUpstreamOver) this.#holdBack();
  }

  /**
   * Must be called when the upstream has nothing more to send. From then on the client cannot pause
   * it.
   */
  upstreamIsOver(): void {
    this.#isUpstreamOver = true;
    this.#endPause();
  }

  endStream(tail: StreamOutput): void {
    if (!this.#hasLeft) {
      this.#add(tail);
      const last = this.#queue.pop();
      this.flush();
      this.#res.end(last);
    }
    this.#releaseWhenSent();
  }

  sendBody(
    body: Uint8Array | string,
    {
      status,
      headers,
      memory,
    }: {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** That of the body, unless it is small. Released once it is sent. */
      readonly memory: ByteReservation | undefined;
    },
  ): void {
    this.#unsent = memory;
    if (!this.#hasLeft) {
      const written = encoded(body);
      this.#res.writeHead(status, {
        ...headers,
        'content-type': 'application/json',
        'content-length': written.length,
      });
      endWithBody(this.#res, written);
    }
    this.#releaseWhenSent();
  }

  refuse(refusal: Refusal, context: RefusalContext): void {
    if (!this.#hasLeft) sendRefusal(this.#res, refusal, context);
  }

  #add(output: StreamOutput): void {
    if (output instanceof Uint8Array) this.#queue.push(output);
    else this.#queue.push(...output);
  }

  readonly #onTickEnd = (): void => {
    if (!this.#isUpstreamOver) this.flush();
  };

  readonly #onClose = (): void => {
    this.#res.req.socket.off('close', this.#onClose);
    if (this.#hasLeft || this.#res.writableFinished) return;
    this.#hasLeft = true;
    this.#unsent?.release();
    this.#endPause();
    this.#options.onLeave();
  };

  /** The client is slower than the upstream: keeps the unsent bytes, or pauses the upstream. */
  #holdBack(): void {
    const { upstream, patience } = this.#options;
    if (this.#pauseTimer !== undefined || this.#keepsUnsent()) return;
    upstream.pause();
    let since = performance.now();
    this.#pauseTimer = setInterval(() => {
      const now = performance.now();
      // A late timer means that this process is busy, which is not the client's fault.
      this.#pausedMs += Math.min(now - since, 2 * PAUSE_CHECK_MS);
      since = now;
      const unsent = this.#res.writableLength;
      if (unsent === 0 || (unsent <= MAX_UNSENT_BYTES / 2 && this.#keepsUnsent())) this.#endPause();
      else if (this.#pausedMs >= patience.clientPausesMs) this.#disconnect();
    }, PAUSE_CHECK_MS);
  }

  /**
   * Not `res.destroy()`: the response to a pipelined request has no socket while an earlier one is
   * being sent. Node would keep its bytes, send them afterwards, and never end the response.
   */
  #disconnect(): void {
    this.#res.req.socket.destroy();
  }

  /**
   * Reserves memory for the unsent bytes, if there is any: also for more than may be kept, because
   * a single output can be that large.
   *
   * @returns whether the unsent bytes may be kept
   */
  #keepsUnsent(): boolean {
    const bytes = this.#res.writableLength;
    this.#unsent ??= this.#options.memory.open(this.#options.accountId);
    return this.#unsent.resize(bytes) === 'reserved' && bytes <= MAX_UNSENT_BYTES;
  }

  #endPause(): void {
    if (this.#pauseTimer === undefined) return;
    clearInterval(this.#pauseTimer);
    this.#pauseTimer = undefined;
    // Resumed after the response has ended as well, because no other request can use the
    // upstream's connection while it is paused.
    this.#options.upstream.resume();
  }

  #releaseWhenSent(): void {
    const unsentBytes = this.#hasLeft ? 0 : this.#res.writableLength;
    if (unsentBytes === 0) {
      this.#unsent?.release();
      return;
    }
    if (unsentBytes >= SMALL_BYTES) this.#keepsUnsent();
    const unsent = this.#unsent;
    waitForClientOf(this.#res);
    this.#res.once('close', () => {
      unsent?.release();
    });
  }
}

function bytesOf(output: StreamOutput | string): number {
  if (typeof output === 'string') return Buffer.byteLength(output);
  if (output instanceof Uint8Array) return output.length;
  return output.reduce((sum, { length }) => sum + length, 0);
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * A broken socket also emits `close`, which is handled. Without a listener, `error` would end the
 * process.
 */
function ignoreSocketError(): void {
  // The error is ignored: see above.
}
