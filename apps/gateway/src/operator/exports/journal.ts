/**
 * The journal of a month: what moved between two sides of the books, in cents. Bookings have a line
 * for each side; charges have one for each account and month. The exact amounts between two sides
 * are added up before they are rounded, so that the lines sum to the rounded sum of the month.
 */

import type { BalanceStore, BookPage, LedgerEntry } from '@gateway/balance-store';
import type { Month } from '../../endpoints/fields.js';
import { invalidInput } from '../../endpoints/operation-error.js';
import { readEntries } from '../../ledger/ledger-entries.js';

const ACCOUNTS_PER_PAGE = 500;
const UNITS_PER_CENT = 10n ** 12n;

export interface JournalLine {
  /** `2026-11-05`, in UTC; charges are dated on the last day of the month. */
  readonly date: string;
  /** The entry, or `charges:<account>`. */
  readonly document: string;
  readonly text: string;
  /** Sides of the books. */
  readonly debit: string;
  readonly credit: string;
  /** Above 0. */
  readonly cents: bigint;
}

type Store = Pick<BalanceStore, 'listEntries' | 'readBooks'>;
type Booking = Exclude<LedgerEntry, { readonly kind: 'charge' }>;

/**
 * @throws {OperationError} The kinds of money of an account are not known in the month: it has
 *   entries of an earlier version.
 */
export async function readJournal(store: Store, month: Month): Promise<readonly JournalLine[]> {
  const { from, until } = month;
  const lines = createLines();
  const pages: BookPage[] = [];
  let after: string | undefined;
  do {
    const page: BookPage = await store.readBooks({ from, until, after, limit: ACCOUNTS_PER_PAGE });
    if (page.unopenedTotal !== undefined) {
      throw invalidInput(
        `month: ${month.month} begins before an entry "opening", so its kinds of money are not known`,
      );
    }
    pages.push(page);
    after = page.next;
  } while (after !== undefined);
  const names = new Map(
    pages.flatMap(({ accounts }) => accounts.map(({ id, name }) => [id, name])),
  );
  const entries = await readEntries(store, { withoutCharges: true, from, until });
  for (const entry of entries.toReversed()) {
    if (entry.kind !== 'charge') addBooking(lines, entry, names.get(entry.accountId) ?? '');
  }
  const date = dayBefore(until);
  for (const page of pages) addCharges(lines, page, { date, month: month.month });
  return lines.all;
}

/** Each side of an entry against the operator's account that its money comes from. */
function addBooking(lines: Lines, entry: Booking, name: string): void {
  const { delta, given = 0n, counter = 'unknown', tax, fee, createdAt } = entry;
  const what = entry.kind === 'adjustment' ? entry.reason : entry.kind;
  const of = {
    date: createdAt.toISOString().slice(0, 10),
    document: entry.id,
    text: [what.replaceAll('_', ' '), name, entry.reference].filter(Boolean).join(' '),
  };
  lines.add(of, counter, 'balance:paid', delta - given);
  lines.add(of, counter, 'balance:given', given);
  lines.add(of, counter, 'tax', tax);
  lines.add(of, counter, 'fees', -fee);
}

function addCharges(
  lines: Lines,
  { accounts, sums, sides }: BookPage,
  { date, month }: { readonly date: string; readonly month: string },
): void {
  const charged = new Map<string, bigint>();
  for (const { accountId, isBefore, kind, amount } of sums) {
    if (isBefore || kind !== 'charge') continue;
    charged.set(accountId, (charged.get(accountId) ?? 0n) - amount);
  }
  const redeemed = new Map(
    sides
      .filter(({ isBefore, side }) => !isBefore && side === 'redeemed')
      .map(({ accountId, amount }) => [accountId, amount]),
  );
  for (const { id, name } of accounts) {
    const used = redeemed.get(id) ?? 0n;
    const of = { date, document: `charges:${id}`, text: `charges ${month} ${name}` };
    lines.add(of, 'balance:paid', 'revenue', (charged.get(id) ?? 0n) - used);
    lines.add(of, 'balance:given', 'redeemed', used);
  }
}

interface Lines {
  readonly all: readonly JournalLine[];
  /** @param amount - Exact; below zero, it goes the other way. */
  add(
    of: Pick<JournalLine, 'date' | 'document' | 'text'>,
    debit: string,
    credit: string,
    amount: bigint,
  ): void;
}

function createLines(): Lines {
  const all: JournalLine[] = [];
  const totals = new Map<string, { exact: bigint; cents: bigint }>();
  return {
    all,
    add(of, debit, credit, amount) {
      if (amount === 0n) return;
      const pair = `${debit} ${credit}`;
      const total = totals.get(pair) ?? { exact: 0n, cents: 0n };
      totals.set(pair, total);
      total.exact += amount;
      const cents = rounded(total.exact) - total.cents;
      total.cents += cents;
      if (cents > 0n) all.push({ ...of, debit, credit, cents });
      else if (cents < 0n) all.push({ ...of, debit: credit, credit: debit, cents: -cents });
    },
  };
}

/** To the nearest cent, halves away from zero. */
function rounded(units: bigint): bigint {
  const size = units < 0n ? -units : units;
  const cents = (size + UNITS_PER_CENT / 2n) / UNITS_PER_CENT;
  return units < 0n ? -cents : cents;
}

function dayBefore(until: Date): string {
  return new Date(until.getTime() - 1).toISOString().slice(0, 10);
}
