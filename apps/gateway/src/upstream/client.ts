/**
 * The connections to the upstream: one keep-alive pool, no redirects, no decompression, no stream
 * wrappers. Chunks are handed on in the callback that received them.
 */

import type { Readable } from 'node:stream';
import { EnvHttpProxyAgent, Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { errorCode } from '../base/error-code.js';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { waitOf } from '../http/refusal.js';
import { CredentialError } from './homes/credentials/renewed-token.js';
import { sendToHome } from './homes/send-to-home.js';
import { upstreamLimit } from './upstream-limit.js';
import type {
  AskedOf,
  Upstream,
  UpstreamAnswers,
  UpstreamCall,
  UpstreamRequest,
} from './upstream.js';

export interface UpstreamClient extends Pick<Upstream, 'refusalFor'> {
  send(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void;
  /** How the answer to a call is read. Of several accounts, as that of the last that got it. */
  answersTo(call: UpstreamCall): UpstreamAnswers;
  /** The names of the accounts that may answer; absent if there is only one account. */
  mayAnswer?(asked: AskedOf): readonly string[];
  /** Reports the tokens that a call used, for the ceiling of its account. */
  used?(call: UpstreamCall, tokens: number): void;
  close(): Promise<void>;
}

export interface UpstreamTimeouts {
  /**
   * The time until the response head. The upstream sends the first byte of a plain response only
   * when the response is complete.
   */
  readonly headersMs: number;
  /** The time between two chunks of a response. The upstream pings its streams far more often. */
  readonly silenceMs: number;
}

const TIMEOUTS: UpstreamTimeouts = { headersMs: 600_000, silenceMs: 120_000 };
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * Bodies of this size or more are released once they are sent. For smaller bodies this would cost
 * more (7 µs) than it saves.
 */
const LARGE_BODY_BYTES = 64 * 1024;

export function createUpstreamClient(
  upstream: Upstream,
  timeouts: Partial<UpstreamTimeouts> = {},
  proxies: ProxyVariables = {},
): UpstreamClient {
  const { headersMs, silenceMs } = { ...TIMEOUTS, ...timeouts };
  const options = {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    headersTimeout: headersMs,
    bodyTimeout: silenceMs,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    // With HTTP/2, one broken connection would end all the streams that share it, and undici would
    // send some requests a second time.
    allowH2: false,
  };
  const { origin } = upstream;
  const pool = openProxyAgent(proxies, options) ?? new Pool(origin, options);
  function dispatch(
    { path, headers, body }: UpstreamRequest,
    handler: Dispatcher.DispatchHandler,
  ): void {
    const { length } = body;
    pool.dispatch(
      {
        origin,
        method: 'POST',
        path,
        headers: {
          ...headers,
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          'content-length': String(length),
        },
        body: length < LARGE_BODY_BYTES ? body.take() : iterable(body.pieces()),
      },
      handler,
    );
  }

  const { answerForm } = upstream;

  return {
    ...(upstream.refusalFor && { refusalFor: upstream.refusalFor }),
    answersTo: () => upstream,
    send(call, handler) {
      const fail = (error: unknown): void => {
        handler.onResponseError?.(NO_CONTROLLER, toError(error));
      };
      if (answerForm !== undefined) {
        const request = (each: UpstreamCall) => upstream.request(each);
        sendToHome({ request, dispatch, answerForm }, call, handler).catch(fail);
        return;
      }
      const request = upstream.request(call);
      if (!('then' in request)) {
        dispatch(request, handler);
        return;
      }
      request
        .then((made) => {
          dispatch(made, handler);
        })
        .catch(fail);
    },
    close: () => pool.destroy(),
  };
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** For exchanges that end while they have no connection. */
export const NO_CONTROLLER: Dispatcher.DispatchController = {
  aborted: true,
  paused: false,
  reason: null,
  rawHeaders: null,
  rawTrailers: null,
  abort: () => undefined,
  pause: () => undefined,
  resume: () => undefined,
};

/** The proxies that the environment names, by the variables that most programs read. */
export interface ProxyVariables {
  readonly httpsProxy?: string | undefined;
  readonly httpProxy?: string | undefined;
  readonly noProxy?: string | undefined;
}

/** @returns `undefined` if the environment names no proxy */
export function openProxyAgent(
  proxies: ProxyVariables,
  options: EnvHttpProxyAgent.Options,
): EnvHttpProxyAgent | undefined {
  return proxies.httpsProxy === undefined && proxies.httpProxy === undefined
    ? undefined
    : new EnvHttpProxyAgent({ ...options, ...given(proxies) });
}

/** If a variable were undefined, undici would read it from the process's environment. */
function given({ httpsProxy = '', httpProxy = '', noProxy = '' }: ProxyVariables) {
  return { httpsProxy, httpProxy, noProxy };
}

/** undici documents iterables as bodies, but its types do not list them. */
function iterable(body: Iterable<Uint8Array>): Readable {
  return body as unknown as Readable;
}

/**
 * The upstream account of the request is at its ceiling, or no upstream account can be used for a
 * while. None has accepted the request.
 */
export class UpstreamBusyError extends Error {
  override readonly name = 'UpstreamBusyError';
  readonly retryAfterMs: number;
  /** Whether the upstream's own limits are the reason. */
  readonly isLimit: boolean;
  constructor(retryAfterMs: number, cause: 'limit' | 'busy') {
    super(
      cause === 'limit'
        ? 'the upstream limits this request on all its accounts'
        : 'no upstream account can take the request now',
    );
    this.retryAfterMs = retryAfterMs;
    this.isLimit = cause === 'limit';
  }
}

/** The client left while its request waited to be sent. No upstream account has accepted it. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
  constructor() {
    super('the client left before an upstream account accepted its request');
  }
}

/**
 * The refusal if no response came: the accounts were busy, the client left, or the connection was
 * refused, reset or timed out.
 */
export function refusalOfConnectionError(error: Error): Refusal {
  if (error instanceof UpstreamBusyError) {
    const { retryAfterSeconds } = waitOf(error.retryAfterMs);
    if (error.isLimit) return upstreamLimit(retryAfterSeconds);
    return newRefusal('upstream_overloaded', { retryAfterSeconds });
  }
  if (error instanceof ClientGoneError) {
    // Nobody receives it. The status is that of a client that leaves before its body was read.
    return newRefusal('client_left');
  }
  if (error instanceof CredentialError) return newRefusal('upstream_refused_credential');
  const code = errorCode(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return newRefusal('upstream_timeout');
  }
  return newRefusal('upstream_unreachable');
}
