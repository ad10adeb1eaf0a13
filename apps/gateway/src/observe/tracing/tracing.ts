/** Traces of requests, as the routes see them. `start-tracing.ts` implements them. */

import type { IncomingHttpHeaders } from 'node:http';
import type { KeyRecord } from '@gateway/balance-store';
import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { TraceIds } from '../../base/trace-ids.js';
import type { ResponseFormat } from '../../http/response-format.js';
import type { UpstreamCall } from '../../upstream/upstream.js';
import type { ExchangeEndpoint, FinishedRequest } from '../finished-request.js';

export interface Tracing {
  /** Begins the trace of a request that the limits of its key admitted. */
  begin(request: AdmittedRequest): RequestTrace;
  /** Sends what is waiting, for at most some seconds. Call it after the last request has ended. */
  close(): Promise<void>;
}

export interface AdmittedRequest {
  readonly requestId: string;
  readonly endpoint: ExchangeEndpoint;
  readonly key: Pick<KeyRecord, 'id' | 'accountId'>;
  /** The client's headers. They may name the trace that the request belongs to. */
  readonly headers: IncomingHttpHeaders;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Call either {@link RequestTrace.end} or {@link RequestTrace.fail}, once. */
export interface RequestTrace {
  /** `undefined` if the request is not sampled. */
  readonly ids: TraceIds | undefined;
  /**
   * Begins the span of the call to the upstream, if the request is sampled.
   *
   * @returns the call with the headers that name its span, and the format with a reader for the
   * facts of the response for the span
   */
  toUpstream(sent: Sent): Sent;
  end(result: RequestResult): void;
  /** The gateway itself failed. */
  fail(): void;
}

export interface Sent {
  readonly call: UpstreamCall;
  readonly format: ResponseFormat;
}

export type RequestResult = Pick<
  FinishedRequest,
  'status' | 'model' | 'fault' | 'report' | 'account'
>;

export interface TracingParts {
  readonly registry: Registry;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}
