/** Checks and books what changes balances, events and documents, except charges. */

import type { BalanceStore } from '../../store.js';
import {
  assertAmount,
  assertBooking,
  assertDocument,
  assertId,
  assertPositive,
  assertTime,
} from '../rules/argument-checks.js';
import type { BookFor } from './booking-turns.js';
import type { ExpiryProgress } from '../books/expiries.js';

export function createBookings(
  bookFor: BookFor,
  {
    sweepHolds,
    forgetKeysOf,
  }: {
    readonly sweepHolds: () => Promise<void>;
    readonly forgetKeysOf: (accountId: string) => void;
  },
): Pick<
  BalanceStore,
  | 'topUp'
  | 'adjust'
  | 'reverse'
  | 'bookFee'
  | 'transfer'
  | 'expire'
  | 'bookDue'
  | 'recordEvent'
  | 'writeDocument'
> {
  const book = bookFor(undefined);
  return {
    async topUp(topUp) {
      assertPositive('a top-up', topUp.amount);
      assertId('topUpId', topUp.topUpId);
      assertTime('expiresAt', topUp.expiresAt);
      assertBooking(topUp);
      return bookFor(topUp.by)('topUp', topUp);
    },
    async adjust(adjustment) {
      if (adjustment.amount === 0n) throw new RangeError('an adjustment must not be zero');
      assertAmount('an adjustment', adjustment.amount);
      assertId('adjustmentId', adjustment.adjustmentId);
      assertBooking(adjustment);
      return bookFor(adjustment.by)('adjust', adjustment);
    },
    async reverse(reversal) {
      assertId('adjustmentId', reversal.adjustmentId);
      assertBooking(reversal);
      return bookFor(reversal.by)('reverse', reversal);
    },
    async bookFee(fee) {
      assertAmount('a fee', fee.fee);
      assertId('feeId', fee.feeId);
      assertBooking(fee);
      return bookFor(fee.by)('bookFee', fee);
    },
    async transfer(transfer) {
      assertPositive('a transfer', transfer.amount);
      assertId('transferId', transfer.transferId);
      assertBooking(transfer);
      if (transfer.from === transfer.to) {
        throw new RangeError('a transfer must be between two accounts');
      }
      return bookFor(transfer.by)('transfer', transfer);
    },
    async expire(options) {
      // A process that places no holds must also find the holds of a process that was killed.
      // Otherwise they would keep credits from expiring.
      await sweepHolds();
      await forEachAccount((after) => book('openAccounts', after));
      return (
        (await forEachAccount((after) => book('renewAllowances', after))) +
        (await forEachAccount((after) => book('expireCredits', after))) +
        (await forEachAccount((after) => book('announceExpiringKeys', after, options)))
      );
    },
    async bookDue(accountId) {
      await book('bookDue', [accountId]);
      forgetKeysOf(accountId);
    },
    async recordEvent(event) {
      if (event.id !== undefined) assertId('id', event.id);
      return book('recordEvent', event);
    },
    async writeDocument(write) {
      assertDocument(write);
      return bookFor(write.trail?.by)('writeDocument', write);
    },
  };
}

/** @returns the total of `done` over all calls */
async function forEachAccount(work: (after: string) => Promise<ExpiryProgress>): Promise<number> {
  let done = 0;
  for (let after: string | undefined = ''; after !== undefined;) {
    const progress = await work(after);
    done += progress.done;
    after = progress.last;
  }
  return done;
}
