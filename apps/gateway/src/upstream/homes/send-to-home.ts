/**
 * Sends a call to a home, and passes its answer on as Anthropic's API would have written it, so
 * that all who read it need to know one form. If the home refuses a credential that was renewed
 * meanwhile, or can be, the call is sent once more: a refused call costs nothing.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { reasonOf } from '../../base/error-code.js';
import type {
  AnswerForm,
  StreamFraming,
  Upstream,
  UpstreamCall,
  UpstreamRequest,
} from '../upstream.js';

export interface Home {
  readonly request: Upstream['request'];
  readonly dispatch: (request: UpstreamRequest, handler: Dispatcher.DispatchHandler) => void;
  readonly answerForm: AnswerForm;
}

/** A larger error is passed on as it is. */
const MOST_ERROR_BYTES = 256 * 1024;

/** Rejects if nothing can be sent, for instance without a credential. */
export async function sendToHome(
  { request, dispatch, answerForm }: Home,
  call: UpstreamCall,
  handler: Dispatcher.DispatchHandler,
): Promise<void> {
  const copy = (): UpstreamCall => ({ ...call, body: call.body.copy() });
  const again = async (): Promise<void> => {
    dispatch(await request(copy()), new HomeAnswer(handler, answerForm));
  };
  const made = await request(copy());
  const { isStale } = made;
  dispatch(made, new HomeAnswer(handler, answerForm, isStale && { isStale, again }));
}

interface Repetition {
  readonly isStale: NonNullable<UpstreamRequest['isStale']>;
  /** Rejects if there is no other credential. */
  readonly again: () => Promise<void>;
}

interface HeldError {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: Buffer[];
  bytes: number;
}

class HomeAnswer implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #form: AnswerForm;
  /** Dropped with the first byte of an answer, because it keeps the body of the request. */
  #repetition: Repetition | undefined;
  #error: HeldError | undefined;
  #frames: StreamFraming | undefined;
  #isOver = false;

  constructor(handler: Dispatcher.DispatchHandler, form: AnswerForm, repetition?: Repetition) {
    this.#handler = handler;
    this.#form = form;
    this.#repetition = repetition;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    text?: string,
  ): void {
    if (status >= 400) {
      this.#error = { status, headers, chunks: [], bytes: 0 };
      return;
    }
    if (status >= 200) this.#repetition = undefined;
    this.#frames = this.#form.openFrames(headers);
    const shown =
      this.#frames === undefined ? headers : { ...headers, 'content-type': 'text/event-stream' };
    this.#handler.onResponseStart?.(controller, status, shown, text);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    const error = this.#error;
    if (error === undefined) {
      this.#pass(controller, chunk);
      return;
    }
    error.chunks.push(chunk);
    error.bytes += chunk.length;
    if (error.bytes <= MOST_ERROR_BYTES) return;
    this.#error = undefined;
    this.#show(controller, error);
  }

  #pass(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#frames === undefined) {
      this.#handler.onResponseData?.(controller, chunk);
      return;
    }
    let events: Uint8Array;
    try {
      events = this.#frames.push(chunk);
    } catch (error) {
      this.#isOver = true;
      const cause = error instanceof Error ? error : new Error(reasonOf(error));
      this.#handler.onResponseError?.(controller, cause);
      controller.abort(cause);
      return;
    }
    const { buffer, byteOffset, length } = events;
    if (length === 0) return;
    this.#handler.onResponseData?.(controller, Buffer.from(buffer, byteOffset, length));
  }

  onResponseEnd(controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return;
    const error = this.#error;
    if (error === undefined) {
      this.#handler.onResponseEnd?.(controller, trailers);
      return;
    }
    const end = (): void => {
      this.#show(controller, error);
      this.#handler.onResponseEnd?.(controller, trailers);
    };
    const repetition = this.#repetition;
    this.#repetition = undefined;
    // The failure of the credential is reported already; the home's refusal says enough.
    if (repetition?.isStale(error.status, error.headers) === true) repetition.again().catch(end);
    else end();
  }

  #show(controller: Dispatcher.DispatchController, { status, headers, chunks }: HeldError): void {
    const body = Buffer.concat(chunks);
    const written = this.#form.readError(status, headers, body);
    const { 'content-length': _length, ...others } = headers;
    this.#handler.onResponseStart?.(controller, written?.status ?? status, others);
    this.#handler.onResponseData?.(controller, written?.body ?? body);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseError?.(controller, error);
  }
}
