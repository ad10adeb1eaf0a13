/** The listening socket: what a client may take its time for, and how many there may be. */

import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Express } from 'express';
import { ConfigError } from './config.js';
import { errorCode } from './error-code.js';

export interface ConnectionLimits {
  /** From the connection, or the request before on it, to the end of a request's head. */
  readonly headersTimeoutMs: number;
  /** To the end of its body: 32 MiB over a line of 5 Mbit/s. */
  readonly requestTimeoutMs: number;
  /** How often the two above are looked at. */
  readonly checkEveryMs: number;
  /** Between two requests. Longer than load balancers keep theirs, which must be the first to close. */
  readonly idleTimeoutMs: number;
  /** Further ones are closed at once. */
  readonly maxConnections: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  checkEveryMs: 2_000,
  idleTimeoutMs: 75_000,
  maxConnections: 20_000,
};

export function createHttpServer(
  app: RequestListener & Partial<Pick<Express, 'request' | 'response'>>,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): Server {
  const server = createServer(
    {
      joinDuplicateHeaders: true,
      connectionsCheckingInterval: limits.checkEveryMs,
      noDelay: true,
      IncomingMessage: bornWith(app.request, IncomingMessage),
      ServerResponse: bornWith(app.response, ServerResponse),
    },
    app,
  );
  server.headersTimeout = limits.headersTimeoutMs;
  server.requestTimeout = limits.requestTimeoutMs;
  server.keepAliveTimeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  return server;
}

/**
 * Express gives each request and each response a prototype of the application's. To be born with it costs less
 * than to change it later: an object whose prototype changed is, to V8, of a shape that nothing else has.
 */
function bornWith<Class extends typeof IncomingMessage | typeof ServerResponse>(
  prototype: object | undefined,
  Base: Class,
): Class {
  if (prototype === undefined) return Base;
  function Born(...args: unknown[]): unknown {
    return Reflect.construct(Base, args, Born);
  }
  Born.prototype = prototype;
  return Born as unknown as Class;
}

export function listen(
  server: Server,
  at: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const name = errorCode(error) ?? error.message;
      reject(
        new ConfigError([
          `PORT, ADMIN_PORT: cannot listen on ${at.host}:${String(at.port)} (${name})`,
        ]),
      );
    });
    server.listen(at.port, at.host, resolve);
  });
}

export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

export function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  const reachable = address === '0.0.0.0' || address === '::' ? 'localhost' : address;
  return `http://${family === 'IPv6' && reachable !== 'localhost' ? `[${reachable}]` : reachable}:${String(port)}`;
}
