import { once } from 'node:events';
import { Socket, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/embedded/index.js';
import { openPostgresStore } from '../../src/postgres/index.js';
import { withTimeout } from '../../src/ledger/base/timeout.js';

/** Blocks this process, as if other processes used its core. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('withTimeout resolves or rejects as the answer does', async () => {
  await expect(withTimeout(Promise.resolve('answer'), 60_000)).resolves.toBe('answer');
  await expect(withTimeout(Promise.reject(new Error('fault')), 60_000)).rejects.toThrow('fault');
});

it('withTimeout rejects if no answer comes within the timeout', async () => {
  await expect(withTimeout(new Promise(() => undefined), 20)).rejects.toThrow('within 20 ms');
});

it('withTimeout accepts an answer that arrived while this process was blocked for longer than the timeout', async () => {
  const server = createServer((socket) => socket.pipe(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = new Socket().connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(client, 'connect');
  const answer = once(client, 'data');
  client.write('x');
  await sleep(0);
  const waiting = withTimeout(answer, 50);
  block(500);
  expect(String((await waiting)[0])).toBe('x');
  client.destroy();
  server.close();
});

// Node would fire a longer timer after 1 ms, and holds would be renewed all the time.
it.each([[0], [NaN], [Infinity], [2 ** 31]])(
  'a store does not open with holds that live for %d ms',
  async (holdLifetimeMs) => {
    const peppers = { pepper: 'pepper of the tests', holdLifetimeMs };
    const problem = `holdLifetimeMs is ${String(holdLifetimeMs)}, not above 0 and at most 2147483647`;
    const dataDir = join(tmpdir(), `never-made-${randomUUID()}`);
    await expect(openEmbeddedStore({ dataDir, ...peppers })).rejects.toThrow(problem);
    const connectionString = 'postgres://nowhere.invalid/none';
    await expect(openPostgresStore({ connectionString, ...peppers })).rejects.toThrow(problem);
    expect(existsSync(dataDir)).toBe(false);
  },
);
