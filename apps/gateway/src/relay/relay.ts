/**
 * One exchange with the upstream, from the sent request to the last byte at the client.
 *
 * The usage object is the bill, so its charge is durable before the bytes that carry it leave: the
 * whole body of a plain response, the final usage event and what follows it in a stream. Everything
 * before flows as it comes; what was read together with the end leaves with it, unless the ledger is
 * slow. A client that leaves changes nothing: the upstream is read to its end and the exact usage charged.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Response } from 'express';
import type { Dispatcher } from 'undici';
import { formatUsd } from '@gateway/billing';
import type { ModelPrice } from '@gateway/billing';
import type { StreamEnd, StreamPipe, UsageReading } from '@gateway/translator';
import type { ByteBudget, ByteReservation } from '../byte-budget.js';
import { countBodyBytes } from '../heap-tuning.js';
import { errorCode } from '../error-code.js';
import { requestIdHeaders, retryHeaders, sendRefusal } from '../refusal.js';
import type { Refusal } from '../refusal.js';
import type { UpstreamClient, UpstreamRequest } from '../upstream/client.js';
import { readUpstreamFailure, refusalOfConnectionError } from '../upstream/errors.js';
import { RESPONSE_UNUSABLE, quarantine, settle } from './settle-charge.js';
import type { SettledResponse, SettleServices, Charge, LossReason } from './settle-charge.js';
import type { ResponseFormat, StreamOutput } from './format.js';

export interface Exchange {
  readonly requestId: string;
  readonly keyId: string;
  readonly price: ModelPrice;
  readonly upstream: UpstreamRequest;
  readonly format: ResponseFormat;
  readonly res: Response;
}

export interface RelayServices extends SettleServices {
  /** Takes the bytes of responses that clients have not read. */
  readonly memory: ByteBudget;
  readonly upstream: UpstreamClient;
  readonly now: () => number;
  readonly patience: RelayPatience;
}

export interface RelayPatience {
  /** How long an upstream is read after its client left. */
  readonly drainMs: number;
  /** How long a client that has all of its response may take no byte of what is still unsent. */
  readonly clientStallMs: number;
  /**
   * How long, in total, a client that reads slowly may make the upstream wait. An upstream that is blocked
   * breaks off sooner or later, and a broken stream is charged to nobody.
   */
  readonly clientPausesMs: number;
}

export const RELAY_PATIENCE: RelayPatience = {
  drainMs: 600_000,
  clientStallMs: 120_000,
  clientPausesMs: 30_000,
};

export interface ExchangeReport {
  /** Status sent, or the one that would have been sent to a client that had left. */
  readonly status: number;
  readonly streamed: boolean;
  readonly clientLeft: boolean;
  /** Absent if nothing was charged. */
  readonly charged: Charge | undefined;
  readonly loss: LossReason | undefined;
  readonly operatorMustAct: boolean;
  /** For the operator: why the upstream's part failed. Holds no text of the upstream's. */
  readonly fault: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamRequestId: string | undefined;
  /** From sending the request to the first byte of the response's body. */
  readonly upstreamFirstByteMs: number | undefined;
}

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const KEEP_ALIVE_MS = 10_000;
/** Unsent bytes of one response before its upstream is paused, if there is memory for them. */
const MAX_UNSENT_BYTES = 1024 * 1024;
/** How often a paused upstream is looked after. */
const PAUSE_CHECK_MS = 100;
/** In {@link countBodyBytes}: for the same bytes more requests are in flight than with prompts, and a collection goes through those. */
const WEIGHT_OF_ANSWERS = 0.5;
/** A charge is usually durable before. After this time, what need not wait for it does not. */
const PROMPT_CHARGE_MS = 100;

/**
 * Resolves when the exchange is over: the charge is durable or there is none, and the client has been sent
 * everything or has left. The key's lease is to be held until then.
 */
export function relay(exchange: Exchange, services: RelayServices): Promise<ExchangeReport> {
  return new Promise((resolve, reject) => {
    const running = new Relay(exchange, services, resolve, reject);
    services.upstream.send(exchange.upstream, running);
  });
}

class Relay implements Dispatcher.DispatchHandler {
  readonly #exchange: Exchange;
  readonly #services: RelayServices;
  readonly #resolve: (report: ExchangeReport) => void;
  readonly #reject: (error: unknown) => void;
  readonly #sentAt: number;

  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #firstByteAt: number | undefined;
  /** Set while the response is an event stream. */
  #pipe: StreamPipe<Uint8Array, StreamOutput> | undefined;
  /** What may leave of a stream, and does when all that has arrived is read: with the end, if that came too. */
  #ready: (Uint8Array | string)[] = [];
  /** Collects any other response. */
  #chunks: Buffer[] = [];
  #bytes = 0;
  #fault: string | undefined;
  /** The upstream's part is over: nothing that still arrives matters. */
  #upstreamDone = false;
  #clientLeft = false;
  /** Reserves memory for what a slow client has not read. */
  #unsent: ByteReservation | undefined;
  /** Runs while a slow client makes the upstream wait. */
  #pause: NodeJS.Timeout | undefined;
  /** How long it has made it wait so far. */
  #pausedMs = 0;
  /** Runs after the client left. */
  #draining: NodeJS.Timeout | undefined;

  constructor(
    exchange: Exchange,
    services: RelayServices,
    resolve: (report: ExchangeReport) => void,
    reject: (error: unknown) => void,
  ) {
    this.#exchange = exchange;
    this.#services = services;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#sentAt = services.now();
    exchange.res.on('close', this.#onClientClose);
    exchange.res.on('error', ignoreSocketError);
    if (exchange.res.destroyed) this.#onClientClose();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#controller = controller;
    this.#status = status;
    this.#headers = headers;
    if (status === 200 && headers['content-type']?.startsWith('text/event-stream') === true) {
      this.#pipe = this.#exchange.format.createPipe();
      this.#beginStream();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#upstreamDone) {
      // An upstream that goes on after its end would otherwise be read for ever.
      controller.abort(new Error('the response went on after its end'));
      return;
    }
    countBodyBytes(chunk.length * WEIGHT_OF_ANSWERS);
    this.#firstByteAt ??= this.#services.now();
    if (this.#pipe === undefined) {
      this.#collect(chunk);
      return;
    }
    const output = this.#pipe.push(chunk);
    if (output.length > 0) {
      if (this.#ready.length === 0) process.nextTick(this.#onAllRead);
      this.#addReady(output);
    }
    if (this.#pipe.isFinished) this.#finishUpstream();
  }

  onResponseEnd(): void {
    this.#finishUpstream();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#upstreamDone) return;
    this.#fault = faultOf(error);
    if (this.#pipe !== undefined) {
      this.#finishUpstream();
      return;
    }
    this.#upstreamDone = true;
    this.#refuse(refusalOfConnectionError(error), {});
  }

  #collect(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_RESPONSE_BYTES) {
      this.#chunks.push(chunk);
      return;
    }
    this.#upstreamDone = true;
    this.#chunks = [];
    this.#controller?.abort(new Error('the response exceeds the cap'));
    this.#refuse(RESPONSE_UNUSABLE, { loss: 'too_large' });
  }

  #beginStream(): void {
    const { res, requestId } = this.#exchange;
    const ids = requestIdHeaders(requestId, this.#upstreamRequestId());
    res.writeHead(200, { ...ids, ...STREAM_HEADERS });
  }

  readonly #onAllRead = (): void => {
    if (!this.#upstreamDone) this.#writeReady();
  };

  #addReady(output: StreamOutput): void {
    if (typeof output === 'string') this.#ready.push(output);
    else this.#ready.push(...output);
  }

  #writeReady(): void {
    const ready = this.#ready;
    this.#ready = [];
    for (const piece of ready) this.#write(piece);
  }

  /** Sends. If the client is slow, bytes are kept up to a limit, and then the upstream is paused. */
  #write(piece: Uint8Array | string): void {
    if (this.#clientLeft) return;
    const { res } = this.#exchange;
    if (res.write(piece, encodingOf(piece))) {
      this.#unsent?.release();
      return;
    }
    if (this.#upstreamDone) return;
    if (this.#pause !== undefined || this.#keepsUnsent(res.writableLength)) return;
    this.#controller?.pause();
    let since = performance.now();
    this.#pause = setInterval(() => {
      const now = performance.now();
      // A busy gateway looks late, which is not the client's fault.
      this.#pausedMs += Math.min(now - since, 2 * PAUSE_CHECK_MS);
      since = now;
      if (res.writableLength <= MAX_UNSENT_BYTES / 2) this.#endPause();
      else if (this.#pausedMs >= this.#services.patience.clientPausesMs) res.destroy();
    }, PAUSE_CHECK_MS);
  }

  #keepsUnsent(bytes: number): boolean {
    if (bytes > MAX_UNSENT_BYTES) return false;
    this.#unsent ??= this.#services.memory.open(this.#exchange.keyId);
    return this.#unsent.resize(bytes) === 'reserved';
  }

  #endPause(): void {
    if (this.#pause === undefined) return;
    clearInterval(this.#pause);
    this.#pause = undefined;
    // Also at the end: its last bytes may be unread, and no other request gets the connection before.
    this.#controller?.resume();
  }

  readonly #onClientClose = (): void => {
    if (this.#clientLeft || this.#exchange.res.writableFinished) return;
    this.#clientLeft = true;
    this.#unsent?.release();
    if (this.#upstreamDone) return;
    this.#endPause();
    this.#draining = setTimeout(
      () => this.#controller?.abort(new Error('drained long enough')),
      this.#services.patience.drainMs,
    );
  };

  #finishUpstream(): void {
    if (this.#upstreamDone) return;
    this.#upstreamDone = true;
    this.#endPause();
    const work =
      this.#pipe === undefined ? this.#finishBody() : this.#finishStream(this.#pipe.end());
    work.catch((error: unknown) => {
      this.#reject(error);
    });
  }

  async #finishStream(end: StreamEnd<StreamOutput>): Promise<void> {
    if (end.outcome === 'failed') {
      this.#closeStream(end.tail, { loss: end.cause });
      return;
    }
    const { format, requestId } = this.#exchange;
    let timer = setTimeout(() => {
      this.#writeReady();
      timer = setInterval(() => {
        this.#write(format.keepAlive);
      }, KEEP_ALIVE_MS);
    }, PROMPT_CHARGE_MS);
    const bill = await this.#settle(end.usage, end.messageId).finally(() => {
      clearTimeout(timer);
    });
    if (bill.outcome === 'charged') {
      this.#closeStream(end.tail, { charged: bill });
    } else {
      this.#closeStream([format.errorEvent(bill.refusal, requestId)], { loss: bill.loss });
    }
  }

  async #finishBody(): Promise<void> {
    const [only] = this.#chunks;
    const body =
      this.#chunks.length === 1 && only !== undefined
        ? only
        : Buffer.concat(this.#chunks, this.#bytes);
    if (this.#status !== 200) {
      this.#relayFailure(body);
      return;
    }
    const reading = this.#exchange.format.readResponse(body);
    if (reading.outcome === 'malformed') {
      this.#fault = reading.reason;
      await quarantine(reading.reason, this.#exchange, this.#services);
      this.#refuse(RESPONSE_UNUSABLE, { loss: 'malformed' });
      return;
    }
    if (reading.outcome === 'free') {
      this.#closeWithBody(reading.body, {}, {});
      return;
    }
    const bill = await this.#settle(reading.usage, reading.messageId);
    if (bill.outcome === 'lost') {
      this.#refuse(bill.refusal, { loss: bill.loss });
      return;
    }
    this.#closeWithBody(
      reading.body,
      {
        'x-gateway-charge-usd': formatUsd(bill.charge),
        'x-gateway-balance-usd': formatUsd(bill.balance),
      },
      { charged: bill },
    );
  }

  /** An answer that is not a success: nothing is charged. */
  #relayFailure(body: Buffer): void {
    const failure = readUpstreamFailure(this.#status ?? 502, this.#headers, body);
    this.#fault = failure.fault;
    if (failure.outcome === 'replace') {
      this.#refuse(failure.refusal, { operatorMustAct: failure.operatorMustAct });
      return;
    }
    if (this.#exchange.format.dialect === 'chat.completions') {
      this.#refuse(failure.refusal, {});
      return;
    }
    const { refusal } = failure;
    this.#closeWithBody(body, retryHeaders(refusal), { status: refusal.status });
  }

  #settle(usage: UsageReading, messageId: string | undefined): Promise<SettledResponse> {
    const response = { usage, messageId, streamed: this.#pipe !== undefined };
    return settle(response, this.#exchange, this.#services);
  }

  #refuse(refusal: Refusal, facts: Partial<ExchangeReport>): void {
    const { res, requestId, format } = this.#exchange;
    if (!this.#clientLeft) sendRefusal(res, refusal, { dialect: format.dialect, requestId });
    this.#report({ status: refusal.status, ...facts });
  }

  #closeWithBody(
    body: Uint8Array | string,
    headers: Readonly<Record<string, string>>,
    facts: Partial<ExchangeReport>,
  ): void {
    const { res, requestId } = this.#exchange;
    if (!this.#clientLeft) {
      res.writeHead(facts.status ?? 200, {
        ...requestIdHeaders(requestId, this.#upstreamRequestId()),
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      });
      endWithHead(res, body);
    }
    this.#close(facts);
  }

  #closeStream(tail: StreamOutput, facts: Partial<ExchangeReport>): void {
    if (!this.#clientLeft) {
      this.#addReady(tail);
      const last = this.#ready.pop() ?? '';
      this.#writeReady();
      this.#exchange.res.end(last, encodingOf(last));
    }
    this.#close(facts);
  }

  #close(facts: Partial<ExchangeReport>): void {
    const { res } = this.#exchange;
    // Nothing else watches the client from now on, so the socket itself must not wait for ever.
    if (!this.#clientLeft && res.writableLength > 0) {
      const unsent = this.#unsent;
      if (unsent !== undefined)
        res.once('close', () => {
          unsent.release();
        });
      res.setTimeout(this.#services.patience.clientStallMs, () => res.destroy());
    } else {
      this.#unsent?.release();
    }
    this.#report(facts);
  }

  #report(facts: Partial<ExchangeReport>): void {
    clearTimeout(this.#draining);
    this.#resolve({
      status: 200,
      streamed: this.#pipe !== undefined,
      clientLeft: this.#clientLeft,
      charged: undefined,
      loss: undefined,
      operatorMustAct: false,
      fault: this.#fault,
      upstreamStatus: this.#status,
      upstreamRequestId: this.#upstreamRequestId(),
      upstreamFirstByteMs:
        this.#firstByteAt === undefined ? undefined : this.#firstByteAt - this.#sentAt,
      ...facts,
    });
  }

  #upstreamRequestId(): string | undefined {
    const id = this.#headers['request-id'];
    return typeof id === 'string' && /^[\w-]{1,128}$/.test(id) ? id : undefined;
  }
}

/** Such as `ECONNREFUSED` or `UND_ERR_HEADERS_TIMEOUT`, and what the system says of it. */
function faultOf(error: Error): string {
  const code = errorCode(error);
  return code === undefined ? error.message : `${code}: ${error.message}`;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/** Node sets three bytes aside for each character of a text that is not known to be ASCII. */
function encodingOf(piece: Uint8Array | string): 'latin1' | 'utf8' {
  return Buffer.byteLength(piece) === piece.length ? 'latin1' : 'utf8';
}

/** Node copies no more than 16 KB, head included, to write a text at once. */
const SMALL_BYTES = 15_000;

/**
 * Sends a whole response. Bytes go as a text of one character each: a text leaves in one piece with the head,
 * which costs less than two pieces.
 */
function endWithHead(res: Response, body: Uint8Array | string): void {
  if (typeof body === 'string' || body.length > SMALL_BYTES) res.end(body);
  else res.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1');
}

/** A broken client socket is also told by `close`, where it is dealt with. */
function ignoreSocketError(): void {
  // Nothing to do: see above.
}
