/**
 * The connections to the upstream: one keep-alive pool, no redirects, no decompression, no stream
 * wrappers. Chunks are handed on in the callback that received them.
 */

import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import { errorCode } from '../error-code.js';
import type { Refusal } from '../refusal.js';
import type { Upstream, UpstreamCall } from './upstream.js';

export interface UpstreamClient extends Pick<Upstream, 'openStream' | 'readFailure'> {
  send(call: UpstreamCall, handler: Dispatcher.DispatchHandler): void;
  close(): Promise<void>;
}

export interface UpstreamTimeouts {
  /**
   * Until the response head. The model sends nothing before it has the whole of an unstreamed
   * response.
   */
  readonly headersMs: number;
  /** Between two chunks of a response. The upstream pings its streams far more often. */
  readonly silenceMs: number;
}

const TIMEOUTS: UpstreamTimeouts = { headersMs: 600_000, silenceMs: 120_000 };
const CONNECT_TIMEOUT_MS = 10_000;
/** Releasing a body once it is sent takes a few microseconds, which pays from this size on. */
const LARGE_BODY_BYTES = 64 * 1024;

export function createUpstreamClient(
  upstream: Upstream,
  timeouts: Partial<UpstreamTimeouts> = {},
): UpstreamClient {
  const { headersMs, silenceMs } = { ...TIMEOUTS, ...timeouts };
  const pool = new Pool(upstream.origin, {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    headersTimeout: headersMs,
    bodyTimeout: silenceMs,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    openStream: (headers) => upstream.openStream(headers),
    readFailure: (...response) => upstream.readFailure(...response),
    send(call, handler) {
      const { path, headers, body } = upstream.request(call);
      const { length } = body;
      pool.dispatch(
        {
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
    },
    close: () => pool.destroy(),
  };
}

/** undici documents iterables as bodies, but its types do not have them. */
function iterable(body: Iterable<Uint8Array>): Readable {
  return body as unknown as Readable;
}

/** The refusal for a connection that was refused, reset or timed out, so that no response came. */
export function refusalOfConnectionError(error: Error): Refusal {
  const code = errorCode(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return { status: 504, type: 'timeout_error', message: 'the upstream did not answer in time' };
  }
  return { status: 502, type: 'api_error', message: 'the upstream cannot be reached' };
}
