/**
 * The common shape of everything that stands between an upstream event stream and a client: the
 * native tap and the translators, over bytes or over objects. A caller pumps a stream through it
 * without knowing the format.
 */

import type { UsageReading } from './usage.js';

// What implements it sets `isFinished` in `push`. An accessor in an object literal is another one in each object, and
// V8 notes it among what is old: there it holds on to all of its stream until everything is collected.

/** `Out` is bytes, or a list of the objects that those bytes would carry. */
export interface StreamPipe<In = Uint8Array, Out = Uint8Array> {
  /**
   * Takes upstream bytes, split anywhere, and returns the bytes that may leave at once: possibly none
   * (`length` 0), possibly the very chunk that came in. The bytes that tell the final usage, and all
   * that follow them, are kept back for {@link StreamPipe.end}.
   */
  push(chunk: In): Out;
  /** The stream has reached its end (`message_stop`, or an error event): nothing more is worth reading. */
  readonly isFinished: boolean;
  /** Call once, when `isFinished` or when the upstream closed or broke. */
  end(): StreamEnd<Out>;
}

/** `tail` is what was kept back. Of a failed stream it ends with an error event in the client's format. */
export type StreamEnd<Out = Uint8Array> = MessageEnd & {
  /** Of a complete stream: to be sent after the usage was made durable. */
  readonly tail: Out;
};

/** How a message ended, whatever form its stream takes. */
export type MessageEnd =
  | {
      readonly outcome: 'complete';
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
    }
  | {
      /** An error event came, or the stream ended before its message did. No usage is final. */
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
