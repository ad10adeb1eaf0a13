/** The HTTP server: timeouts, connection limit and graceful shutdown. */

import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../base/error-code.js';
import { MINUTE_MS } from '../base/times.js';
import { ConfigError } from '../config/config.js';
import type { Config } from '../config/config.js';
import { Arrival } from './arrivals.js';
import type { ArrivalLimits } from './arrivals.js';
import {
  LATE_CODE,
  answerBrokenRequest,
  answerForNode,
  refuseWithoutHost,
} from './broken-request.js';
import { holdBody } from './continue.js';
import { Departure, isWaitedFor } from './departures.js';
import { httpUrl } from './http-url.js';

export interface ConnectionLimits extends ArrivalLimits {
  /**
   * How long a request's head may take. The time starts with the connection for its first request,
   * and with the first byte of each later request.
   */
  readonly headersTimeoutMs: number;
  /**
   * How long a client may read nothing, or less than 1 KiB per second, of an answer whose end was
   * written.
   */
  readonly clientStallMs: number;
  /** How often the pace of requests that arrive and answers that leave is checked. */
  readonly checkEveryMs: number;
  /**
   * How long a connection may be idle between two requests. Longer than the idle timeout of a load
   * balancer in front; otherwise the load balancer could send a request on a connection that is
   * being closed.
   */
  readonly idleTimeoutMs: number;
  /** Further connections are closed at once. */
  readonly maxConnections: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: MINUTE_MS,
  uploadStallMs: MINUTE_MS,
  uploadMaxMs: 600_000,
  clientStallMs: 120_000,
  checkEveryMs: 2_000,
  idleTimeoutMs: 75_000,
  maxConnections: 20_000,
};

/** @returns the default limits, with the times that the operator chose */
export function connectionLimitsOf(times: Config['clientTimes']): ConnectionLimits {
  const shortest = Math.min(...Object.values<number>({ ...times }));
  const checkEveryMs = Math.min(CONNECTION_LIMITS.checkEveryMs, shortest / 4);
  return { ...CONNECTION_LIMITS, ...times, checkEveryMs };
}

interface Connection {
  readonly arrival: Arrival;
  readonly departure: Departure;
}

const connectionsOf = new WeakMap<Server, Map<Socket, Connection>>();

export function createHttpServer(
  app: RequestListener,
  limits: ConnectionLimits = CONNECTION_LIMITS,
): Server {
  const connections = new Map<Socket, Connection>();
  const serve: RequestListener = (req, res) => {
    connections.get(req.socket)?.arrival.begin(req);
    if (!refuseWithoutHost(req, res)) app(req, res);
  };
  const server = createServer(
    {
      joinDuplicateHeaders: true,
      requireHostHeader: false,
      connectionsCheckingInterval: limits.checkEveryMs,
      noDelay: true,
    },
    serve,
  );
  // By default Node sends `100 Continue` at once. Here it is sent right before the body is read.
  server.on('checkContinue', (req, res) => {
    holdBody(req);
    serve(req, res);
  });
  server.on('clientError', answerBrokenRequest);
  answerForNode(server);
  // A client that half-closes the connection after its request still gets its response. Without
  // this option, which only Node's source documents, Node would close the whole connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.headersTimeout = limits.headersTimeoutMs;
  // Node would end every request after one time, whatever has arrived. `arrivals.ts` judges them.
  server.requestTimeout = 0;
  server.keepAliveTimeout = limits.idleTimeoutMs;
  server.maxConnections = limits.maxConnections;
  connectionsOf.set(server, connections);
  server.on('connection', (socket) => {
    connections.set(socket, { arrival: new Arrival(), departure: new Departure() });
    socket.once('close', () => connections.delete(socket));
  });
  endLateConnections(server, connections, limits);
  return server;
}

/** The most intervals between two checks that count: a process without CPU reads nothing. */
const MOST_INTERVALS = 2;

/** Refuses requests that arrive too slowly, and disconnects clients that read too slowly. */
function endLateConnections(
  server: Server,
  connections: ReadonlyMap<Socket, Connection>,
  limits: ConnectionLimits,
): void {
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const elapsedMs = Math.min(now - lookedAt, MOST_INTERVALS * limits.checkEveryMs);
    lookedAt = now;
    for (const [socket, { arrival, departure }] of connections) {
      if (departure.look(elapsedMs, socket, limits.clientStallMs)) {
        socket.destroy();
        continue;
      }
      if (!arrival.look(elapsedMs, limits)) continue;
      const error = Object.assign(new Error('the request is late'), { code: LATE_CODE });
      server.emit('clientError', error, socket);
    }
  }, limits.checkEveryMs).unref();
  server.once('close', () => {
    clearInterval(timer);
  });
}

export function connectionsOn(server: Server): number {
  return connectionsOf.get(server)?.size ?? 0;
}

/**
 * How many connections may wait to be accepted. With Node's default of 511, thousands of clients
 * that connect at once lose packets, and try again only after seconds. The system may allow fewer.
 */
const BACKLOG = 4_096;

export function listen(
  server: Server,
  {
    host,
    port,
    variable = 'PORT',
  }: {
    readonly host: string;
    readonly port: number;
    /** The variable that sets the port; `PORT` when absent. */
    readonly variable?: 'PORT' | 'ADMIN_PORT';
  },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const name = errorCode(error) ?? error.message;
      const advice =
        name === 'EADDRINUSE'
          ? `: another program listens there; to use another port: ${variable}=${String(port + 10)} npm start`
          : '';
      reject(
        new ConfigError([
          `${variable}: cannot listen on ${host}:${String(port)} (${name})${advice}`,
        ]),
      );
    });
    server.listen({ host, port, backlog: BACKLOG }, resolve);
  });
}

/** How often a draining server checks its connections. */
const LOOK_EVERY_MS = 20;
/**
 * The most time between two checks that counts as waiting. While this process gets no CPU, requests
 * wait unread in their sockets, and that time must not count as the client's silence.
 */
const MOST_PER_LOOK_MS = 40;
/** How long a connection must be idle before it is closed: its next request may be on the way. */
const IDLE_MS = 250;
/** How long a new connection may send nothing. Most clients send as soon as they connect. */
const SILENT_MS = 2_000;

export interface Patience {
  /** Requests that are not finished after this time are cut off. */
  readonly deadlineMs: number;
  /**
   * How long a client may read nothing, or less than 1 KiB per second, of an answer that was not
   * charged.
   */
  readonly clientStallMs: number;
  /** Whether requests whose client has disconnected are still running. They are awaited too. */
  readonly isWorking?: () => boolean;
}

/**
 * Stops accepting connections, answers requests on the open ones, and closes each connection when
 * its client has received everything. Responses should carry `connection: close` from now on.
 *
 * Node's own `close` destroys connections on which a request may be arriving, and connections whose
 * response has not been sent completely.
 */
export async function drain(
  server: Server,
  { deadlineMs, clientStallMs, isWorking = () => false }: Patience,
): Promise<void> {
  const connections = connectionsOf.get(server) ?? new Map<Socket, Connection>();
  /** The value of `watchedMs` at which each connection became idle. */
  const idleSince = new WeakMap<Socket, number>();
  const departures = new WeakMap<Socket, Departure>();
  const startedAt = performance.now();
  const stopped = new Promise((resolve) => {
    NetServer.prototype.close.call(server, resolve);
  });

  let lookedAt = startedAt;
  let watchedMs = 0;
  for (;;) {
    const now = performance.now();
    const elapsedMs = Math.min(now - lookedAt, MOST_PER_LOOK_MS);
    watchedMs += elapsedMs;
    lookedAt = now;
    for (const socket of connections.keys()) {
      if (isLeft(socket) || isUnread(socket, elapsedMs)) socket.destroy();
    }
    if (connections.size === 0 && !isWorking()) break;
    if (now - startedAt >= deadlineMs) break;
    await sleep(LOOK_EVERY_MS);
  }
  for (const socket of connections.keys()) socket.destroy();
  await stopped;
  await close(server);

  function isLeft(socket: Socket): boolean {
    if (socket.bytesRead === 0) return watchedMs >= SILENT_MS;
    if (!isIdle(socket)) {
      idleSince.delete(socket);
      return false;
    }
    const since = idleSince.get(socket) ?? watchedMs;
    idleSince.set(socket, since);
    return watchedMs - since >= IDLE_MS;
  }

  function isUnread(socket: Socket, elapsedMs: number): boolean {
    if (isWaitedFor(socket)) return false;
    const departure = departures.get(socket) ?? new Departure();
    departures.set(socket, departure);
    return departure.look(elapsedMs, socket, clientStallMs);
  }
}

/**
 * Node sets a timeout on a connection while it waits for the next request, and clears it when one
 * arrives.
 */
function isIdle({ timeout, writableLength }: Socket): boolean {
  return timeout !== undefined && timeout > 0 && writableLength === 0;
}

/** Stops accepting connections and closes idle ones. Resolves when all connections are closed. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

export function urlOf(server: Server): string {
  const { address, port } = server.address() as AddressInfo;
  return httpUrl(address === '0.0.0.0' || address === '::' ? 'localhost' : address, port);
}
