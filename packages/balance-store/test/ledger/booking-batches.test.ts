import { describe, expect, it } from '@jest/globals';
import { batchBookings } from '../../src/ledger/store/booking-batches.js';

/** Bookings of texts, whose first letter is their group. Each transaction waits for `end`. */
function open() {
  const booked: (readonly string[])[] = [];
  const ends: ((outcomes?: readonly string[]) => void)[] = [];
  const make = batchBookings({
    groupOf: (text: string) => text.charAt(0),
    book(texts) {
      booked.push(texts);
      return new Promise<readonly string[]>((resolve, reject) => {
        ends.push((outcomes) => {
          if (outcomes === undefined) reject(new Error('no disk'));
          else resolve(outcomes);
        });
      });
    },
    most: 2,
  });
  return { booked, ends, make };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

describe('bookings that are batched', () => {
  it('share a transaction with those of their group, but not more than it may have', async () => {
    const { booked, ends, make } = open();
    const made = ['a1', 'b1', 'a2', 'a3'].map(make);
    await tick();
    expect(booked).toEqual([['a1', 'a2'], ['b1']]);
    made.push(make('a4'));
    await tick();
    expect(booked).toHaveLength(2);
    ends[0]?.(['A1', 'A2']);
    await tick();
    expect(booked[2]).toEqual(['a3', 'a4']);
    ends[1]?.(['B1']);
    ends[2]?.(['A3', 'A4']);
    expect(await Promise.all(made)).toEqual(['A1', 'B1', 'A2', 'A3', 'A4']);
  });

  it('fail together, and the next ones are made', async () => {
    const { booked, ends, make } = open();
    const failed = ['a1', 'a2'].map(make);
    const next = make('a3');
    await tick();
    ends[0]?.();
    const results = await Promise.allSettled(failed);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await tick();
    expect(booked[1]).toEqual(['a3']);
    ends[1]?.(['A3']);
    expect(await next).toBe('A3');
    const later = make('a4');
    await tick();
    ends[2]?.(['A4']);
    expect(await later).toBe('A4');
  });
});
