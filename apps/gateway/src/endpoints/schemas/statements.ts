/** Statements of an account, and books of all accounts. */

import { z } from 'zod';
import { credit } from './entries.js';
import { costFigures, count, orNull, text, time, tokenLine, usd } from './basics.js';

const statementTotal = { requests: count, amount_usd: usd };

/** `null`: not known, because an account's entry `opening` is later. */
const moneyByKind = orNull(z.strictObject({ paid_usd: usd, given_usd: usd })).meta({
  description: 'null before the entry `opening` of an account of an earlier version',
});
const sinceOpening = orNull(usd);

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
  by_kind: z
    .strictObject({
      opening: moneyByKind,
      closing: moneyByKind,
      revenue_usd: sinceOpening.meta({
        description: 'charges, less what given money paid of them',
      }),
      gifts_given_usd: usd,
      gifts_used_usd: sinceOpening,
      gifts_expired_usd: usd,
      breakage_usd: usd.meta({ description: 'paid credit that expired' }),
      received_usd: usd.meta({ description: 'paid by customers, tax included, less fees' }),
      refunded_usd: usd,
      corrected_usd: usd,
      bad_debt_usd: usd,
      transferred_usd: usd,
      tax_usd: usd.meta({ description: 'owed as tax' }),
      fees_usd: usd.meta({ description: 'kept by providers of payments' }),
      unknown_usd: usd.meta({ description: 'the other side of what earlier versions booked' }),
      result_usd: usd
        .meta({ description: 'revenue and breakage, less fees and cost; absent without a cost' })
        .exactOptional(),
    })
    .meta({ description: 'paid and given money apart, and from where to where it went' }),
});

const closing = z
  .strictObject({
    closed_at: time,
    closed_by: text,
    hash: text.meta({ description: 'SHA-256 of all figures; the trail has it, too' }),
    previous_hash: orNull(text).meta({ description: 'of the month before' }),
    sealed: orNull(text).meta({
      description: 'the end of the hash chain over the ledger, as an audit takes it as anchor',
    }),
  })
  .meta({ id: 'Closing' });

export const closedBooks = z
  .strictObject({
    object: z.literal('closed_books'),
    month: text,
    zone: text,
    from: time,
    until: time,
    closing,
    replayed: z.boolean().meta({ description: 'whether it was closed before' }),
    total: bookFigures,
    statements: count.meta({ description: 'issued for this month, credit notes included' }),
    reversed_earlier: z
      .array(
        z.strictObject({
          entry: text,
          account_id: text,
          amount_usd: usd,
          reverses: text,
          booked_at: time.meta({ description: 'when the entry was booked that is reversed' }),
        }),
      )
      .meta({ description: 'bookings of this month that undo entries of earlier ones' }),
  })
  .meta({ id: 'ClosedBooks' });

export const booksVerification = z
  .strictObject({
    object: z.literal('books_verification'),
    month: text,
    is_as_closed: z.boolean().meta({
      description:
        'whether all figures of each account and in all, read again, are those of the closing; ' +
        'audits also compare them with each charge',
    }),
    closed_digest: text.meta({ description: 'SHA-256 of the figures of each account, as closed' }),
    found_digest: text,
  })
  .meta({ id: 'BooksVerification' });

export const books = z
  .strictObject({
    object: z.literal('books'),
    month: text,
    zone: text,
    from: time,
    until: time,
    closing: orNull(closing).meta({ description: 'null while the month is open' }),
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

const parties = {
  account_id: text,
  account_name: text,
  account_address: z
    .array(text)
    .meta({ description: 'the lines of the metadata "address", which semicolons separate' }),
  issuer: orNull(
    z.strictObject({
      name: text,
      contact: orNull(text),
      address: z.array(text).meta({ description: 'its lines' }),
      note: orNull(text).meta({ description: 'such as what applies to taxes' }),
    }),
  ),
};

/** Of a document that is issued. */
const place = <Schema extends z.ZodType>(as: (schema: z.ZodString) => Schema) => ({
  number: as(text).meta({ description: 'without gaps for each issuer' }),
  issued_at: as(time),
  hash: as(text).meta({ description: 'SHA-256 of what is stored; the trail has it, too' }),
});

export const creditNote = z
  .strictObject({
    object: z.literal('credit_note'),
    ...place((schema) => schema),
    ...parties,
    month: text,
    lines: z.array(
      z.strictObject({
        entry: text,
        date: time,
        text,
        reverses: orNull(text).meta({ description: 'the entry that is taken back' }),
        statement: orNull(text).meta({ description: 'the number of the statement that has it' }),
        amount_usd: usd,
        tax_usd: usd,
      }),
    ),
    amount_usd: usd,
    tax_usd: usd,
  })
  .meta({ id: 'CreditNote' });

export const statement = z
  .strictObject({
    object: z.literal('statement'),
    state: z.enum(['draft', 'issued', 'not_issued']).meta({
      description:
        'draft: the month is not closed; issued: it stays as it is; not_issued: nothing happened in ' +
        'the closed month',
    }),
    ...place(orNull),
    ...parties,
    month: text,
    zone: text.meta({ description: 'the time zone in which the month begins and ends' }),
    period: text,
    from: time,
    until: time,
    opening_balance_usd: usd,
    bookings: z.array(
      credit
        .extend({
          tax_percent: orNull(text).meta({ description: 'if the provider states one rate' }),
          tax_country: orNull(text),
        })
        .meta({ id: 'StatedCredit' }),
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
    tax_usd: usd,
    charged_usd: usd,
    closing_balance_usd: usd,
    by_model: z.array(z.strictObject({ model: text, ...statementTotal })),
    by_key: z.array(z.strictObject({ key_id: text, name: text, ...statementTotal })),
    by_member: z
      .array(z.strictObject({ member_id: orNull(text), name: orNull(text), ...statementTotal }))
      .exactOptional()
      .meta({ description: 'null: charges that name no member. Absent if none names one' }),
    credit_note: orNull(creditNote).meta({
      description: 'for what was taken back of earlier months, such as refunds and reversals',
    }),
    lines: z
      .array(statementLine)
      .meta({ description: 'oldest first; the last is the sum of all others' }),
  })
  .meta({ id: 'Statement' });
