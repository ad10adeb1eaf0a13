/**
 * The connection to the model API: one keep-alive pool, no redirects, no decompression, no stream
 * wrappers. Bytes are handed on in the callback that received them.
 */

import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { Dispatcher } from 'undici';
import type { RequestBody } from './request-body.js';

export interface UpstreamTarget {
  readonly url: string;
  readonly apiKey: string;
}

export interface UpstreamRequest {
  /** Path and query, as the client sent the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
}

export interface UpstreamClient {
  send(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void;
  close(): Promise<void>;
}

/** Until the first byte of the response head: a long answer that is not streamed is silent until then. */
const HEADERS_TIMEOUT_MS = 600_000;
/** Between two bytes of a response: the upstream pings its streams far more often. */
const SILENCE_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 10_000;

/** From here on it is worth a few microseconds to be rid of a body once it is sent. */
const LARGE_BODY_BYTES = 64 * 1024;

export function createUpstreamClient(
  upstream: UpstreamTarget & {
    readonly silenceTimeoutMs?: number;
    readonly headersTimeoutMs?: number;
  },
): UpstreamClient {
  const { origin, pathname } = new URL(upstream.url);
  const prefix = pathname.replace(/\/+$/, '').replace(/\/v1$/, '');
  const pool = new Pool(origin, {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    headersTimeout: upstream.headersTimeoutMs ?? HEADERS_TIMEOUT_MS,
    bodyTimeout: upstream.silenceTimeoutMs ?? SILENCE_TIMEOUT_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    send(request, handler) {
      const { body } = request;
      const { length } = body;
      pool.dispatch(
        {
          method: 'POST',
          path: prefix + request.path,
          headers: {
            ...request.headers,
            'x-api-key': upstream.apiKey,
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

/** undici documents iterables as bodies; its types forget them. */
function iterable(body: Iterable<Uint8Array>): Readable {
  return body as unknown as Readable;
}
