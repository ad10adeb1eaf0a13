/** The listening socket: what a client may take its time for, how many there may be, and how they are left. */

import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
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

const connectionsOf = new WeakMap<Server, Set<Socket>>();

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
  // By default Node invites every body at once. Here it is invited by whoever is about to read it.
  server.on('checkContinue', (req, res) => {
    waiting.add(req);
    app(req, res);
  });
  // A client that closes its side of the connection after its request still gets its answer. Documented in
  // Node's source only; without it such a client counts as gone.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.headersTimeout = limits.headersTimeoutMs;
  server.requestTimeout = limits.requestTimeoutMs;
  server.keepAliveTimeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  const connections = new Set<Socket>();
  connectionsOf.set(server, connections);
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
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

/** Requests whose clients expect `100 Continue`, as Node has found, and have not been sent it. */
const waiting = new WeakSet<IncomingMessage>();

/** Whether the client may be waiting for a `100 Continue` before it sends its body. */
export function awaitsContinue(req: IncomingMessage): boolean {
  return waiting.has(req);
}

/** To be called before the body of a request is read. */
export function inviteBody(req: IncomingMessage, res: ServerResponse): void {
  if (waiting.delete(req)) res.writeContinue();
}

export function connectionsOn(server: Server): number {
  return connectionsOf.get(server)?.size ?? 0;
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

/** How often a draining server looks at its connections. */
const LOOK_EVERY_MS = 20;
/** A client that has its answer may be sending its next request already. */
const IDLE_MS = 250;
/** A client that has connected sends at once. */
const SILENT_MS = 2_000;

export interface Patience {
  /** What is not over then is cut. */
  readonly deadlineMs: number;
  /** Whether something runs that no connection shows. */
  readonly isWorking?: () => boolean;
}

/**
 * Accepts no connection more, answers what comes on those that there are, and ends each when its client
 * has all that it was sent. Responses should say `connection: close` from now on.
 *
 * Node's own `close` is not that patient: it destroys connections whose request may be on its way, and
 * those whose answer has not left whole.
 */
export async function drain(
  server: Server,
  { deadlineMs, isWorking = () => false }: Patience,
): Promise<void> {
  const connections = connectionsOf.get(server) ?? new Set();
  const idleSince = new WeakMap<Socket, number>();
  const startedAt = performance.now();
  const stopped = new Promise((resolve) => {
    NetServer.prototype.close.call(server, resolve);
  });

  for (;;) {
    const now = performance.now();
    for (const socket of connections) if (isLeft(socket, now)) socket.destroy();
    if (connections.size === 0 && !isWorking()) break;
    if (now - startedAt >= deadlineMs) break;
    await sleep(LOOK_EVERY_MS);
  }
  for (const socket of connections) socket.destroy();
  await stopped;
  await close(server);

  function isLeft(socket: Socket, now: number): boolean {
    if (socket.bytesRead === 0) return now - startedAt >= SILENT_MS;
    if (!isIdle(socket)) {
      idleSince.delete(socket);
      return false;
    }
    const since = idleSince.get(socket) ?? now;
    idleSince.set(socket, since);
    return now - since >= IDLE_MS;
  }
}

/** Node sets a connection's timeout when it waits for another request, and clears it when one comes. */
function isIdle({ timeout, writableLength }: Socket): boolean {
  return timeout !== undefined && timeout > 0 && writableLength === 0;
}

/** Frees what a server holds of which nobody waits for an answer. */
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
