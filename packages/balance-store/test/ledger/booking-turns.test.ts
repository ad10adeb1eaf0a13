/** Bookings without a database, and their time. */

import { describe, expect, it, jest } from '@jest/globals';
import { createBookingTurns } from '../../src/ledger/store/booking-turns.js';
import type { RunBook } from '../../src/ledger/books/index.js';
import { StoreUnavailableError } from '../../src/index.js';

describe('bookings in turns', () => {
  it('a booking that gets no turn is refused and never made, and the next ones are made', async () => {
    jest.useFakeTimers();
    try {
      const made: string[] = [];
      const ends: (() => void)[] = [];
      const book = ((_name: string, accountId: string) => {
        made.push(accountId);
        return new Promise<void>((resolve) => ends.push(resolve));
      }) as unknown as RunBook;
      const bookFor = createBookingTurns(book, { timeoutMs: 1_000 });
      const stuck = ['a', 'b'].map((holderOf) =>
        bookFor({ name: 'key', holderOf })('bookDue', [holderOf]),
      );
      const late = bookFor({ name: 'key', holderOf: 'c' })('bookDue', ['c']);
      const refused = expect(late).rejects.toThrow(StoreUnavailableError);
      await jest.advanceTimersByTimeAsync(1_000);
      await refused;
      const next = bookFor(undefined)('bookDue', ['d']);
      ends[0]?.();
      await stuck[0];
      await jest.advanceTimersByTimeAsync(0);
      expect(made).toEqual([['a'], ['b'], ['d']]);
      for (const end of ends) end();
      await Promise.all([...stuck, next]);
    } finally {
      jest.useRealTimers();
    }
  });
});
