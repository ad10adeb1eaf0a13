/**
 * Answers a request that Node's HTTP parser refuses, or whose head or body did not arrive in time.
 * Node itself would send a status line without a body, which SDKs cannot read.
 */

import { STATUS_CODES } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody } from '@gateway/translator';
import { requestIdHeaders, retryHeaders } from './refusal.js';
import type { Refusal } from './refusal.js';
import { newRequestId } from './request-id.js';

/** Node sets `_httpMessage` to the response in progress; its own handler reads it too. */
type ClientSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

const answered = new WeakSet<Socket>();
/** How long the client may take to read the answer. */
const CLOSE_MS = 1_000;

/** Sends the refusal, unless a response has begun, and closes the connection. */
export function answerBrokenRequest(
  error: NodeJS.ErrnoException & { readonly rawPacket?: Buffer },
  socket: ClientSocket,
): void {
  // The parser reports each further packet of the same connection.
  if (answered.has(socket)) return;
  answered.add(socket);
  const response = socket._httpMessage ?? undefined;
  if (!socket.writable || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  const refusal = refusalOf(error.code);
  const requestId = newRequestId(Date.now());
  const url = response?.req.url ?? targetOf(error.rawPacket);
  const body = errorBody({
    ...{ type: refusal.type, message: refusal.message, param: null, code: null, requestId },
    dialect: /^\/v1\/(chat|responses)\b/.test(url) ? 'chat.completions' : 'messages',
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

function refusalOf(code: string | undefined): Refusal {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, type: 'invalid_request_error', message: 'headers: are too large' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, type: 'request_too_large', message: 'chunk extensions: are too large' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        ...{ status: 408, type: 'timeout_error' },
        message: 'the request did not arrive completely in time; nothing was charged',
      };
    default:
      return {
        ...{ status: 400, type: 'invalid_request_error' },
        message: 'the request is not valid HTTP',
      };
  }
}

/** The target of the request line, if the packet begins with one. */
function targetOf(packet: Buffer | undefined): string {
  return /^[A-Z]+ (\S+)/.exec(packet?.subarray(0, 200).toString('latin1') ?? '')?.[1] ?? '';
}
