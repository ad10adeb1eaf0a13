import { once } from 'node:events';
import { Socket, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { withTimeout } from '../src/ledger/timeout.js';

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
