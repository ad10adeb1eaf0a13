/** Exports of a month for bookkeeping and controlling. */

import { z } from 'zod';
import { count, orNull, text, time, usd } from './basics.js';

export const journal = z
  .strictObject({
    object: z.literal('journal'),
    month: text,
    zone: text,
    is_closed: z.boolean(),
    created_at: time,
    lines: z.array(
      z.strictObject({
        date: text,
        document: text.meta({ description: 'the entry, or charges:<account>' }),
        text,
        debit: text.meta({ description: 'the account of BOOKS_ACCOUNTS' }),
        credit: text,
        tax_key: orNull(text),
        amount_usd: text.meta({ description: 'above 0, with two decimals' }),
      }),
    ),
    datev: orNull(
      z.strictObject({
        consultant: count,
        client: count,
        account_length: count,
        year_starts: text,
      }),
    ),
  })
  .meta({ id: 'Journal' });

const rows = z
  .array(z.record(z.string(), z.union([text, count])))
  .meta({ description: 'by the names of the columns; those without a value are left out' });

export const focus = z
  .strictObject({
    object: z.literal('focus'),
    month: text,
    zone: text,
    rows,
  })
  .meta({ id: 'Focus' });

export const chargeback = z
  .strictObject({
    object: z.literal('chargeback'),
    day: text,
    from: time,
    until: time.meta({ description: 'not included' }),
    charged_usd: usd.meta({ description: 'in all' }),
    rows,
  })
  .meta({ id: 'Chargeback' });
