/** Where clients of a cloud get their tokens: a server of its own, as in the clouds. */

import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readBody } from '../../client-request.js';
import { closed, listen } from '../../simulation.js';

export interface IssuedToken {
  /** Who got it, in the cloud's terms. */
  readonly subject: string;
  readonly expiresAtMs: number;
}

/** The tokens that a cloud knows. */
export interface Tokens {
  issue(token: IssuedToken): string;
  find(token: string | undefined): IssuedToken | undefined;
}

/** @param prefix - What all of the cloud's tokens begin with. */
export function createTokens(prefix: string): Tokens {
  const issued = new Map<string, IssuedToken>();
  return {
    issue(token) {
      const text = createHash('sha256')
        .update(`${String(issued.size)}\0${token.subject}`)
        .digest('base64url');
      issued.set(`${prefix}${text}`, token);
      return `${prefix}${text}`;
    },
    find: (token) => (token === undefined ? undefined : issued.get(token)),
  };
}

export interface TokenRequest {
  readonly pathname: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface TokenReply {
  readonly status: number;
  readonly body: unknown;
}

export interface TokenEndpoint {
  /** Without a path. */
  readonly url: string;
  close(): Promise<void>;
}

/** Keeps no journal, because the requests contain credentials. */
export async function startTokenEndpoint(
  answer: (request: TokenRequest) => TokenReply,
): Promise<TokenEndpoint> {
  const server = createServer((req, res) => {
    void (async () => {
      const body = String((await readBody(req)) ?? '');
      const { pathname } = new URL(req.url ?? '', 'http://tokens');
      const reply =
        req.method === 'POST'
          ? answer({ pathname, headers: req.headers, body })
          : { status: 405, body: { error: 'invalid_request' } };
      res.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8' });
      res.end(JSON.stringify(reply.body));
    })();
  });
  await listen(server, {});
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, close: () => closed(server) };
}
