/** What the relay must know of the two response formats. Everything else it does is the same for both. */

import type { StreamPipe, UsageReading } from '@gateway/translator';
import type { Dialect } from '../refusal.js';

export type ResponseReading =
  | {
      readonly outcome: 'read';
      readonly body: Uint8Array | string;
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
    }
  /** A response that costs nothing and says nothing of usage. */
  | { readonly outcome: 'free'; readonly body: Uint8Array }
  | { readonly outcome: 'malformed'; readonly reason: string };

/** Text, or bytes piece by piece. */
export type StreamOutput = string | readonly Uint8Array[];

export interface ResponseFormat {
  readonly dialect: Dialect;
  createPipe(): StreamPipe<Uint8Array, StreamOutput>;
  readResponse(upstreamBody: Buffer): ResponseReading;
  errorEvent(
    error: { readonly type: string; readonly message: string },
    requestId: string,
  ): Uint8Array;
  /** Something clients ignore, sent while the end of a stream waits for the ledger. */
  readonly keepAlive: Uint8Array;
}
