/** Statements of an account, and books of all accounts. */

import { z } from 'zod';
import { credit } from './entries.js';
import { costFigures, count, orNull, text, time, tokenLine, usd } from './basics.js';

const statementTotal = { requests: count, amount_usd: usd };

const bookFigures = z.strictObject({
  opening_balance_usd: usd,
  paid_usd: usd,
  promotional_usd: usd,
  adjusted_usd: z.strictObject({
    refund: usd,
    chargeback: usd,
    correction: usd,
    goodwill: usd,
    write_off: usd,
    transfer: usd,
  }),
  expired_usd: usd,
  charged_usd: usd,
  closing_balance_usd: usd,
  written_off_usd: usd,
  ...costFigures,
});

export const books = z
  .strictObject({
    object: z.literal('books'),
    month: text,
    from: time,
    until: time,
    total: bookFigures,
    data: z.array(
      z.strictObject({
        account_id: text,
        name: text,
        external_id: orNull(text),
        ...bookFigures.shape,
      }),
    ),
    has_more: z.boolean(),
    next_cursor: orNull(text),
  })
  .meta({ id: 'Books' });

export const statementLine = z.strictObject({
  line: text,
  /** A day, or the time of a booking. In UTC. */
  date: text,
  description: text,
  /** What the line is, in words for people. */
  text,
  requests: count.exactOptional(),
  tokens: count.exactOptional(),
  rate_usd_per_million: usd.exactOptional(),
  /** What the line adds to the balance; in the last line, the closing balance. */
  amount_usd: usd,
});

export const statement = z
  .strictObject({
    object: z.literal('statement'),
    number: text,
    account_id: text,
    account_name: text,
    issuer: orNull(
      z.strictObject({
        name: text,
        contact: orNull(text),
        address: z.array(text).meta({ description: 'its lines' }),
        note: orNull(text).meta({ description: 'such as what applies to taxes' }),
      }),
    ),
    month: text,
    from: time,
    until: time,
    opening_balance_usd: usd,
    bookings: z.array(
      credit.extend({
        tax_percent: orNull(text).meta({ description: 'if the provider states one rate' }),
        tax_country: orNull(text),
      }),
    ),
    charges: z.array(
      z.strictObject({
        day: text,
        model: text,
        requests: count,
        lines: z.array(tokenLine),
        fees_usd: usd.exactOptional(),
        written_off_usd: usd,
        amount_usd: usd,
      }),
    ),
    booked_usd: usd,
    charged_usd: usd,
    closing_balance_usd: usd,
    by_model: z.array(z.strictObject({ model: text, ...statementTotal })),
    by_key: z.array(z.strictObject({ key_id: text, name: text, ...statementTotal })),
    lines: z
      .array(statementLine)
      .meta({ description: 'oldest first; the last is the sum of all others' }),
  })
  .meta({ id: 'Statement' });
