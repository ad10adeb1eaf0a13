/** Refusals: the error, its headers, and the moment at which it is sent. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StoreUnavailableError } from '@gateway/balance-store';
import { errorBody } from '@gateway/translator';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { awaitsContinue } from './continue.js';

/** The request formats. An error in one of OpenAI's formats also has `param` and `code`. */
export type Dialect = 'messages' | 'chat.completions' | 'responses';

/** A refusal with 400: the request is wrong. The message begins with the field at fault, if any. */
export function badRequest(problem: string, param?: string | null): Refusal {
  return newRefusal('invalid_request', { problem, ...(param === undefined ? {} : { param }) });
}

export interface RefusalContext {
  readonly dialect: Dialect;
  readonly requestId: string;
}

/** Writes a refusal as the whole response. Call it before anything is sent. */
export function sendRefusal(res: ServerResponse, refusal: Refusal, context: RefusalContext): void {
  res.end(writeRefusal(res, refusal, context));
}

/** Writes a refusal of a request whose body may not have arrived completely. */
export function sendEarlyRefusal(
  req: IncomingMessage,
  res: ServerResponse,
  refusal: Refusal,
  context: RefusalContext,
): void {
  if (req.complete) {
    sendRefusal(res, refusal, context);
    return;
  }
  // Most bodies arrive in the same packet as the head, and Node parses them after this tick.
  setImmediate(() => {
    if (req.complete) sendRefusal(res, refusal, context);
    else refuseUpload(req, res, writeRefusal(closing(res), refusal, context));
  });
}

/**
 * Closes the connection afterwards, so that the rest of the body is not read as the next request.
 */
function closing(res: ServerResponse): ServerResponse {
  return res.setHeader('connection', 'close');
}

/**
 * Sends the refusal, then reads and discards the rest of the body for a while. If the connection
 * were closed while the client still sends, the client would get a TCP reset, and its system would
 * discard the response even if it had already arrived.
 */
function refuseUpload(req: IncomingMessage, res: ServerResponse, body: string): void {
  res.write(body);
  void discardBody(req).then(() => res.end());
}

const DISCARD_MS = 30_000;
const DISCARD_SILENCE_MS = 5_000;
/**
 * How long to wait for a body for which no `100 Continue` was sent. Most clients that expect `100
 * Continue` send nothing after a refusal, but some send the body without waiting.
 */
const UNINVITED_SILENCE_MS = 1_000;

/**
 * Resolves when the client has sent its body or has left, or when one of the limits above has
 * passed.
 */
function discardBody(req: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(deadline);
      clearTimeout(silence);
      req.off('data', onData).off('end', finish).off('close', finish).off('error', finish);
      resolve();
    };
    const deadline = setTimeout(finish, DISCARD_MS);
    const silence = setTimeout(
      finish,
      awaitsContinue(req) ? UNINVITED_SILENCE_MS : DISCARD_SILENCE_MS,
    );
    const onData = (): void => {
      silence.refresh();
    };
    req.on('data', onData).on('end', finish).on('close', finish).on('error', finish);
    if (req.destroyed) finish();
    else req.resume();
  });
}

/** Writes the head. @returns the body */
function writeRefusal(res: ServerResponse, refusal: Refusal, context: RefusalContext): string {
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
  return body;
}

/** The headers by which an SDK decides when, and whether, to try again. */
export function retryHeaders({ retryAfterSeconds, shouldRetry }: Refusal): Record<string, string> {
  return {
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    ...(shouldRetry === undefined ? {} : { 'x-should-retry': String(shouldRetry) }),
  };
}

/**
 * The headers that carry the request's id: the gateway's own, and one for each SDK family.
 * `request-id` is the upstream's id if there is one.
 */
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

/** The values of an error that states how long to wait: rounded up, so that it is enough. */
export function waitOf(waitMs: number): {
  readonly wait: string;
  readonly retryAfterSeconds: number;
} {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const wait = `${String(seconds)} ${seconds === 1 ? 'second' : 'seconds'}`;
  return { wait, retryAfterSeconds: seconds };
}

export function storeUnavailable({ message }: StoreUnavailableError): Refusal {
  return newRefusal('ledger_unavailable', { fault: message });
}
