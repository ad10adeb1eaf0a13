/**
 * The common shape of everything that stands between an upstream event stream and a client: the
 * native tap and the translators, over bytes or over objects. A caller pumps a stream through it
 * without knowing the format.
 */

import type { UsageReading } from './usage.js';

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

export type StreamEnd<Out = Uint8Array> =
  | {
      readonly outcome: 'complete';
      readonly usage: UsageReading;
      /** What was kept back: send it after the usage was made durable. */
      readonly tail: Out;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
    }
  | {
      /** An error event came, or the stream ended before its message did. No usage is final. */
      readonly outcome: 'failed';
      readonly error: StreamError;
      readonly cause: FailureCause;
      /** An error event in the client's format, after a blank line where a partial event went out before. */
      readonly tail: Out;
      readonly messageId: string | undefined;
    };

export type FailureCause = 'error_event' | 'truncated' | 'malformed' | 'too_large';

export interface StreamError {
  /** In the native vocabulary, such as `overloaded_error`. */
  readonly type: string;
  readonly message: string;
}
