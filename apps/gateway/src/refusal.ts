/** What the gateway answers when it does not serve a request, and how that is written. */

import type { Response } from 'express';
import type { StoreUnavailableError } from '@gateway/balance-store';
import { errorBody } from '@gateway/translator';

/** The two request formats: they differ in two extra members of an error. */
export type Dialect = 'messages' | 'chat.completions';

export interface Refusal {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  /** Path of the field at fault, for chat-completions clients. */
  readonly param?: string | null;
  readonly code?: string | null;
  /** One of the provider's stable codes, on which its SDKs act. */
  readonly errorCode?: string;
  readonly retryAfterSeconds?: number;
  /** For the operator's log: what is wrong within. Clients are not told. */
  readonly fault?: string;
  /** Tells SDKs whether trying again can help, where the status alone would mislead them. */
  readonly shouldRetry?: boolean;
}

/** Writes a refusal. Nothing may have been sent before. */
export function sendRefusal(
  res: Response,
  refusal: Refusal,
  context: { readonly dialect: Dialect; readonly requestId: string },
): void {
  const body = errorBody({
    type: refusal.type,
    message: refusal.message,
    param: refusal.param ?? null,
    code: refusal.code ?? null,
    errorCode: refusal.errorCode,
    requestId: context.requestId,
    dialect: context.dialect,
  });
  res.writeHead(refusal.status, {
    ...requestIdHeaders(context.requestId),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...retryHeaders(refusal),
  });
  res.end(body);
}

/** What tells an SDK when, and whether, to try again. */
export function retryHeaders(refusal: Refusal): Record<string, string> {
  return {
    ...(refusal.retryAfterSeconds === undefined
      ? {}
      : { 'retry-after': String(refusal.retryAfterSeconds) }),
    ...(refusal.shouldRetry === undefined ? {} : { 'x-should-retry': String(refusal.shouldRetry) }),
  };
}

/** The names under which either SDK family looks for a request's id, and the gateway's own. */
export function requestIdHeaders(
  requestId: string,
  upstreamRequestId?: string,
): Record<string, string> {
  return {
    'x-gateway-request-id': requestId,
    'x-request-id': requestId,
    'request-id': upstreamRequestId ?? requestId,
  };
}

/** Rounds a wait up, so that waiting exactly that long is enough. */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}

export function storeUnavailable(error: StoreUnavailableError): Refusal {
  return {
    status: 503,
    type: 'api_error',
    message: 'the gateway cannot reach its ledger at the moment; nothing was charged',
    retryAfterSeconds: 5,
    fault: error.message,
  };
}
