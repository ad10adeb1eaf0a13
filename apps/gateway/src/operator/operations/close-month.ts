/** Closes a month and issues its statements, on demand and by itself. */

import type { BalanceStore, BookPage, ClosedMonth, LedgerEntry } from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import { monthIn } from '../../endpoints/fields.js';
import { OperationError } from '../../endpoints/operation-error.js';
import { issueStatement } from '../../endpoints/statement/issue-statement.js';
import { entriesOf } from '../../ledger/ledger-entries.js';
import type { OperationContext } from './operation.js';

const ACCOUNTS_PER_PAGE = 500;
const IDS_PER_READ = 500;

type Booking = Exclude<LedgerEntry, { readonly kind: 'charge' }>;

/** A booking of the month that undoes an entry of an earlier one. */
export interface Reversed {
  readonly booking: Booking;
  readonly bookedAt: Date;
}

/**
 * Repeating it issues what an interrupted call left.
 *
 * @throws {OperationError} The month is not over, or not the next one.
 */
export async function closeMonth(
  name: string,
  context: Pick<OperationContext, 'store' | 'booksZone' | 'operator' | 'by'>,
) {
  const { store, booksZone: zone, operator, by } = context;
  const outcome = await store.closeMonth({ ...monthIn(zone, { month: name }), zone, by });
  if (outcome.outcome === 'not_over') {
    const at = outcome.closableAt.toISOString();
    throw new OperationError(newRefusal('month_not_over', { month: name, at }));
  }
  if (outcome.outcome === 'not_next') {
    throw new OperationError(newRefusal('month_not_next', { at: outcome.nextFrom.toISOString() }));
  }
  const { closed, isNew } = outcome;
  let statements = 0;
  for await (const accountId of accountsOf(store, closed)) {
    const issued = await issueStatement(store, { accountId, closed, issuer: operator });
    if (issued !== undefined) statements += issued.credit_note === null ? 1 : 2;
  }
  return { closed, isNew, statements, reversed: await readReversed(store, closed) };
}

/** The accounts with an entry in the month. */
async function* accountsOf(
  store: Pick<BalanceStore, 'readBooks'>,
  { from, until }: ClosedMonth,
): AsyncGenerator<string, undefined> {
  let after: string | undefined;
  do {
    const page: BookPage = await store.readBooks({ from, until, after, limit: ACCOUNTS_PER_PAGE });
    const within = page.sums.filter(({ isBefore }) => !isBefore);
    yield* new Set(within.map(({ accountId }) => accountId));
    after = page.next;
  } while (after !== undefined);
  return undefined;
}

async function readReversed(
  store: Pick<BalanceStore, 'listEntries' | 'findEntries'>,
  { from, until }: ClosedMonth,
): Promise<readonly Reversed[]> {
  const bookings = new Map<string, Booking>();
  for await (const entry of entriesOf(store, { withoutCharges: true, from, until })) {
    if (entry.kind !== 'charge' && entry.reverses !== undefined) {
      bookings.set(entry.reverses, entry);
    }
  }
  const ids = [...bookings.keys()];
  const found: Reversed[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_READ) {
    for (const { id, createdAt: bookedAt } of await store.findEntries(
      ids.slice(at, at + IDS_PER_READ),
    )) {
      const booking = bookings.get(id);
      if (booking !== undefined && bookedAt < from) found.push({ booking, bookedAt });
    }
  }
  return found;
}
