/**
 * Hostile receivers of webhooks: the worst that each can do is to make the attempt to deliver to it
 * fail.
 */

import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  PrivateAddressError,
  isPublicAddress,
  publicLookup,
} from '../../src/observe/notifications/address-guard.js';
import { createWebhookClient } from '../../src/observe/notifications/webhook-client.js';
import type { SendOutcome } from '../../src/observe/notifications/delivery-target.js';
import { until } from '../support/until.js';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

async function serve(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createHttpServer((request, response) => {
    request.resume();
    respond(request, response);
  });
  return `http://127.0.0.1:${String(await listen(server))}/`;
}

/**
 * Starts a receiver that sends these bytes to each connection, closes it, and counts the
 * connections.
 */
async function serveBytes(bytes: string): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => undefined);
    socket.end(bytes);
  });
  const port = await listen(server);
  return { url: `http://127.0.0.1:${String(port)}/`, connections: () => connections };
}

function send(
  url: string,
  {
    allowPrivate = true,
    timeoutMs,
    signal = new AbortController().signal,
  }: { allowPrivate?: boolean; timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<SendOutcome> {
  const client = createWebhookClient({ url, allowPrivate }, timeoutMs);
  cleanUps.push(() => client.close());
  return client.send({ headers: { 'webhook-id': 'evt_1' }, body: '{}' }, signal);
}

const failed = (reason: string): SendOutcome => ({ outcome: 'failed', reason });

describe('a webhook to a receiver', () => {
  it.each([200, 201, 204, 299])('that responds with %i is delivered', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end());
    expect(await send(url)).toEqual({ outcome: 'delivered' });
  });

  it.each([400, 404, 410, 429, 500, 503])('that responds with %i has failed', async (status) => {
    const url = await serve((_, response) => {
      response.writeHead(status, 'words of the receiver').end('words of the receiver');
    });
    expect(await send(url)).toEqual(failed(`the receiver responded with ${String(status)}`));
  });

  it('that redirects to a private address has failed, and the redirect is not followed', async () => {
    let visits = 0;
    const inside = await serve((_, response) => {
      visits += 1;
      response.end();
    });
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await serve((_, response) =>
        response.writeHead(status, { location: inside }).end(),
      );
      expect(await send(url)).toEqual(
        failed(`the receiver responded with ${String(status)}; redirects are not followed`),
      );
    }
    expect(visits).toBe(0);
  });

  it('that never responds has failed after the timeout', async () => {
    const url = await serve(() => undefined);
    expect(await send(url, { timeoutMs: 200 })).toEqual(failed('no response within 0.2 s'));
  });

  it('that never ends its response head has failed after the timeout, even if it keeps sending headers', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('HTTP/1.1 200 OK\r\n');
      const drip = setInterval(() => socket.write('x-drip: 1\r\n'), 20);
      socket.on('close', () => {
        clearInterval(drip);
      });
    });
    const url = `http://127.0.0.1:${String(await listen(server))}/`;
    expect(await send(url, { timeoutMs: 300 })).toEqual(failed('no response within 0.3 s'));
  });

  it('that never ends its response is delivered, and the connection is closed', async () => {
    let closed = 0;
    const url = await serve((_, response) => {
      response.writeHead(200).flushHeaders();
      response.on('close', () => (closed += 1));
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => {
        clearInterval(drip);
      });
    });
    expect(await send(url)).toEqual({ outcome: 'delivered' });
    await until(() => closed === 1);
  });

  it('that sends 10 MB is delivered, and most of the response is never read', async () => {
    let isFinished = false;
    let isClosed = false;
    const url = await serve((_, response) => {
      response.on('finish', () => (isFinished = true));
      response.on('close', () => (isClosed = true));
      const piece = Buffer.alloc(64 * 1024);
      for (let sent = 0; sent < 160; sent += 1) response.write(piece);
      response.end();
    });
    expect(await send(url)).toEqual({ outcome: 'delivered' });
    await until(() => isClosed);
    expect(isFinished).toBe(false);
  });

  it('that closes the connection or does not speak HTTP has failed, and the error repeats none of its text', async () => {
    const silent = await serveBytes('');
    expect(await send(silent.url)).toEqual(
      failed('no valid response from the receiver: UND_ERR_SOCKET'),
    );
    const other = await serveBytes('220 words of the receiver\r\n');
    const outcome = await send(other.url);
    expect(outcome).toMatchObject({ outcome: 'failed' });
    expect(JSON.stringify(outcome)).not.toContain('words');
  });

  it('that does not listen has failed', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    expect(await send(`http://127.0.0.1:${String(port)}/`)).toEqual(
      failed('no valid response from the receiver: ECONNREFUSED'),
    );
  });

  it('is stopped at once by its AbortSignal, which is not a failure', async () => {
    const stop = new AbortController();
    const url = await serve(() => {
      stop.abort();
    });
    expect(await send(url, { signal: stop.signal })).toEqual({ outcome: 'stopped' });
  });
});

describe('the address of a receiver', () => {
  it.each(['localhost', '127.0.0.1', '2130706433', '0x7f.1', '0.0.0.0', '[::ffff:127.0.0.1]'])(
    '%s gets no connection, unless private addresses are allowed',
    async (host) => {
      const receiver = await serveBytes('HTTP/1.1 204 No Content\r\n\r\n');
      const url = receiver.url.replace('127.0.0.1', host);
      expect(await send(url, { allowPrivate: false })).toEqual(
        failed(
          'the address of the receiver is not public; to allow that, set WEBHOOK_ALLOW_PRIVATE=true',
        ),
      );
      expect(receiver.connections()).toBe(0);
      expect(await send(url)).toEqual({ outcome: 'delivered' });
      expect(receiver.connections()).toBe(1);
    },
  );

  it.each([
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.192',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:169.254.169.254',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::808:808',
    '100::1',
    '2001:0:1::',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])('%s is not public', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.32.0.1',
    '192.167.255.255',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2606:4700::1111',
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('a name of a receiver', () => {
  const inside = { address: '10.0.0.1', family: 4 };
  const outside = { address: '2606:4700::1111', family: 6 };

  /** The result of a look-up for a name that resolves to `found`. */
  function resolve(
    found: readonly LookupAddress[] | Error,
    all: boolean,
  ): Promise<readonly LookupAddress[]> {
    const lookup = (
      _name: string,
      _options: LookupOptions,
      done: (error: Error | null, addresses: LookupAddress[]) => void,
    ) => {
      if (found instanceof Error) done(found, []);
      else done(null, [...found]);
    };
    return new Promise((give, refuse) => {
      publicLookup(lookup as never)('hooks.test', { all }, (error, address, family) => {
        if (error !== null) refuse(error);
        else if (typeof address === 'string') give([{ address, family: family ?? 0 }]);
        else give(address);
      });
    });
  }

  it.each([true, false])(
    'that resolves to private and public addresses is used with the public ones only (all: %s)',
    async (all) => {
      expect(await resolve([inside, outside, inside], all)).toEqual([outside]);
    },
  );

  it.each([true, false])(
    'that resolves to private addresses only, or to none, is refused (all: %s)',
    async (all) => {
      await expect(resolve([inside], all)).rejects.toThrow(PrivateAddressError);
      await expect(resolve([], all)).rejects.toThrow(PrivateAddressError);
    },
  );

  it('that does not resolve fails with the error of the resolver', async () => {
    await expect(resolve(new Error('ENOTFOUND'), true)).rejects.toThrow('ENOTFOUND');
  });
});
