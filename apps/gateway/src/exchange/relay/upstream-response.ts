/**
 * Receives one response of the upstream. A stream is passed chunk by chunk through the format's
 * pipe; any other response is collected. The memory of what is collected, and of what the pipe
 * holds, is reserved as it arrives. If there is none, the upstream is paused for a while. Then only
 * the usage is read.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { StreamEnd, StreamPipe } from '@gateway/translator';
import { createMessageSkimmer } from '@gateway/translator/native';
import type { MessageSkimmer, SkimmedMessage } from '@gateway/translator/native';
import { SMALL_BYTES } from '../../base/byte-budget.js';
import type { ByteReservation } from '../../base/byte-budget.js';
import { countBodyBytes } from '../../base/heap-tuning.js';
import type { ResponseFormat, StreamOutput } from '../../http/response-format.js';
import type { UpstreamClient } from '../../upstream/client.js';
import type { StreamFraming, UpstreamCall } from '../../upstream/upstream.js';

export type UpstreamOutcome =
  | { readonly outcome: 'stream'; readonly end: StreamEnd<StreamOutput> }
  | { readonly outcome: 'body'; readonly status: number; readonly body: Buffer }
  /**
   * A response that is not a stream, and too large to keep or to find memory for; without `message`
   * if it is unreadable.
   */
  | { readonly outcome: 'too_large'; readonly message: SkimmedMessage | undefined }
  /**
   * No response came, or the connection failed before the end of a response that is not a stream.
   */
  | { readonly outcome: 'failed'; readonly error: Error };

export interface UpstreamListener {
  /** The response is a stream. */
  onStream(): void;
  /** Output that may be sent to the client before the charge is durable. */
  onOutput(output: StreamOutput): void;
  /** Called once, as the last call. */
  onEnd(outcome: UpstreamOutcome): void;
}

interface ResponseReader {
  readonly upstream: Pick<UpstreamClient, 'answersTo'>;
  readonly call: UpstreamCall;
  readonly format: Pick<ResponseFormat, 'createPipe'>;
  readonly openMemory: () => ByteReservation;
  /** How long, in total, a response is paused because there is no memory for it. */
  readonly memoryWaitMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** How often a response that waits for memory asks again. */
const MEMORY_CHECK_MS = 100;
/** Of a larger response only the usage is read. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** An upstream that never ends a response must not be read forever. */
const MAX_SKIMMED_BYTES = 1024 * 1024 * 1024;
/**
 * Response bytes count half towards the next minor GC. A minor GC takes longer if more objects are
 * alive, and for the same number of bytes, streams keep more requests in flight than prompts do.
 */
const GC_WEIGHT = 0.5;

export class UpstreamResponse implements Dispatcher.DispatchHandler {
  readonly #reader: ResponseReader;
  readonly #listener: UpstreamListener;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #headers: IncomingHttpHeaders = {};
  #firstByteAt: number | undefined;
  #framing: StreamFraming | undefined;
  #pipe: StreamPipe<Uint8Array, StreamOutput> | undefined;
  #chunks: Buffer[] = [];
  #memory: ByteReservation | undefined;
  #memoryTimer: NodeJS.Timeout | undefined;
  #waitedMs = 0;
  #isPausedByClient = false;
  /** Of a stream: those that its pipe holds. Of another response: all. */
  #bytes = 0;
  #skimmer: MessageSkimmer | undefined;
  #isOver = false;
  #lastError: Error | undefined;
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(reader: ResponseReader, listener: UpstreamListener) {
    this.#reader = reader;
    this.#listener = listener;
  }

  get status(): number | undefined {
    return this.#status;
  }

  get headers(): IncomingHttpHeaders {
    return this.#headers;
  }

  get isStream(): boolean {
    return this.#pipe !== undefined;
  }

  /** Whether the output so far ends within an event of the stream. */
  get isWithinEvent(): boolean {
    return this.#pipe?.isWithinEvent === true;
  }

  /** True once {@link UpstreamListener.onEnd} was called, or is about to be. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Milliseconds since the epoch at the first byte of the body. */
  get firstByteAt(): number | undefined {
    return this.#firstByteAt;
  }

  /** Undefined if little was held. The one who reads the response releases it. */
  get memory(): ByteReservation | undefined {
    return this.#memory;
  }

  /** The failure of the connection, if there was one. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /** Called for a client that reads slowly. */
  pause(): void {
    this.#isPausedByClient = true;
    this.#controller?.pause();
  }

  resume(): void {
    this.#isPausedByClient = false;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#isPausedByClient || this.#memoryTimer !== undefined) return;
    this.#controller?.resume();
  }

  /** Ends the connection if the response is not over within this time. */
  limitTo(ms: number): void {
    this.#drainTimer = setTimeout(
      () => this.#controller?.abort(new Error('drained long enough')),
      ms,
    );
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
    if (status !== 200) return;
    const { upstream, call } = this.#reader;
    this.#framing = upstream.answersTo(call).openStream(headers);
    if (this.#framing === undefined) return;
    this.#pipe = this.#reader.format.createPipe();
    this.#listener.onStream();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) {
      // Without this, an upstream that keeps sending after the end would be read forever.
      controller.abort(new Error('the response went on after its end'));
      return;
    }
    countBodyBytes(chunk.length * GC_WEIGHT);
    this.#firstByteAt ??= this.#reader.now();
    if (this.#pipe === undefined || this.#framing === undefined) {
      this.#collect(chunk);
      return;
    }
    this.#pass(this.#pipe, this.#framing.push(chunk));
    if (this.#pipe.isFinished) this.#finish();
    else this.#reserveHeld(this.#pipe);
  }

  #pass(pipe: StreamPipe<Uint8Array, StreamOutput>, bytes: Uint8Array): void {
    const output = pipe.push(bytes);
    if (output.length > 0) this.#listener.onOutput(output);
  }

  onResponseEnd(): void {
    this.#finish();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return;
    this.#lastError = error;
    if (this.#pipe === undefined) this.#end({ outcome: 'failed', error });
    else this.#finish();
  }

  #collect(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#skimmer === undefined && this.#bytes <= MAX_RESPONSE_BYTES) {
      this.#chunks.push(chunk);
      if (!this.#hasMemory()) this.#waitForMemory();
      return;
    }
    this.#passOver(chunk);
  }

  /** Most events are complete in their chunk, so that nothing is held. */
  #reserveHeld(pipe: StreamPipe<Uint8Array, StreamOutput>): void {
    const { heldBytes = 0 } = pipe;
    if (heldBytes < SMALL_BYTES && this.#bytes < SMALL_BYTES) return;
    this.#bytes = heldBytes;
    if (this.#hasMemory()) return;
    pipe.passEarly?.();
    this.#bytes = pipe.heldBytes ?? 0;
    if (!this.#hasMemory()) this.#waitForMemory();
  }

  /** Small responses are not counted: the leases limit how many an account has. */
  #hasMemory(): boolean {
    if (this.#bytes < SMALL_BYTES) {
      this.#memory?.release();
      return true;
    }
    this.#memory ??= this.#reader.openMemory();
    return this.#memory.resize(this.#bytes) === 'reserved';
  }

  /** Others release memory soon, unless large responses fill it. */
  #waitForMemory(): void {
    if (this.#memoryTimer !== undefined) return;
    if (this.#waitedMs >= this.#reader.memoryWaitMs) {
      this.#dropHeld();
      return;
    }
    this.#controller?.pause();
    this.#memoryTimer = setInterval(() => {
      this.#waitedMs += MEMORY_CHECK_MS;
      const hasMemory = this.#hasMemory();
      if (!hasMemory && this.#waitedMs < this.#reader.memoryWaitMs) return;
      this.#endWait();
      if (!hasMemory) this.#dropHeld();
      this.#goOn();
    }, MEMORY_CHECK_MS);
  }

  #dropHeld(): void {
    if (this.#pipe === undefined) {
      this.#passOver();
      return;
    }
    this.#pipe.cut?.();
    this.#bytes = this.#pipe.heldBytes ?? 0;
    this.#memory?.release();
  }

  #endWait(): void {
    clearInterval(this.#memoryTimer);
    this.#memoryTimer = undefined;
  }

  #passOver(chunk?: Buffer): void {
    if (this.#status === 200 && this.#bytes <= MAX_SKIMMED_BYTES) {
      this.#skim(chunk);
      return;
    }
    this.#isOver = true;
    this.#controller?.abort(new Error('the response exceeds the cap'));
    this.#end({ outcome: 'too_large', message: undefined });
  }

  /** Reads the usage of a response that cannot be kept, because it must be charged. */
  #skim(chunk: Buffer | undefined): void {
    if (this.#skimmer === undefined) {
      this.#skimmer = createMessageSkimmer();
      for (const each of this.#chunks) this.#skimmer.push(each);
      this.#chunks = [];
      this.#memory?.release();
    }
    if (chunk !== undefined) this.#skimmer.push(chunk);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#pipe !== undefined) this.#endStream(this.#pipe);
    else if (this.#skimmer !== undefined) {
      this.#end({ outcome: 'too_large', message: this.#skimmer.end() });
    } else this.#end({ outcome: 'body', status: this.#status ?? 502, body: this.#collected() });
  }

  #endStream(pipe: StreamPipe<Uint8Array, StreamOutput>): void {
    // After the end of the message, nothing that the framing keeps back matters.
    const rest = pipe.isFinished ? undefined : this.#framing?.end?.();
    if (rest !== undefined && rest.length > 0) this.#pass(pipe, rest);
    this.#end({ outcome: 'stream', end: pipe.end() });
  }

  /** The chunks are dropped, because the response may wait long for its charge. */
  #collected(): Buffer {
    const chunks = this.#chunks;
    this.#chunks = [];
    const [only] = chunks;
    return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, this.#bytes);
  }

  #end(outcome: UpstreamOutcome): void {
    this.#isOver = true;
    clearTimeout(this.#drainTimer);
    this.#endWait();
    this.#listener.onEnd(outcome);
  }
}
