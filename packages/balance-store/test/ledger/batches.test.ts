import { describe, expect, it } from '@jest/globals';
import { Batches } from '../../src/ledger/base/batches.js';
import type { BatchesOptions } from '../../src/ledger/base/batches.js';
import { createQueryBatcher } from '../../src/ledger/base/query-batcher.js';

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Batches of numbers, and a clock. Each batch is in flight until `end` gets its index. */
function open(options: Partial<BatchesOptions<number>> = {}) {
  const clock = { now: 0 };
  const sent: (readonly number[])[] = [];
  const ends: (() => void)[] = [];
  const batches = new Batches<number>({
    maxInFlight: 2,
    gatherMs: 10,
    now: () => clock.now,
    ...options,
    send(batch) {
      sent.push(batch);
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  async function end(index: number): Promise<void> {
    ends[index]?.();
    await tick();
  }
  return { batches, sent, clock, end };
}

describe('batches', () => {
  it('sends the items of one tick together, at its end', async () => {
    const { batches, sent } = open();
    batches.add(1);
    batches.add(2);
    expect([sent.length, batches.waiting]).toEqual([0, 2]);
    await tick();
    expect([sent, batches.waiting]).toEqual([[[1, 2]], 0]);
  });

  it('lets items wait for a batch in flight, and sends them when it ends', async () => {
    const { batches, sent, clock, end } = open();
    batches.add(1);
    await tick();
    batches.add(2);
    clock.now = 9;
    batches.add(3);
    await tick();
    expect(sent).toEqual([[1]]);
    expect(batches.items()).toEqual([1, 2, 3]);
    await end(0);
    expect(sent).toEqual([[1], [2, 3]]);
  });

  it('starts another batch beside one that takes long, up to the maximum', async () => {
    const { batches, sent, clock, end } = open();
    for (const item of [1, 2, 3]) {
      batches.add(item);
      await tick();
      clock.now += 10;
    }
    expect(sent).toEqual([[1], [2]]);
    await end(1);
    expect(sent).toEqual([[1], [2], [3]]);
  });

  it('starts another batch at once if it is full', async () => {
    const { batches, sent } = open({ maxSize: 2 });
    for (const item of [1, 2, 3, 4, 5]) batches.add(item);
    await tick();
    expect(sent).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(batches.waiting).toBe(1);
  });

  it('forgets the items that wait and are no longer wanted', async () => {
    const { batches, sent, end } = open();
    batches.add(1);
    await tick();
    batches.add(2);
    batches.add(3);
    batches.keep((item) => item !== 2);
    await end(0);
    expect(sent).toEqual([[1], [3]]);
  });
});

describe('a query batcher', () => {
  it('gives each question its own answer', async () => {
    const asked: (readonly number[])[] = [];
    const ask = createQueryBatcher((questions: readonly number[]) => {
      asked.push(questions);
      return Promise.resolve(questions.map((question) => question * 2));
    });
    expect(await Promise.all([ask(1), ask(2)])).toEqual([2, 4]);
    expect(asked).toEqual([[1, 2]]);
  });

  it('fails every question of a query that fails, and the ones without an answer', async () => {
    let fails = true;
    const ask = createQueryBatcher((questions: readonly number[]) =>
      fails ? Promise.reject(new Error('no connection')) : Promise.resolve(questions.slice(1)),
    );
    const failed = await Promise.allSettled([ask(1), ask(2)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    const [first, second] = await Promise.allSettled([ask(1), ask(2)]);
    expect(first).toEqual({ status: 'fulfilled', value: 2 });
    expect(second).toMatchObject({ reason: { message: 'the database returned too few answers' } });
  });
});
