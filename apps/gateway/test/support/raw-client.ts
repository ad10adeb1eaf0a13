/** A client that sends raw bytes, so that the test decides what is sent and when. */

import { connect } from 'node:net';
import type { Socket } from 'node:net';

export interface RawClient {
  readonly socket: Socket;
  send(bytes: string | Uint8Array): void;
  /** Everything received so far. */
  received(): string;
  /** Resolves with everything received, once it matches. Fails if the connection ends before. */
  receive(pattern: RegExp): Promise<string>;
  /** Waits until the server has ended its side. Resolves with everything received. */
  untilEnded(): Promise<string>;
}

const open = new Set<Socket>();

export function connectTo(gateway: { readonly url: string }): RawClient {
  const { hostname, port } = new URL(gateway.url);
  // `allowHalfOpen`, so that this side stays open when the server ends its side.
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = '';
  const watchers = new Set<() => void>();
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  open.add(socket);
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    tell();
  });
  socket.on('end', tell);
  socket.on('close', () => {
    open.delete(socket);
    tell();
  });

  function when(isTrue: () => boolean, orFail: () => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (isTrue()) resolve(text);
        else if (orFail()) reject(new Error(`the connection ended after: ${text}`));
        else return;
        watchers.delete(look);
      };
      watchers.add(look);
      look();
    });
  }

  return {
    socket,
    send(bytes) {
      socket.write(bytes);
    },
    received: () => text,
    receive: (pattern) =>
      when(
        () => pattern.test(text),
        () => socket.destroyed || socket.readableEnded,
      ),
    untilEnded: () =>
      when(
        () => socket.destroyed || socket.readableEnded,
        () => false,
      ),
  };
}

/** Disconnects all clients. Call it in `afterEach`. */
export function disconnectAll(): void {
  for (const socket of open) socket.destroy();
}

/** The head of a request. Without `path` and `method`, it is one to `POST /v1/messages`. */
export function headOf(request: {
  readonly apiKey?: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers: readonly string[];
}): string {
  const { apiKey, path = '/v1/messages', method = 'POST', headers } = request;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: gateway',
    'Content-Type: application/json',
    'Anthropic-Version: 2023-06-01',
    ...(apiKey === undefined ? [] : [`Authorization: Bearer ${apiKey}`]),
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** A whole request. */
export function requestOf(apiKey: string, body: unknown, path?: string): string {
  const text = JSON.stringify(body);
  const headers = [`Content-Length: ${String(Buffer.byteLength(text))}`];
  return headOf({ apiKey, ...(path === undefined ? {} : { path }), headers }) + text;
}
