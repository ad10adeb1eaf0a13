/** A statement as lines, for tables that people read and for CSV. */

import type { z } from 'zod';
import { csvOf } from '../csv.js';
import { statementLine } from '../schemas.js';
import type { StatementFacts } from './statement-facts.js';

type StatementLine = z.output<typeof statementLine>;

/** `text` is for people: CSV has the same as `line` and `description`. */
const CSV_COLUMNS = Object.keys(statementLine.omit({ text: true }).shape);

/** The last line is the sum of the amounts of all other lines. */
export function statementCsv({ lines }: { readonly lines: readonly StatementLine[] }): string {
  return csvOf(CSV_COLUMNS, lines);
}

type Booking = StatementFacts['bookings'][number];

/**
 * All lines in the order of time. Charges of a day follow its bookings, because a statement has
 * charges by day.
 */
export function statementLines(statement: StatementFacts): readonly StatementLine[] {
  const booked = statement.bookings.map((booking): StatementLine => ({
    line: booking.kind,
    date: booking.created_at,
    description: describe(booking),
    text: bookingText(booking),
    amount_usd: booking.amount_usd,
  }));
  const charged = statement.charges.flatMap(linesOfCharge);
  return [
    {
      line: 'opening balance',
      date: statement.from.slice(0, 10),
      description: '',
      text: 'Opening balance',
      amount_usd: statement.opening_balance_usd,
    },
    // The sort is stable, so the bookings of a day stay in their order and before its charges.
    ...[...booked, ...charged].sort((a, b) => compare(dayOf(a), dayOf(b))),
    {
      line: 'closing balance',
      date: statement.until.slice(0, 10),
      description: '',
      text: 'Closing balance',
      amount_usd: statement.closing_balance_usd,
    },
  ];
}

function dayOf({ date }: StatementLine): string {
  return date.slice(0, 10);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

const BOOKING_TEXTS = {
  top_up: 'Credit',
  adjustment: 'Correction',
  expiry: 'Credit expired',
} as const;

const CLASS_TEXTS = {
  input: 'input',
  output: 'output',
  cache_read: 'cache read',
  cache_write_5m: 'cache write, 5 minutes',
  cache_write_1h: 'cache write, 1 hour',
} as const;

/** The description of a booking in CSV. */
function describe(booking: Booking): string {
  if (booking.kind === 'expiry') return `credit ${booking.reference ?? ''} expired`;
  return [booking.source ?? booking.reason, booking.reference].filter(Boolean).join(' ');
}

/** What the booking is, in words for people. */
export function bookingText({ kind, source, reason, reference, ...booking }: Booking): string {
  const why = source ?? reason?.replaceAll('_', ' ');
  const details = [why, reference, taxOf(booking)].filter(Boolean).join(', ');
  return details === '' ? BOOKING_TEXTS[kind] : `${BOOKING_TEXTS[kind]}: ${details}`;
}

/** The tax is beside the amount of the line. */
function taxOf({
  tax_usd: tax,
  tax_percent: percent,
  tax_country: country,
}: Pick<Booking, 'tax_usd' | 'tax_percent' | 'tax_country'>): string | undefined {
  if (tax === '0') return undefined;
  const rate = [percent === null ? '' : `${percent} %`, country ?? ''].filter(Boolean).join(' ');
  return `tax ${tax} USD${rate === '' ? '' : ` (${rate})`}`;
}

function linesOfCharge(charge: StatementFacts['charges'][number]): readonly StatementLine[] {
  const tokens = charge.lines.map((line) => ({
    line: 'charge',
    date: charge.day,
    description: `${charge.model}: ${line.class}`,
    text: `${charge.model}: ${CLASS_TEXTS[line.class]}`,
    requests: charge.requests,
    tokens: line.tokens,
    rate_usd_per_million: line.rate_usd_per_million,
    amount_usd: negated(line.amount_usd),
  }));
  const lines: StatementLine[] =
    charge.fees_usd === undefined
      ? tokens
      : [
          ...tokens,
          {
            line: 'charge',
            date: charge.day,
            description: `${charge.model}: fees`,
            text: `${charge.model}: fees`,
            amount_usd: negated(charge.fees_usd),
          },
        ];
  if (charge.written_off_usd === '0') return lines;
  const description = `${charge.model}: beyond the balance or a cap`;
  return [
    ...lines,
    {
      line: 'not charged',
      date: charge.day,
      description,
      text: `${charge.model}: not charged, beyond the balance or a cap`,
      amount_usd: charge.written_off_usd,
    },
  ];
}

/** @param amount - Zero or above. */
function negated(amount: string): string {
  return amount === '0' ? amount : `-${amount}`;
}
