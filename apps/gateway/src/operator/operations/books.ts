/**
 * The books of a month, for each account and in all: the opening balance, credits, adjustments,
 * expired credit, charges and the closing balance. Every figure is an exact sum of ledger entries
 * or, for charges, of sums of usage, so they add up to the last digit.
 *
 * Books are read page by page. All figures of a page, with those in all, are of one moment. Nothing
 * is added to a month that is closed, so its pages fit together, whenever each is read. Before,
 * what is booked between two pages shows only in the later one.
 */

import { z } from 'zod';
import { compareWithClosing } from '@gateway/balance-store';
import type {
  BookPage,
  BookSum,
  ClosedMonth,
  ClosingFigures,
  SideSum,
  Unopened,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { after, month, monthIn, pagedFormat, wholeNumber } from '../../endpoints/fields.js';
import type { Month } from '../../endpoints/fields.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { costFigures } from '../../endpoints/views.js';
import { closeMonth } from './close-month.js';
import { moneyView, noMoney } from './money-by-kind.js';
import type { MoneyByKind } from './money-by-kind.js';
import { operation } from './operation.js';
import type { OperationContext } from './operation.js';

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
    async run({ month: { month: name }, limit, cursor }, { store, booksZone }) {
      const closed = await closedMonth(name, store);
      const of = closed ?? { ...monthIn(booksZone, { month: name }), zone: booksZone };
      const { from, until } = of;
      const page = await store.readBooks({ from, until, after: cursor, limit });
      return booksView(of, closed, page);
    },
    isAlsoCsv: true,
  }),

  verifyBooks: operation({
    method: 'get',
    path: '/admin/books/:month/verification',
    summary: 'Whether the books of a closed month still have the figures with which it was closed',
    right: 'read',
    input: z.strictObject({ month }),
    output: schema.booksVerification,
    async run({ month: { month: name } }, { store }) {
      const closed = await closedMonth(name, store);
      if (closed === undefined) throw invalidInput(`month: ${name} is not closed`);
      const found = await compareWithClosing((query) => store.readBooks(query), closed);
      return {
        object: 'books_verification' as const,
        month: name,
        is_as_closed: found.isAsClosed,
        closed_digest: closed.digest,
        found_digest: found.digest,
      };
    },
  }),

  closeBooks: operation({
    method: 'post',
    path: '/admin/books/:month/close',
    summary: 'Closes a month that is over, and issues its statements. Repeating it changes nothing',
    right: 'change',
    input: z.strictObject({ month }),
    output: schema.closedBooks,
    run: ({ month: { month: name } }, context) => closeBooks(name, context),
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
  readonly money: MoneyByKind;
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
function booksOf(
  sums: readonly BookSum[],
  sides: readonly SideSum[],
  unopened: readonly Unopened[],
): ReadonlyMap<string, Books> {
  const books = new Map<string, Books>();
  const booksOfAccount = (accountId: string) => {
    const of = books.get(accountId) ?? emptyBooks();
    books.set(accountId, of);
    return of;
  };
  for (const sum of sums) {
    // Neither changes a balance: they move money only between sides.
    if (sum.reason === 'fee' || sum.reason === 'opening') continue;
    const { amount } = sum;
    const of = booksOfAccount(sum.accountId);
    if (sum.isBefore) {
      of.opening += amount;
      if (sum.kind === 'charge') of.money.chargedBefore -= amount;
    } else {
      of.movements[movementOf(sum)] += amount;
      of.charges.writtenOff += sum.writtenOff;
      of.charges.requests += sum.requests;
      of.charges.cost += sum.cost;
      of.charges.costed += sum.costed;
    }
  }
  for (const { accountId, isBefore, side, amount } of sides) {
    const { before, within } = booksOfAccount(accountId).money;
    const of = isBefore ? before : within;
    of.set(side, (of.get(side) ?? 0n) + amount);
  }
  for (const { accountId, isAtEnd } of unopened) {
    booksOfAccount(accountId).money.unknown = isAtEnd ? 'throughout' : 'at first';
  }
  const isOfMonth = ({ isBefore }: Pick<SideSum, 'isBefore'>) => !isBefore;
  const ofMonth = new Set([...sums, ...sides].filter(isOfMonth).map((sum) => sum.accountId));
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
  return {
    opening: 0n,
    movements: { ...NOTHING },
    charges: { ...NO_CHARGES },
    money: noMoney(),
  };
}

function changeOf(movements: Movements): bigint {
  return Object.values(movements).reduce((sum, amount) => sum + amount, 0n);
}

function booksView(
  month: Month & { readonly zone: string },
  closed: ClosedMonth | undefined,
  page: BookPage,
) {
  const { accounts, next } = page;
  const books = booksOf(page.sums, page.sides, page.unopened);
  return {
    object: 'books' as const,
    ...periodOf(month),
    closing: closed === undefined ? null : closingView(closed),
    /** Of the whole ledger, on every page. */
    total: totalOf(closed?.figures ?? page),
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
function figuresOf({ opening, movements, charges, money }: Books) {
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
    by_kind: moneyView(money, {
      charged: -movements.charged,
      expired: -movements.expired,
      ...charges,
    }),
  };
}

function periodOf({ month, zone, from, until }: Month & { readonly zone: string }) {
  return { month, zone, from: from.toISOString(), until: until.toISOString() };
}

function totalOf({ totals, sideTotals, unopenedTotal }: ClosingFigures) {
  const unopened = unopenedTotal === undefined ? [] : [unopenedTotal];
  const [total] = booksOf(totals, sideTotals, unopened).values();
  return figuresOf(total ?? emptyBooks());
}

async function closedMonth(
  name: string,
  store: OperationContext['store'],
): Promise<ClosedMonth | undefined> {
  return (await store.listClosedMonths()).find((known) => known.month === name);
}

function closingView({ closedAt, closedBy, hash, previousHash, head }: ClosedMonth) {
  return {
    closed_at: closedAt.toISOString(),
    closed_by: closedBy,
    hash,
    previous_hash: previousHash === '' ? null : previousHash,
    sealed: head === undefined ? null : `${String(head.block)}:${head.hash}`,
  };
}

async function closeBooks(name: string, context: OperationContext) {
  const { closed, isNew, statements, reversed } = await closeMonth(name, context);
  return {
    object: 'closed_books' as const,
    ...periodOf(closed),
    closing: closingView(closed),
    replayed: !isNew,
    total: totalOf(closed.figures),
    statements,
    reversed_earlier: reversed.map(({ booking, bookedAt }) => ({
      entry: booking.id,
      account_id: booking.accountId,
      amount_usd: formatUsd(booking.delta),
      reverses: booking.reverses ?? '',
      booked_at: bookedAt.toISOString(),
    })),
  };
}
