/**
 * The books of a month, for each account and in all: the opening balance, credits, adjustments,
 * expired credit, charges and the closing balance. Every figure is an exact sum of ledger entries
 * or, for charges, of sums of usage, so they add up to the last digit.
 *
 * Books are read page by page. All figures of a page, with those in all, are of one moment. No
 * entry is ever added to a month that is over, so its pages fit together, whenever each is read.
 * During the current month, charges between two pages show only in the later one.
 */

import { z } from 'zod';
import type { BookPage, BookSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { after, month, pagedFormat, wholeNumber } from '../../endpoints/fields.js';
import type { Month } from '../../endpoints/fields.js';
import * as schema from '../../endpoints/schemas.js';
import { costFigures } from '../../endpoints/views.js';
import { operation } from './operation.js';

/** Writing this many takes a part of a second of the event loop. */
const MAX_ACCOUNTS = 1_000;

export const booksOperations = {
  showBooks: operation({
    method: 'get',
    path: '/admin/books',
    summary: 'The books of a month: credits, adjustments and charges of each account and in all',
    right: 'read',
    input: z.strictObject({
      month,
      /** The most accounts of a page. Those without a balance or a movement are left out of it. */
      limit: wholeNumber.min(1).max(MAX_ACCOUNTS).default(MAX_ACCOUNTS),
      cursor: after.optional(),
      format: pagedFormat.optional(),
    }),
    output: schema.books,
    async run({ month: of, limit, cursor }, { store }) {
      const { from, until } = of;
      return booksView(of, await store.readBooks({ from, until, after: cursor, limit }));
    },
    isAlsoCsv: true,
  }),
} as const;

/** In units of 10^-14 USD. */
const NOTHING = {
  paid: 0n,
  promotional: 0n,
  refund: 0n,
  chargeback: 0n,
  correction: 0n,
  goodwill: 0n,
  write_off: 0n,
  transfer: 0n,
  expired: 0n,
  charged: 0n,
};
type Movements = typeof NOTHING;
type Movement = keyof Movements;

interface Books {
  /** The balance before the first entry of the month. */
  opening: bigint;
  readonly movements: Movements;
  readonly charges: Charges;
}

/** Of the charges of the month. Does not change the balance. */
const NO_CHARGES = {
  /** The parts that the balance or a cap did not cover. */
  writtenOff: 0n,
  requests: 0,
  cost: 0n,
  costed: 0,
};
type Charges = typeof NO_CHARGES;

/** @returns the books of all accounts that have a balance or a movement, by account */
function booksOf(sums: readonly BookSum[]): ReadonlyMap<string, Books> {
  const books = new Map<string, Books>();
  for (const sum of sums) {
    const { accountId, amount } = sum;
    const of = books.get(accountId) ?? emptyBooks();
    books.set(accountId, of);
    if (sum.isBefore) {
      of.opening += amount;
    } else {
      of.movements[movementOf(sum)] += amount;
      of.charges.writtenOff += sum.writtenOff;
      of.charges.requests += sum.requests;
      of.charges.cost += sum.cost;
      of.charges.costed += sum.costed;
    }
  }
  const ofMonth = new Set(sums.filter(({ isBefore }) => !isBefore).map((sum) => sum.accountId));
  return new Map([...books].filter(([id, { opening }]) => opening !== 0n || ofMonth.has(id)));
}

function movementOf({ kind, source, reason }: BookSum): Movement {
  switch (kind) {
    case 'top_up':
      return source === 'promotional' ? 'promotional' : 'paid';
    case 'adjustment':
      // Fees and openings change no balance.
      return reason === null || reason === 'fee' || reason === 'opening' ? 'correction' : reason;
    case 'expiry':
      return 'expired';
    case 'charge':
      return 'charged';
  }
}

function emptyBooks(): Books {
  return { opening: 0n, movements: { ...NOTHING }, charges: { ...NO_CHARGES } };
}

function changeOf(movements: Movements): bigint {
  return Object.values(movements).reduce((sum, amount) => sum + amount, 0n);
}

function booksView(month: Month, { accounts, sums, totals, next }: BookPage) {
  const books = booksOf(sums);
  const [total] = booksOf(totals).values();
  return {
    object: 'books' as const,
    month: month.month,
    from: month.from.toISOString(),
    until: month.until.toISOString(),
    /** Of the whole ledger, on every page. */
    total: figuresOf(total ?? emptyBooks()),
    data: accounts.flatMap(({ id, name, externalId }) => {
      const of = books.get(id);
      if (of === undefined) return [];
      return [{ account_id: id, name, external_id: externalId, ...figuresOf(of) }];
    }),
    has_more: next !== undefined,
    next_cursor: next ?? null,
  };
}

/** Negative amounts are money that left the balance. */
function figuresOf({ opening, movements, charges }: Books) {
  return {
    opening_balance_usd: formatUsd(opening),
    paid_usd: formatUsd(movements.paid),
    promotional_usd: formatUsd(movements.promotional),
    adjusted_usd: {
      refund: formatUsd(movements.refund),
      chargeback: formatUsd(movements.chargeback),
      correction: formatUsd(movements.correction),
      goodwill: formatUsd(movements.goodwill),
      write_off: formatUsd(movements.write_off),
      transfer: formatUsd(movements.transfer),
    },
    expired_usd: formatUsd(movements.expired),
    charged_usd: formatUsd(movements.charged),
    closing_balance_usd: formatUsd(opening + changeOf(movements)),
    written_off_usd: formatUsd(charges.writtenOff),
    ...costFigures({ ...charges, charged: -movements.charged }),
  };
}
