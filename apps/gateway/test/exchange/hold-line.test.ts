/** The line in which requests wait for money that other requests hold. */

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it } from '@jest/globals';
import type { LackOfRoom } from '../../src/exchange/spending/hold-line.js';
import { createHoldLine } from '../../src/exchange/spending/hold-line.js';

const HELD = { outcome: 'held' } as const;
const failedAt = (waitsFor?: string): LackOfRoom => ({
  outcome: 'failed',
  ...(waitsFor === undefined ? {} : { waitsFor }),
});

/** A client that has not left. */
function client() {
  const socket = Object.assign(new EventEmitter(), { destroyed: false, readableEnded: false });
  const res = Object.assign(new EventEmitter(), { req: { socket }, socket, destroyed: false });
  return {
    res: res as unknown as ServerResponse,
    socket,
    leave: () => res.emit('close'),
    halfClose: () => socket.emit('end'),
  };
}

/** Levels with room; each attempt takes what it asks for. */
function rooms(initial: Readonly<Record<string, number>>) {
  const left = new Map(Object.entries(initial));
  const attempts: string[] = [];
  const released: string[] = [];
  return {
    left,
    attempts,
    released,
    request: (name: string, level: string, amount: number, of = client()) => {
      return {
        accountId: 'acct',
        res: of.res,
        least: BigInt(amount),
        failed: failedAt(level),
        attempt: () => {
          attempts.push(name);
          const room = left.get(level) ?? 0;
          if (room < amount) return Promise.resolve(failedAt(level));
          left.set(level, room - amount);
          return Promise.resolve(HELD);
        },
        release: () => {
          released.push(name);
        },
      };
    },
  };
}

it('serves as many as fit when a hold ends, the first first, and tries no other of the same level', async () => {
  const line = createHoldLine({ waitMs: 150 });
  const { left, attempts, request } = rooms({ budget: 0 });
  const waits = ['a', 'b', 'c', 'd'].map((name) => line.wait(request(name, 'budget', 3)));
  left.set('budget', 7);
  line.onHoldEnd('acct');
  const outcomes = await Promise.all(waits);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['held', 'held', 'failed', 'failed']);
  // The last one would have needed as much.
  expect(attempts).toEqual(['a', 'b', 'c']);
});

it('lets a smaller request, and one of another level, pass one that does not fit', async () => {
  const line = createHoldLine({ waitMs: 150 });
  const { left, request } = rooms({ budget: 0, balance: 0 });
  const waits = [
    line.wait(request('large', 'budget', 9)),
    line.wait(request('small', 'budget', 2)),
    line.wait(request('other', 'balance', 9)),
  ];
  left.set('budget', 5).set('balance', 9);
  line.onHoldEnd('acct');
  const outcomes = await Promise.all(waits);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['failed', 'held', 'held']);
});

it('tries again without a word, because other processes hold money too', async () => {
  const line = createHoldLine();
  const { left, request } = rooms({ cap: 0 });
  const waiting = line.wait(request('a', 'cap', 1));
  left.set('cap', 1);
  expect(await waiting).toBe(HELD);
});

it('does not wait if that is of no use, nor beyond the bound of its account', async () => {
  const line = createHoldLine({ waitMs: 100 });
  const { request } = rooms({ cap: 0 });
  const useless = { ...request('useless', 'cap', 1), failed: failedAt() };
  expect(await line.wait(useless)).toBe(useless.failed);
  const full = Array.from({ length: 100 }, (_, n) => line.wait(request(String(n), 'cap', 1)));
  const began = performance.now();
  const [beyond, others] = [request('beyond', 'cap', 1), request('others', 'cap', 1)];
  expect(await line.wait(beyond)).toBe(beyond.failed);
  expect(performance.now() - began).toBeLessThan(90);
  // Those of another account have a bound of their own.
  await Promise.all([...full, line.wait({ ...others, accountId: 'another' })]);
  expect(performance.now() - began).toBeGreaterThan(90);
});

it('ends at once if the client leaves, and releases what an attempt holds by then', async () => {
  const line = createHoldLine();
  const { request, released } = rooms({ cap: 1 });
  const leaving = client();
  let held: (outcome: typeof HELD) => void = () => undefined;
  const waiting = line.wait({
    ...request('a', 'cap', 1, leaving),
    attempt: () => new Promise<typeof HELD>((resolve) => (held = resolve)),
  });
  line.onHoldEnd('acct');
  leaving.leave();
  expect(await waiting).toEqual({ outcome: 'gone' });
  expect(released).toEqual([]);
  held(HELD);
  await new Promise(setImmediate);
  expect(released).toEqual(['a']);
  const gone = client();
  Object.assign(gone.res, { destroyed: true });
  expect(await line.wait(request('b', 'cap', 1, gone))).toEqual({ outcome: 'gone' });
});

it('waits no longer for a client that may have left, which is refused if it still reads', async () => {
  const line = createHoldLine();
  const { request } = rooms({ cap: 0 });
  const leaving = client();
  const waiting = line.wait(request('a', 'cap', 1, leaving));
  leaving.halfClose();
  expect(await waiting).toEqual(failedAt('cap'));
  expect([leaving.socket.listenerCount('end'), leaving.res.listenerCount('close')]).toEqual([0, 0]);
  const left = client();
  left.socket.readableEnded = true;
  expect(await line.wait(request('b', 'cap', 1, left))).toEqual(failedAt('cap'));
});

it('rejects if an attempt does, and goes on with the others', async () => {
  const line = createHoldLine();
  const { request } = rooms({ cap: 1 });
  const broken = line.wait({
    ...request('a', 'cap', 1),
    attempt: () => Promise.reject(new Error('broken')),
  });
  const other = line.wait(request('b', 'cap', 1));
  line.onHoldEnd('acct');
  await expect(broken).rejects.toThrow('broken');
  expect(await other).toBe(HELD);
});
