/**
 * Answers requests that never reach a route: those that Node's HTTP parser refuses, those that did
 * not arrive in time, and those to which Node would answer itself. Node's own answers have no body,
 * and SDKs cannot read them.
 */

import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorBody } from '@gateway/translator';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { requestIdHeaders, retryHeaders, sendEarlyRefusal } from './refusal.js';
import type { Dialect } from './refusal.js';
import { newRequestId } from './request-id.js';

/** Node sets `_httpMessage` to the response in progress; its own handler reads it too. */
type ClientSocket = Duplex & { readonly _httpMessage?: ServerResponse | null };

const answered = new WeakMap<Duplex, number>();
/** How long the client may take to read the answer. */
const CLOSE_MS = 1_000;

/** The status that the client of a broken request got; `undefined` if it left by itself. */
export function brokenStatusOn(socket: Socket): number | undefined {
  return answered.get(socket);
}

/** Sends the refusal, unless a response has begun, and closes the connection. */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer },
  socket: ClientSocket,
): void {
  const url = socket._httpMessage?.req.url ?? targetOf(error.rawPacket);
  refuseConnection(socket, refusalOf(error.code), url);
}

/** Answers what Node would answer itself, or not at all. */
export function answerForNode(server: Server): void {
  server.on('checkExpectation', (req, res) => {
    refuse(req, res, newRefusal('unsupported_expectation'));
  });
  server.on('connect', (req, socket) => {
    refuseConnection(socket, NO_PROXY, req.url ?? '');
  });
}

/**
 * Refuses a request without `Host`, which HTTP/1.1 demands.
 *
 * @returns whether it was refused
 */
export function refuseWithoutHost(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.headers.host !== undefined || req.httpVersion !== '1.1') return false;
  refuse(req, res, newRefusal('host_missing'));
  return true;
}

function refuse(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
  res.setHeader('connection', 'close');
  const requestId = newRequestId(Date.now());
  sendEarlyRefusal(req, res, refusal, { dialect: dialectOf(req.url ?? ''), requestId });
}

function refuseConnection(socket: ClientSocket, refusal: Refusal, url: string): void {
  // The parser reports each further packet of the same connection.
  if (answered.has(socket)) return;
  answered.set(socket, refusal.status);
  if (!socket.writable || socket._httpMessage?.headersSent === true) {
    socket.destroy();
    return;
  }
  const requestId = newRequestId(Date.now());
  const body = errorBody({
    type: refusal.type,
    message: refusal.message,
    param: null,
    code: null,
    requestId,
    dialect: dialectOf(url),
  });
  const headers = {
    ...requestIdHeaders(requestId),
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...retryHeaders(refusal),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `${String(refusal.status)} ${STATUS_CODES[refusal.status] ?? ''}`;
  // Closed at once, the client could get a TCP reset in place of the answer.
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
  setTimeout(() => socket.destroy(), CLOSE_MS).unref();
}

function dialectOf(url: string): Dialect {
  return /^\/v1\/(chat|responses)\b/.test(url) ? 'chat.completions' : 'messages';
}

/** A request that did not arrive in time. */
export const LATE_REQUEST = newRefusal('late_request');

const NO_PROXY = newRefusal('not_a_proxy');

/** The code of Node's own error, with which a late request is answered as Node's late heads are. */
export const LATE_CODE = 'ERR_HTTP_REQUEST_TIMEOUT';

function refusalOf(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return newRefusal('headers_too_large');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return newRefusal('chunk_extensions_too_large');
    case LATE_CODE:
      return LATE_REQUEST;
    default:
      return newRefusal('invalid_http');
  }
}

/** The target of the request line, if the packet begins with one. */
function targetOf(packet: Buffer | undefined): string {
  return /^[A-Z]+ (\S+)/.exec(packet?.subarray(0, 200).toString('latin1') ?? '')?.[1] ?? '';
}
