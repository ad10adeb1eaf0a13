/** A statement as lines, for tables that people read and for CSV. */

import { csvOf } from './csv.js';
import type { Statement } from './statement.js';

/** A type and not an interface, so that it is a record for {@link csvOf}. */
export type StatementLine = {
  readonly line: string;
  /** A day, or the time of a booking. In UTC. */
  readonly date: string;
  readonly description: string;
  readonly requests?: number;
  readonly tokens?: number;
  readonly rate_usd_per_million?: string;
  /** What the line adds to the balance; in the last line, the closing balance. */
  readonly amount_usd: string;
};

const CSV_COLUMNS = [
  'line',
  'date',
  'description',
  'requests',
  'tokens',
  'rate_usd_per_million',
  'amount_usd',
] as const satisfies readonly (keyof StatementLine)[];

/** The last line is the sum of the amounts of all other lines. */
export function statementCsv(statement: Statement): string {
  return csvOf(CSV_COLUMNS, statementLines(statement));
}

export function statementLines(statement: Statement): readonly StatementLine[] {
  return [
    {
      line: 'opening balance',
      date: statement.from.slice(0, 10),
      description: '',
      amount_usd: statement.opening_balance_usd,
    },
    ...statement.bookings.map((booking) => ({
      line: booking.kind,
      date: booking.created_at,
      description: describe(booking),
      amount_usd: booking.amount_usd,
    })),
    ...statement.charges.flatMap(linesOfCharge),
    {
      line: 'closing balance',
      date: statement.until.slice(0, 10),
      description: '',
      amount_usd: statement.closing_balance_usd,
    },
  ];
}

/** What a line is, for people. */
export function labelOf({ line, description }: StatementLine): string {
  return [line.replaceAll('_', ' '), description].filter(Boolean).join(': ');
}

function describe(booking: Statement['bookings'][number]): string {
  if (booking.kind === 'expiry') return `credit ${booking.reference ?? ''} expired`;
  return [booking.source ?? booking.reason, booking.reference].filter(Boolean).join(' ');
}

function linesOfCharge(charge: Statement['charges'][number]): readonly StatementLine[] {
  const tokens = charge.lines.map((line) => ({
    line: 'charge',
    date: charge.day,
    description: `${charge.model}: ${line.class}`,
    requests: charge.requests,
    tokens: line.tokens,
    rate_usd_per_million: line.rate_usd_per_million,
    amount_usd: negated(line.amount_usd),
  }));
  if (charge.written_off_usd === '0') return tokens;
  return [
    ...tokens,
    {
      line: 'not charged',
      date: charge.day,
      description: `${charge.model}: beyond the balance or a cap`,
      amount_usd: charge.written_off_usd,
    },
  ];
}

/** @param amount - Zero or above. */
function negated(amount: string): string {
  return amount === '0' ? amount : `-${amount}`;
}
