import { NO_BYTES } from '../wire/bytes.js';
import { failureOf, MessageState, type StreamFailure } from '../wire/message-state.js';
import { errorEventOf } from '../wire/native-events.js';
import { type JsonObject, parseObject } from '../wire/raw-json.js';
import { isEventStream, readEvent } from '../wire/sse.js';
import type { FailureCause, MessageEnd } from '../wire/stream-pipe.js';

/** Reads the events of a native stream that concern the message as a whole. */
export class MessageWatch {
  /**
   * The event with the final usage has arrived, or the stream has ended. From here on all bytes are
   * held back from the client.
   */
  isHolding = false;
  /** `message_stop` has arrived, or the stream has failed. */
  isFinished = false;
  /** Whether an event with data has arrived. */
  hasEvents = false;
  /** The upstream's own error event, in the form that SDKs read. */
  errorEvent: Uint8Array = NO_BYTES;
  #failure: StreamFailure | undefined;
  readonly #state = new MessageState();

  /** A block of content has arrived, or a part of it. */
  onContent(): void {
    this.#state.content.onContent();
  }

  /** A block of content has begun. Only one that may be a `fallback` block is read. */
  onBlockStart(bytes: Uint8Array): void {
    const { data } = readEvent(bytes);
    if (data.includes('fallback'))
      this.#state.content.onBlock(parseObject(data)?.['content_block']);
    else this.onContent();
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Whether the stream failed with the upstream's own error event. */
  get hasErrorEvent(): boolean {
    return this.#failure?.cause === 'error_event';
  }

  onEvent(bytes: Uint8Array): void {
    const { event: name, data } = readEvent(bytes);
    if (data === '') return;
    this.hasEvents = true;
    const event = parseObject(data);
    if (event === undefined) {
      if (/^(message_|error)/.test(name)) this.fail('malformed');
      return;
    }
    const type = typeof event['type'] === 'string' ? event['type'] : name;
    // SDKs drop events that have no name.
    if (type === 'error') this.errorEvent = name === 'error' ? bytes : errorEventOf(event);
    this.onMessageEvent(type, event);
  }

  onMessageEvent(type: string, event: JsonObject): void {
    switch (type) {
      case 'content_block_start':
        this.#state.content.onBlock(event['content_block']);
        return;
      case 'message_start':
        if (!this.#state.start(event)) this.fail('malformed');
        if (this.#state.hasFinalUsage) this.isHolding = true;
        return;
      case 'message_delta':
        this.#state.delta(event);
        if (event['usage'] != null) this.isHolding = true;
        return;
      case 'message_stop':
        this.isHolding = true;
        this.isFinished = true;
        return;
      case 'error':
        if (this.errorEvent === NO_BYTES) this.errorEvent = errorEventOf(event);
        this.fail('error_event', event['error']);
        return;
    }
  }

  /**
   * Reads the bytes after the last whole event. An event that lacks only its final blank line is
   * read like a whole one.
   *
   * @returns whether the bytes were such an event.
   */
  onRest(rest: Uint8Array): boolean {
    const event = parseObject(readEvent(rest).data);
    if (event === undefined) {
      if (!this.hasEvents && !isEventStream(rest)) this.fail('malformed');
      return false;
    }
    this.onEvent(rest);
    // SDKs drop events that lack their blank line.
    if (this.errorEvent === rest) this.errorEvent = errorEventOf(event);
    return true;
  }

  /** Ends the stream as failed. Later failures do not replace the first one. */
  fail(cause: FailureCause, reported?: unknown): void {
    this.#failure ??= failureOf(cause, reported);
    this.isFinished = true;
    this.isHolding = true;
  }

  end(): MessageEnd {
    const { messageId, model, stopReason, emptyRefusal } = this.#state;
    if (this.#failure || !this.isFinished) {
      return { outcome: 'failed', ...(this.#failure ?? failureOf('truncated')), messageId };
    }
    const usage = this.#state.usage();
    return { outcome: 'complete', usage, messageId, model, stopReason, emptyRefusal };
  }
}
