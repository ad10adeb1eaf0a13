/**
 * The common shape of everything that stands between an upstream event stream and a client: the
 * native tap and the chat translator. A caller pumps bytes through it without knowing the format.
 */

import type { UsageReading } from './usage.js';

export interface StreamPipe {
  /**
   * Takes upstream bytes, split anywhere, and returns the bytes that may leave at once: possibly none
   * (`length` 0), possibly the very chunk that came in. The bytes that tell the final usage, and all
   * that follow them, are kept back for {@link StreamPipe.end}.
   */
  push(chunk: Uint8Array): Uint8Array;
  /** The stream has reached its end (`message_stop`, or an error event): nothing more is worth reading. */
  readonly isFinished: boolean;
  /** Call once, when `isFinished` or when the upstream closed or broke. */
  end(): StreamEnd;
}

export type StreamEnd =
  | {
      readonly outcome: 'complete';
      readonly usage: UsageReading;
      /** What was kept back: send it after the usage was made durable. */
      readonly tail: Uint8Array;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
    }
  | {
      /** An error event came, or the stream ended before `message_stop`. No usage is final. */
      readonly outcome: 'failed';
      readonly error: { readonly type: string; readonly message: string };
      readonly cause: 'error_event' | 'truncated' | 'malformed' | 'too_large';
      /** An error event in the client's format, after a blank line where a partial event went out before. */
      readonly tail: Uint8Array;
      readonly messageId: string | undefined;
    };
