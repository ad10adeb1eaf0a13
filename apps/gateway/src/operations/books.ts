/**
 * The books of a month, for each account and in all: the opening balance, credits, adjustments,
 * expired credit, charges and the closing balance. Every figure is an exact sum of ledger entries
 * or, for charges, of sums of usage, so they add up to the last digit.
 */

import { z } from 'zod';
import { listCursorOf } from '@gateway/balance-store';
import type { AccountRecord, BalanceStore, LedgerEntry } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { entriesOf } from '../ledger-entries.js';
import { month } from './fields.js';
import type { Month } from './fields.js';
import { operation } from './operation.js';

export const booksOperations = {
  showBooks: operation({
    method: 'GET',
    path: '/admin/books',
    right: 'read',
    input: z.strictObject({ month }),
    run: async ({ month: of }, { store }) => booksView(of, await readBooks(store, of)),
  }),
} as const;

/** In units of 10^-14 USD. Everything but `writtenOff` changes the balance. */
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
  /** The parts of charges that the balance or a cap did not cover. */
  writtenOff: 0n,
};
type Movements = typeof NOTHING;
type Movement = keyof Movements;

interface AccountBooks {
  readonly accountId: string;
  readonly name: string;
  readonly externalId: string | null;
  /** The balance before the first entry of the month. */
  readonly opening: bigint;
  readonly movements: Movements;
}

type BooksStore = Pick<BalanceStore, 'listAccounts' | 'listEntries' | 'readUsage'>;

const ACCOUNTS_PER_PAGE = 1_000;

/**
 * Opening balances are the sums of everything before the month. They are not read from the
 * accounts, because those change while the books are read.
 *
 * @returns the books of all accounts that have a balance or a movement, ordered by id
 */
async function readBooks(
  store: BooksStore,
  { from, until }: Month,
): Promise<readonly AccountBooks[]> {
  const [before, within, accounts] = await Promise.all([
    readMovements(store, { from: new Date(0), until: from }),
    readMovements(store, { from, until }),
    readAccounts(store),
  ]);
  const ids = [...new Set([...before.keys(), ...within.keys()])].toSorted();
  return ids
    .map((accountId) => ({
      accountId,
      name: accounts.get(accountId)?.name ?? '',
      externalId: accounts.get(accountId)?.externalId ?? null,
      opening: changeOf(before.get(accountId) ?? NOTHING),
      movements: within.get(accountId) ?? NOTHING,
    }))
    .filter(({ opening, movements }) => opening !== 0n || movements !== NOTHING);
}

async function readMovements(
  store: BooksStore,
  range: { readonly from: Date; readonly until: Date },
): Promise<ReadonlyMap<string, Movements>> {
  const books = new Map<string, Movements>();
  const add = (accountId: string, movement: Movement, amount: bigint) => {
    const movements = books.get(accountId) ?? { ...NOTHING };
    movements[movement] += amount;
    books.set(accountId, movements);
  };
  for await (const entry of entriesOf(store, { ...range, withoutCharges: true })) {
    add(entry.accountId, movementOf(entry), entry.delta);
  }
  for (const sum of await store.readUsage({ by: ['account'], ...range })) {
    const accountId = sum.accountId ?? '';
    add(accountId, 'charged', sum.writtenOff - sum.listPrice);
    add(accountId, 'writtenOff', sum.writtenOff);
  }
  return books;
}

function movementOf(entry: LedgerEntry): Movement {
  switch (entry.kind) {
    case 'top_up':
      return entry.source === 'promotional' ? 'promotional' : 'paid';
    case 'adjustment':
      return entry.reason;
    case 'expiry':
      return 'expired';
    case 'charge':
      return 'charged';
  }
}

async function readAccounts(store: BooksStore): Promise<ReadonlyMap<string, AccountRecord>> {
  const accounts = new Map<string, AccountRecord>();
  let after: string | undefined;
  do {
    const page = await store.listAccounts({
      limit: ACCOUNTS_PER_PAGE,
      ...(after === undefined ? {} : { after }),
    });
    for (const account of page) accounts.set(account.id, account);
    const last = page.at(-1);
    after =
      last === undefined || page.length < ACCOUNTS_PER_PAGE
        ? undefined
        : listCursorOf('newest', last);
  } while (after !== undefined);
  return accounts;
}

function changeOf({ writtenOff: _borne, ...movements }: Movements): bigint {
  return Object.values(movements).reduce((sum, amount) => sum + amount, 0n);
}

function booksView(month: Month, books: readonly AccountBooks[]) {
  const total = { opening: 0n, movements: { ...NOTHING } };
  for (const { opening, movements } of books) {
    total.opening += opening;
    for (const name of Object.keys(NOTHING) as Movement[]) {
      total.movements[name] += movements[name];
    }
  }
  return {
    object: 'books' as const,
    month: month.month,
    from: month.from.toISOString(),
    until: month.until.toISOString(),
    total: figuresOf(total),
    data: books.map((account) => ({
      account_id: account.accountId,
      name: account.name,
      external_id: account.externalId,
      ...figuresOf(account),
    })),
  };
}

/** Negative amounts are money that left the balance. */
function figuresOf({ opening, movements }: Pick<AccountBooks, 'opening' | 'movements'>) {
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
    written_off_usd: formatUsd(movements.writtenOff),
  };
}
