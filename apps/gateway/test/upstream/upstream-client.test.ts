import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { anthropicUpstream } from '../../src/upstream/anthropic.js';
import { createUpstreamClient } from '../../src/upstream/client.js';
import { RequestBody } from '../../src/upstream/request-body.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it.each([1_000, 3_000_000])(
  'sends %i bytes unchanged, and releases a large body once it is sent',
  async (length) => {
    const received: Buffer[] = [];
    let declared: string | undefined;
    let sent = 0;
    const server = createServer((req, res) => {
      declared = req.headers['content-length'];
      req.on('data', (chunk: Buffer) => received.push(chunk));
      // The answer begins, and does not end before the test does.
      req.on('end', () =>
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
      );
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const client = createUpstreamClient(
      anthropicUpstream({ url: `http://127.0.0.1:${String(port)}`, apiKey: 'key' }),
    );

    function send(): { readonly held: WeakRef<object>; readonly answered: Promise<void> } {
      const { body, held } = makeBody(length, () => (sent += 1));
      const answered = new Promise<void>((resolve, reject) => {
        client.send(
          {
            operation: 'messages',
            model: 'any',
            query: '',
            headers: {},
            body,
            bodyBytes: length,
            keyId: 'key',
            accountId: 'acct',
            client: { destroyed: false },
          },
          {
            onRequestStart: () => undefined,
            onResponseStart: () => {
              resolve();
            },
            onResponseData: () => undefined,
            onResponseEnd: () => undefined,
            onResponseError: (_controller, error) => {
              reject(error);
            },
          },
        );
      });
      return { held, answered };
    }
    const { held, answered } = send();
    await answered;
    expect(declared).toBe(String(length));
    expect(Buffer.concat(received).equals(Buffer.alloc(length, 'body'))).toBe(true);
    // A large body's memory is no longer counted, although the answer has not ended.
    expect(sent).toBe(length > 100_000 ? 1 : 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
    expect(held.deref() === undefined).toBe(length > 100_000);
    await client.close();
    server.closeAllConnections();
    server.close();
  },
);

/** A separate function, because a closure would keep a reference to the bytes. */
function makeBody(
  length: number,
  onSent: () => void,
): { readonly body: RequestBody; readonly held: WeakRef<object> } {
  const bytes = Buffer.allocUnsafeSlow(length).fill('body');
  const body = new RequestBody(bytes, onSent);
  return { body, held: new WeakRef(bytes.buffer) };
}
