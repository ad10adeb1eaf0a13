/**
 * One attempt to have a request served by one account. Everything is passed to the exchange as it
 * arrives, except for the beginning of a response that may have to be dropped, because another
 * account can be tried: an error is read whole first, and the head of a stream waits for the first
 * bytes of its first event.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export type AttemptOutcome =
  /** The account accepted the request. From now on the exchange handles the response. */
  | { readonly outcome: 'accepted'; readonly status: number }
  /** An error, instead of a message. */
  | ({ readonly outcome: 'refused' } & RefusedResponse)
  /** No byte of the request was handed to the system. */
  | ({ readonly outcome: 'not_sent' } & Unanswered)
  /** The connection failed before an error or a message, and the request was perhaps accepted. */
  | ({ readonly outcome: 'unanswered' } & Unanswered);

export interface RefusedResponse {
  /** 200 if the error is the first event of a stream. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The error: of a stream, the data of its first event. */
  readonly body: Buffer;
  /** Passes the refusal to the exchange, as if it arrived now. */
  readonly replay: () => void;
}

export interface Unanswered {
  /** Passes the failure to the exchange. */
  readonly replay: () => void;
}

/** Statuses by which the API refuses a request before any model reads it. */
const REFUSALS = new Set([400, 401, 402, 403, 429]);
const MAX_REFUSAL_BYTES = 256 * 1024;
/**
 * For how long the head of a stream waits. The API sends the first event with the head. A longer
 * wait would keep the client's stream silent (docs/decisions/0053).
 */
const MAX_HEAD_WAIT_MS = 2_000;
const ERROR_EVENT = 'event: error';

type Held = {
  readonly kind: 'error' | 'stream';
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: Buffer[];
  bytes: number;
};

export class AccountAttempt implements Dispatcher.DispatchHandler {
  readonly #exchange: Dispatcher.DispatchHandler;
  readonly #onOutcome: (outcome: AttemptOutcome) => void;
  #controller: Dispatcher.DispatchController | undefined;
  /** The beginning of the response, while it may still be dropped. */
  #held: Held | undefined;
  #headTimer: NodeJS.Timeout | undefined;
  #hasStarted = false;
  #isDecided = false;
  /** Nothing more of this response concerns the exchange. */
  #isDropped = false;

  constructor(exchange: Dispatcher.DispatchHandler, onOutcome: (outcome: AttemptOutcome) => void) {
    this.#exchange = exchange;
    this.#onOutcome = onOutcome;
  }

  /**
   * undici calls this right before it writes the request to a connection. From then on the request
   * counts as accepted if the connection fails: Node counts the bytes that it handed to the system
   * (`bytesWritten`), also those of a write that failed, and cannot say which of them the other
   * side has acknowledged. A reused connection is no exception. But before undici reuses one, it
   * lets the event loop deliver a FIN or RST that has arrived. Then it opens another connection,
   * and this is called only for that one.
   */
  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#hasStarted = true;
    this.#controller = controller;
    this.#exchange.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    text?: string,
  ): void {
    if (status < 200) {
      this.#exchange.onResponseStart?.(controller, status, headers, text);
      return;
    }
    this.#controller = controller;
    if (REFUSALS.has(status) || status >= 500) this.#hold('error', status, headers);
    else if (status === 200 && isEventStream(headers)) {
      this.#hold('stream', status, headers);
      this.#headTimer = setTimeout(() => {
        this.#accept();
      }, MAX_HEAD_WAIT_MS);
    } else {
      this.#decide({ outcome: 'accepted', status });
      this.#exchange.onResponseStart?.(controller, status, headers, text);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isDropped) {
      controller.abort(new Error('the response went on after its error'));
      return;
    }
    const held = this.#held;
    if (held === undefined) {
      this.#exchange.onResponseData?.(controller, chunk);
      return;
    }
    held.chunks.push(chunk);
    held.bytes += chunk.length;
    if (held.kind === 'stream') this.#readFirstEvent(held);
    else if (held.bytes > MAX_REFUSAL_BYTES) {
      controller.abort(new Error('the refusal exceeds the cap'));
    }
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isDropped) return;
    const held = this.#held;
    if (held?.kind === 'error') {
      const body = Buffer.concat(held.chunks);
      this.#refuse(held, body, () => {
        this.#passOn(held);
        this.#exchange.onResponseEnd?.(controller, trailers);
      });
      return;
    }
    this.#accept();
    this.#exchange.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isDropped) return;
    const held = this.#held;
    this.#release();
    const replay = (): void => {
      if (held?.kind === 'stream') this.#passOn(held);
      this.#exchange.onResponseError?.(this.#controller ?? controller, error);
    };
    if (this.#isDecided) replay();
    else this.#decide({ outcome: this.#hasStarted ? 'unanswered' : 'not_sent', replay });
  }

  #hold(kind: Held['kind'], status: number, headers: IncomingHttpHeaders): void {
    this.#held = { kind, status, headers, chunks: [], bytes: 0 };
  }

  /** Only compares the first bytes, unless they begin an error. */
  #readFirstEvent(held: Held): void {
    const [first] = held.chunks;
    if (first === undefined || held.bytes === 0) return;
    const bytes = held.chunks.length === 1 ? first : Buffer.concat(held.chunks);
    const beginning = bytes.toString('latin1', 0, ERROR_EVENT.length);
    if (!ERROR_EVENT.startsWith(beginning) || held.bytes > MAX_REFUSAL_BYTES) {
      this.#accept();
      return;
    }
    const data = beginning === ERROR_EVENT ? dataOfEvent(bytes) : undefined;
    if (data === undefined) return;
    // The API ends the stream after an error. Nothing that follows would be passed on.
    this.#isDropped = true;
    this.#refuse(held, Buffer.from(data), () => {
      this.#passOn(held);
      this.#exchange.onResponseEnd?.(this.#given(), {});
    });
  }

  /** The response begins well, or has to be passed on as it is. */
  #accept(): void {
    const held = this.#held;
    if (held === undefined) return;
    this.#release();
    this.#decide({ outcome: 'accepted', status: held.status });
    this.#passOn(held);
  }

  #refuse({ status, headers }: Held, body: Buffer, replay: () => void): void {
    this.#release();
    this.#decide({ outcome: 'refused', status, headers, body, replay });
  }

  #release(): void {
    clearTimeout(this.#headTimer);
    this.#held = undefined;
  }

  #passOn({ status, headers, chunks }: Held): void {
    const controller = this.#given();
    this.#exchange.onResponseStart?.(controller, status, headers);
    for (const chunk of chunks) this.#exchange.onResponseData?.(controller, chunk);
  }

  #given(): Dispatcher.DispatchController {
    if (this.#controller === undefined) throw new Error('a response has no connection');
    return this.#controller;
  }

  #decide(outcome: AttemptOutcome): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    this.#onOutcome(outcome);
  }
}

function isEventStream(headers: IncomingHttpHeaders): boolean {
  return /^text\/event-stream/i.test(String(headers['content-type']));
}

/** @returns `undefined` until the event is complete */
function dataOfEvent(bytes: Buffer): string | undefined {
  const [event, rest] = bytes.toString().split(/\r\n\r\n|\n\n|\r\r/, 2);
  if (event === undefined || rest === undefined) return undefined;
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  return lines.map((line) => line.slice('data:'.length).trim()).join('\n');
}
