/** The differences between the response formats that the relay must know. */

import type { StreamPipe, UsageReading, FinishedResponse } from '@gateway/translator';
import type { Dialect } from './refusal.js';

export type ResponseReading =
  | {
      readonly outcome: 'read';
      readonly body: Uint8Array | string;
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      /** The model that the response names; only in the native format. */
      readonly model?: string | undefined;
      /** The category of a refusal without content; empty if it names none. */
      readonly emptyRefusal?: string | undefined;
    }
  /** A response that is free of charge and contains no usage. */
  | { readonly outcome: 'free'; readonly body: Uint8Array | string }
  | { readonly outcome: 'malformed'; readonly reason: string };

/** Bytes, in one piece or several. */
export type StreamOutput = Uint8Array | readonly Uint8Array[];

export interface ResponseFormat {
  readonly dialect: Dialect;
  createPipe(): StreamPipe<Uint8Array, StreamOutput>;
  readResponse(upstreamBody: Buffer): ResponseReading;
  errorEvent(
    error: { readonly type: string; readonly message: string },
    requestId: string,
  ): Uint8Array;
  /**
   * What is sent while a stream has no output, and while its end waits for the ledger: an event or
   * a comment that clients ignore. Called between two events of the stream; its output is sent at
   * once.
   */
  keepAlive(requestId: string): Uint8Array;
  /**
   * The tail of a complete stream, if {@link keepAlive} was called after the end. Absent if the
   * events have no numbers, so that the tail stays as it was.
   */
  repeatTail?(): StreamOutput;
  /**
   * Adds the charge to the usage in a body or in the end of a stream. Absent if the bytes of the
   * upstream are passed on as they are.
   *
   * @param chargeUsd - Exact, as decimal text.
   */
  addCharge?<Written extends StreamOutput | string>(written: Written, chargeUsd: string): Written;
  /**
   * The complete response, as the client gets it, once it was read or its stream has ended. Only in
   * formats whose responses can be kept.
   */
  finished?(): FinishedResponse | undefined;
}
