/**
 * The common interface of the native tap and the translators, for bytes and for objects. They stand
 * between an upstream's event stream and a client. A caller pumps a stream through it without
 * knowing the format.
 */

import type { UsageReading } from './usage.js';

// The pipes of this package set `isFinished` in `push` and do not use a getter. V8 allocates a new
// accessor pair per object literal in the old generation, which keeps the whole stream alive until
// the next full GC.

/** `Out` is bytes, text, a list of pieces of bytes, or a list of the objects that they carry. */
export interface StreamPipe<In = Uint8Array, Out = Uint8Array> {
  /**
   * Takes upstream bytes, split anywhere, and returns the bytes that may be sent at once: possibly
   * none (`length` 0), possibly the chunk itself. The bytes that carry the final usage, and all
   * bytes after them, are kept back for {@link StreamPipe.end}.
   */
  push(chunk: In): Out;
  /**
   * The stream has reached its end (`message_stop`, `[DONE]` or a failure), so the caller may stop
   * reading.
   */
  readonly isFinished: boolean;
  /**
   * What was returned so far ends within an event, so nothing may be inserted into the stream. Only
   * for native streams that are passed on, while a large event arrives.
   */
  readonly isWithinEvent?: boolean;
  /**
   * The bytes in memory that {@link StreamPipe.push} has neither returned nor read: those of an
   * incomplete event, and those that are kept back for the end. Only pipes that take bytes have
   * this and the methods that reduce it.
   */
  readonly heldBytes?: number;
  /**
   * Lets an incomplete content event of a native stream pass as it arrives, from the next `push`
   * on. Other events are kept on.
   */
  passEarly?(): void;
  /**
   * Keeps none of {@link StreamPipe.heldBytes}. What can pass early passes; otherwise the rest of
   * the stream is read for its usage only, as after an event that exceeds the limit.
   */
  cut?(): void;
  /**
   * The source threw this error instead of ending. An error of the upstream that an SDK throws
   * keeps its type and message. Only pipes that take the events of SDKs have this.
   */
  sourceFailed?(error: unknown): void;
  /**
   * Call once: when `isFinished` is true, or when the upstream closed its connection or broke it.
   */
  end(): StreamEnd<Out>;
}

/**
 * The end of a stream. If it has an `error`, its `tail` ends with an error event in the client's
 * format.
 */
export type StreamEnd<Out = Uint8Array> = MessageEnd & {
  /** The last bytes to send. Send those of a complete stream after the usage is durable. */
  readonly tail: Out;
};

/** How a message ended, independent of the form of its stream. */
export type MessageEnd =
  | {
      readonly outcome: 'complete';
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      /** The model that the upstream names; only for native streams that are passed on. */
      readonly model?: string | undefined;
      readonly stopReason: string | undefined;
      /**
       * The category of a refusal, or an empty text if it names none. Only for a refusal without
       * any content, which the upstream may not bill.
       */
      readonly emptyRefusal?: string | undefined;
      /**
       * Set if an event was too large to pass on. The usage is that of the whole message, but the
       * client did not receive it all, and its stream ends with this error.
       */
      readonly error?: StreamError;
    }
  | {
      /**
       * An error event arrived, the stream ended before the message was complete, or it could not
       * be read. There is no final usage.
       */
      readonly outcome: 'failed';
      readonly error: StreamError;
      readonly cause: FailureCause;
      readonly messageId: string | undefined;
    };

export type FailureCause = 'error_event' | 'truncated' | 'malformed' | 'too_large';

export interface StreamError {
  /** In the native vocabulary, such as `overloaded_error`. */
  readonly type: string;
  readonly message: string;
}
