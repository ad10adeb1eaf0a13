/** The file `BOOKS_ACCOUNTS`: the account of your bookkeeping for each side of the books. */

import { z } from 'zod';
import { ConfigError } from './config.js';
import type { Config } from './config.js';
import { readJson } from './settings.js';

/** Every side of the books that a journal can name; a provider of payments has its own `cash:`. */
const SIDES = [
  'balance:paid',
  'balance:given',
  'revenue',
  'redeemed',
  'given',
  'breakage',
  'refunds',
  'corrections',
  'bad_debt',
  'transfers',
  'tax',
  'fees',
  'unknown',
] as const;
const CASH = /^cash:[a-z0-9_]+$/;

/** A number for DATEV, a code for Xero, a name for QuickBooks. */
const account = z.union([
  z
    .string()
    .min(1)
    .max(100)
    .transform((number) => ({ number, tax_key: undefined })),
  z.strictObject({
    number: z.string().min(1).max(100),
    /** DATEV's key, Xero's name of a rate. */
    tax_key: z.string().max(100).optional(),
  }),
]);

const bookkeeping = z.strictObject({
  accounts: z.record(
    z.string().refine((side) => CASH.test(side) || (SIDES as readonly string[]).includes(side), {
      error: () => `must be one of ${SIDES.join(', ')}, or cash:<provider>`,
    }),
    account,
  ),
  /** The members of DATEV's header that only the tax adviser knows. */
  datev: z
    .strictObject({
      consultant: z.int().min(1_001).max(9_999_999),
      client: z.int().min(1).max(99_999),
      account_length: z.int().min(4).max(8).default(4),
      /** Month and day. */
      year_starts: z
        .string()
        .regex(/^(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, 'must be a month and a day: 01-01')
        .default('01-01'),
    })
    .optional(),
});

export type Bookkeeping = z.output<typeof bookkeeping>;

/** @throws {ConfigError} names the member that is wrong */
export function readBookkeeping({ books }: Pick<Config, 'books'>): Bookkeeping | undefined {
  if (books.accounts === undefined) return undefined;
  const parsed = bookkeeping.safeParse(readJson(books.accounts, 'BOOKS_ACCOUNTS'));
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map(({ path, message }) => `BOOKS_ACCOUNTS: ${path.join('.')}: ${message}`),
  );
}
