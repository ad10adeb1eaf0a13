/**
 * One attempt to have a request served by one account. Everything is passed to the exchange as it
 * arrives. Only a refusal is read whole first: if it is about the account, another can be tried.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export type AttemptOutcome =
  /** The account accepted the request. From now on the exchange handles the response. */
  | { readonly outcome: 'accepted'; readonly status: number }
  /** The upstream refused the request as a whole. Nothing of it was accepted. */
  | ({ readonly outcome: 'refused' } & RefusedResponse)
  /** No byte of the request was sent. */
  | { readonly outcome: 'not_sent'; readonly error: Error }
  /** Sent, and perhaps accepted. The attempt itself reports the failure to the exchange. */
  | { readonly outcome: 'failed' };

export interface RefusedResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Passes the refusal to the exchange, as if it arrived now. */
  readonly replay: () => void;
}

/** Statuses by which the API refuses a request before any model reads it. */
const REFUSALS = new Set([400, 401, 402, 403, 429]);
const MAX_REFUSAL_BYTES = 256 * 1024;

export class AccountAttempt implements Dispatcher.DispatchHandler {
  readonly #exchange: Dispatcher.DispatchHandler;
  readonly #onOutcome: (outcome: AttemptOutcome) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #refusal: { status: number; headers: IncomingHttpHeaders; chunks: Buffer[] } | undefined;
  #refusalBytes = 0;
  #hasStarted = false;
  #isDecided = false;

  constructor(exchange: Dispatcher.DispatchHandler, onOutcome: (outcome: AttemptOutcome) => void) {
    this.#exchange = exchange;
    this.#onOutcome = onOutcome;
  }

  /** undici calls this right before it writes the request to a connection. */
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
    if (status >= 200 && REFUSALS.has(status)) {
      this.#refusal = { status, headers, chunks: [] };
      return;
    }
    if (status >= 200) this.#decide({ outcome: 'accepted', status });
    this.#exchange.onResponseStart?.(controller, status, headers, text);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#refusal === undefined) {
      this.#exchange.onResponseData?.(controller, chunk);
      return;
    }
    this.#refusalBytes += chunk.length;
    if (this.#refusalBytes > MAX_REFUSAL_BYTES) {
      controller.abort(new Error('the refusal exceeds the cap'));
      return;
    }
    this.#refusal.chunks.push(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#refusal === undefined) {
      this.#exchange.onResponseEnd?.(controller, trailers);
      return;
    }
    const { status, headers, chunks } = this.#refusal;
    const body = Buffer.concat(chunks);
    const replay = (): void => {
      this.#exchange.onResponseStart?.(controller, status, headers);
      if (body.length > 0) this.#exchange.onResponseData?.(controller, body);
      this.#exchange.onResponseEnd?.(controller, trailers);
    };
    this.#decide({ outcome: 'refused', status, headers, body, replay });
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#hasStarted) {
      this.#decide({ outcome: 'not_sent', error });
      return;
    }
    this.#decide({ outcome: 'failed' });
    this.#exchange.onResponseError?.(this.#controller ?? controller, error);
  }

  #decide(outcome: AttemptOutcome): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    this.#onOutcome(outcome);
  }
}
