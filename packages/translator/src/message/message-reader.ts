/**
 * Turns the native events of one message into {@link MessageEvent}s that keep an order: the message
 * starts first, each block that starts also ends, and nothing follows the end.
 *
 * https://platform.claude.com/docs/en/build-with-claude/streaming
 */

import { failureOf, MessageState, type StreamFailure } from '../wire/message-state.js';
import { type JsonObject, objectOf, stringOf } from '../wire/raw-json.js';
import type { FailureCause, MessageEnd } from '../wire/stream-pipe.js';
import type { Usage } from '../wire/usage.js';
import { inputTexts } from './input-texts.js';
import { type BlockReader, type MessageEvent, openBlock } from './message-events.js';
import { isThinking } from './thinking-block.js';

/** Events that only make sense once the message has begun. */
const WITHIN_MESSAGE = /^(content_block_|message_(?!start$))/;

/** The facts about a complete message that an encoder needs at its end. */
export interface MessageFacts {
  readonly stopReason: string | undefined;
  readonly stopDetails: unknown;
  /** The processing tier that the upstream reports. */
  readonly serviceTier: unknown;
  /** Undefined if the upstream's counts cannot be read. */
  readonly usage: Usage | undefined;
}

/** Writes a message in the format of a client. */
export interface MessageEncoder {
  /** Whether the format has thinking. If not, it is not read. */
  readonly hasThinking: boolean;
  onEvent(event: MessageEvent): void;
  /** Writes the end of a complete message. */
  complete(facts: MessageFacts): void;
}

export class MessageReader {
  /** Whether the message has ended, by `message_stop` or by a failure. */
  isFinished = false;
  readonly #encoder: MessageEncoder;
  readonly #emit: (event: MessageEvent) => void;
  readonly #state = new MessageState();
  /** The open blocks by their native index. */
  readonly #blocks = new Map<unknown, { readonly at: number; readonly reader: BlockReader }>();
  #blockCount = 0;
  #hasBegun = false;
  #isCut = false;
  #failure: StreamFailure | undefined;

  constructor(encoder: MessageEncoder) {
    this.#encoder = encoder;
    this.#emit = (event) => encoder.onEvent(event);
  }

  /**
   * Takes one native event. Events after the end of the message, or after a failure, are ignored.
   *
   * @param name - The type to assume when the event has none.
   * @param source - The JSON text of the event, from which the inputs of calls are cut. Without it
   * they are written from their values.
   */
  read(event: JsonObject, name: string, source?: string): void {
    if (this.isFinished) return;
    const type = stringOf(event['type']) || name;
    if (this.#isCut && type !== 'error') {
      this.isFinished = this.#state.readOn(type, event);
      return;
    }
    if (!this.#hasBegun && WITHIN_MESSAGE.test(type)) {
      this.fail('malformed');
      return;
    }
    switch (type) {
      case 'content_block_delta':
        this.#blocks.get(event['index'])?.reader.onDelta(objectOf(event['delta']));
        return;
      case 'content_block_start': {
        const { index, content_block: block } = event;
        this.#state.content.onBlock(block);
        this.#open(index, block, source && (() => inputTexts(source).get('content_block')));
        return;
      }
      case 'content_block_stop':
        this.#close(event['index']);
        return;
      case 'message_start':
        this.#begin(event, source);
        return;
      case 'message_delta':
        this.#state.delta(event);
        return;
      case 'message_stop':
        this.#stop();
        return;
      case 'error':
        this.fail('error_event', event['error']);
        return;
    }
  }

  /**
   * Takes the whole of a message, instead of its native events.
   *
   * @param source - The JSON text of the message.
   * @returns false if a call has no id or no name
   */
  readWhole({ id, content }: JsonObject, source: string | undefined): boolean {
    this.#emit({ type: 'message_start', messageId: stringOf(id) || undefined });
    if (Array.isArray(content)) this.#readContent(content, 'content', source);
    if (this.isFinished) return false;
    this.#stop();
    return true;
  }

  /**
   * The number of the open block with this native index, if the caller may write the strings of its
   * deltas itself. See {@link BlockReader.mayPass}.
   */
  passingBlock(index: number, deltaType: string): number | undefined {
    const block = this.isFinished || this.#isCut ? undefined : this.#blocks.get(index);
    return block?.reader.mayPass?.(deltaType) ? block.at : undefined;
  }

  /** Whether deltas of this native index have no effect, because no client format has its block. */
  isIgnored(index: number): boolean {
    return this.#hasBegun && !this.isFinished && !this.#blocks.has(index);
  }

  /** Ends an unfinished message as failed. `reported` is the `error` that the upstream sent. */
  fail(cause: FailureCause, reported?: unknown): void {
    if (this.isFinished) return;
    this.#failure = failureOf(cause, reported);
    this.isFinished = true;
  }

  /** Emits no more content. The message is read on for its usage only. */
  cut(): void {
    this.#isCut = true;
  }

  /** Call once. A complete message is written to its end; a failed one is left as it is. */
  end(): MessageEnd {
    const state = this.#state;
    const { messageId, stopReason } = state;
    if (this.#failure || !this.isFinished) {
      return { outcome: 'failed', ...(this.#failure ?? failureOf('truncated')), messageId };
    }
    const usage = state.usage();
    if (this.#isCut) {
      const { error } = failureOf('too_large');
      return { outcome: 'complete', usage, messageId, stopReason, error };
    }
    const { stopDetails, serviceTier, emptyRefusal } = state;
    const counts = usage.outcome === 'read' ? usage.usage : undefined;
    this.#encoder.complete({ stopReason, stopDetails, serviceTier, usage: counts });
    return { outcome: 'complete', usage, messageId, stopReason, emptyRefusal };
  }

  /** Some messages have their content in `message_start`, without events for the content. */
  #begin(event: JsonObject, source: string | undefined): void {
    if (!this.#state.start(event)) {
      this.fail('malformed');
      return;
    }
    this.#hasBegun = true;
    this.#emit({ type: 'message_start', messageId: this.#state.messageId });
    const { content } = objectOf(event['message']);
    if (Array.isArray(content)) this.#readContent(content, 'message/content', source);
  }

  /** @param path - Where the content is in the source. */
  #readContent(content: readonly unknown[], path: string, source: string | undefined): void {
    let texts: ReadonlyMap<string, string> | undefined;
    content.forEach((block, index) => {
      const key = `${path}/${index}`;
      this.#open(key, block, source && (() => (texts ??= inputTexts(source)).get(key)));
      this.#close(key);
    });
  }

  #open(
    index: unknown,
    block: unknown,
    inputText: (() => string | undefined) | '' | undefined,
  ): void {
    if (this.isFinished) return;
    // A block that was never closed must not be lost.
    this.#close(index);
    const at = this.#blockCount;
    this.#blockCount += 1;
    if (!this.#encoder.hasThinking && isThinking(objectOf(block))) return;
    const place = { at, inputText: inputText || undefined };
    const reader = openBlock(objectOf(block), place, this.#emit);
    if (reader === 'malformed') this.fail('malformed');
    else if (reader !== 'ignored') this.#blocks.set(index, { at, reader });
  }

  #close(index: unknown): void {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    block?.reader.end();
  }

  #stop(): void {
    // A call needs its arguments even if the upstream never closed its block.
    for (const index of this.#blocks.keys()) this.#close(index);
    this.#emit({ type: 'message_stop' });
    this.isFinished = true;
  }
}
