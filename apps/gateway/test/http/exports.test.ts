/** Whole lists that are sent while they are read: `http/exports.ts`, without a ledger. */

import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import type { Refusal } from '../../src/base/errors/refusal.js';
import { createExports } from '../../src/http/exports.js';
import type { ReadPages } from '../../src/http/exports.js';
import { connectTo, disconnectAll } from '../support/raw-client.js';

const servers: ReturnType<typeof createServer>[] = [];
afterEach(async () => {
  disconnectAll();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Serves an export to each request; the path is its owner. */
async function serve(read: ReadPages) {
  const exports = createExports();
  const ended: Promise<Refusal | Error | undefined>[] = [];
  const responses: ServerResponse[] = [];
  const server = createServer((req, res) => {
    responses.push(res);
    const headers = { 'content-type': 'text/csv' };
    const end = exports.send(res, { owner: req.url ?? '', read, headers });
    ended.push(
      end.then(
        (refusal) => {
          if (refusal !== undefined) res.writeHead(refusal.status).end();
          return refusal;
        },
        (error: unknown) => {
          if (!res.headersSent) res.writeHead(500).end();
          return error as Error;
        },
      ),
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, ended, responses };
}

/** A value that comes when the test decides. */
function later<Value>() {
  let come: (value: Value) => void = () => undefined;
  const value = new Promise<Value>((resolve) => (come = resolve));
  return { value, come };
}

const get = (path: string, version = '1.1') =>
  `GET ${path} HTTP/${version}\r\nHost: gateway\r\nConnection: close\r\n\r\n`;

it('sends all pages as one text, with the headers of the first', async () => {
  const { url } = await serve(async function* read(inTurn) {
    yield { text: await inTurn(() => Promise.resolve('a\r\n')), headers: { 'x-of': 'first' } };
    yield { text: '' };
    yield { text: 'b\r\n', headers: { 'x-of': 'last' } };
    return undefined;
  });
  const response = await fetch(url);
  expect(response.headers.get('x-of')).toBe('first');
  expect(await response.text()).toBe('a\r\nb\r\n');
});

it('reads the next page only when the client has taken the one before', async () => {
  let pages = 0;
  const { url, responses } = await serve(async function* read(inTurn) {
    // More than the buffers of a connection take.
    for (; ; pages += 1) yield { text: await inTurn(() => Promise.resolve('x'.repeat(2 ** 25))) };
  });
  const client = connectTo({ url });
  client.socket.on('data', () => client.socket.pause());
  client.send(get('/'));
  while (responses[0]?.writableNeedDrain !== true) await nextTurn();
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  expect(pages).toBe(0);
});

// F476: a client leaves an export, or begins several: the reading ends, one of each owner at a
// time, and all of them take turns at the ledger.
it('ends the reading when the client leaves', async () => {
  const { url, ended } = await serve(async function* read(inTurn) {
    for (;;) {
      await nextTurn();
      yield { text: await inTurn(() => Promise.resolve('x'.repeat(100_000))) };
    }
  });
  const client = connectTo({ url });
  client.send(get('/'));
  await client.receive(/xxx/);
  expect((await fetch(url)).status).toBe(429);
  client.socket.destroy();
  expect(await ended[0]).toBe(undefined);
  const next = new AbortController();
  expect((await fetch(url, { signal: next.signal })).status).toBe(200);
  next.abort();
  await ended[2];
});

// F476
it('refuses a second export of an owner, and lets owners read in turns', async () => {
  const first = later<string>();
  const reads: string[] = [];
  let running = 0;
  const { url } = await serve(async function* read(inTurn) {
    for (const page of ['1', '2']) {
      const text = await inTurn(async () => {
        running += 1;
        expect(running).toBe(1);
        reads.push(page);
        const read = reads.length === 1 ? await first.value : 'text';
        running -= 1;
        return read;
      });
      yield { text };
    }
    return undefined;
  });
  const one = fetch(`${url}/one`);
  while (reads.length === 0) await nextTurn();
  const again = await fetch(`${url}/one`);
  expect([again.status, reads]).toEqual([429, ['1']]);
  const other = fetch(`${url}/other`);
  first.come('text');
  expect(await Promise.all([one, other].map(async (sent) => (await sent).text()))).toEqual([
    'texttext',
    'texttext',
  ]);
  expect(reads).toHaveLength(4);
});

// F474: a later page of an export cannot be read: the connection breaks off, in every version of
// HTTP, so that the part does not look like the whole.
it.each(['1.1', '1.0'])('breaks off if a later page cannot be read: HTTP/%s', async (version) => {
  const failing = later<never>();
  const { url, ended } = await serve(async function* read() {
    yield { text: 'first page' };
    await failing.value;
    throw new Error('the ledger is away');
  });
  const client = connectTo({ url });
  const error = new Promise<NodeJS.ErrnoException>((resolve) =>
    client.socket.once('error', resolve),
  );
  client.send(get('/', version));
  await client.receive(/first page/);
  failing.come(undefined as never);
  expect((await error).code).toBe('ECONNRESET');
  expect(client.received()).not.toMatch(/\r\n0\r\n/);
  expect(await ended[0]).toMatchObject({ message: 'the ledger is away' });
});

it('sends nothing if the first page cannot be read, and can be tried again', async () => {
  let isBroken = true;
  const { url } = await serve(async function* read() {
    await nextTurn();
    if (isBroken) throw new Error('the ledger is away');
    yield { text: 'whole' };
    return undefined;
  });
  expect((await fetch(url)).status).toBe(500);
  isBroken = false;
  expect(await (await fetch(url)).text()).toBe('whole');
});

it('answers HEAD without reading on', async () => {
  let pages = 0;
  const { url } = await serve(async function* read() {
    for (; pages < 3; pages += 1) yield await Promise.resolve({ text: 'page' });
    return undefined;
  });
  const response = await fetch(url, { method: 'HEAD' });
  expect([response.status, pages]).toEqual([200, 0]);
});
