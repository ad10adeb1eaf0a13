/**
 * Issues the statement of an account for a closed month, once: what it says is stored with its
 * number. What was taken back of an earlier month is on a credit note, which has its own number and
 * is issued first, so that an account with a statement has its credit note, too.
 */

import type { z } from 'zod';
import type {
  BalanceStore,
  ClosedMonth,
  IssuedStatement,
  LedgerEntry,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { partiesOf, readFacts, withTaxRates } from './statement-facts.js';
import type { Issuer, StatementFacts, StatementStore } from './statement-facts.js';
import { bookingText, statementLines } from './statement-lines.js';
import { readEntries } from '../../ledger/ledger-entries.js';
import type { creditNote } from '../schemas/statements.js';

export type IssuingStore = StatementStore &
  Pick<BalanceStore, 'issueStatement' | 'listStatements' | 'findEntries' | 'listClosedMonths'>;

interface StatementToIssue {
  readonly accountId: string;
  readonly closed: ClosedMonth;
  readonly issuer: Issuer | undefined;
}

/** In the trail: it follows from the closing, whoever reads it first. */
const BY = { name: 'statements' };

/** @returns `undefined` if nothing happened in the month */
export async function issueStatement(
  store: IssuingStore,
  of: StatementToIssue,
): Promise<IssuedView | undefined> {
  const { accountId, closed, issuer } = of;
  const { month, zone } = closed;
  const known = await store.listStatements({ month, accountId, limit: 1 });
  let statement = known.find(({ kind }) => kind === 'statement');
  let note = known.find(({ kind }) => kind === 'credit_note');
  if (statement === undefined) {
    const facts = await readFacts(store, accountId, { month: closed, zone, issuer });
    if (facts.bookings.length === 0 && facts.charges.length === 0) return undefined;
    const issue = async (kind: IssuedStatement['kind'], contents: object) =>
      store.issueStatement({
        issuer: issuer?.name ?? '',
        kind,
        month,
        accountId,
        contents: JSON.stringify(contents),
        by: BY,
      });
    const taken = await readCreditNote(store, of);
    if (taken !== undefined) note ??= await issue('credit_note', taken);
    statement = await issue('statement', { ...facts, lines: statementLines(facts) });
    if (statement === undefined) throw new Error(`month ${month} is not closed`);
  }
  return issuedView(statement, note);
}

type Stored = StatementFacts & { readonly lines: ReturnType<typeof statementLines> };
type StoredNote = Omit<z.output<typeof creditNote>, keyof ReturnType<typeof placeOf>>;
type IssuedView = ReturnType<typeof issuedView>;

function issuedView(statement: IssuedStatement, note: IssuedStatement | undefined) {
  const { lines, ...facts } = JSON.parse(statement.contents) as Stored;
  return {
    ...facts,
    state: 'issued' as const,
    ...placeOf(statement),
    credit_note:
      note === undefined
        ? null
        : { ...(JSON.parse(note.contents) as StoredNote), ...placeOf(note) },
    lines: [...lines],
  };
}

function placeOf({ number, issuedAt, hash }: IssuedStatement) {
  return {
    number: String(number).padStart(DIGITS, '0'),
    issued_at: issuedAt.toISOString(),
    hash,
  };
}

const DIGITS = 6;

/** What the bookings of the month take back of earlier ones. @returns `undefined` for nothing */
async function readCreditNote(
  store: IssuingStore,
  { accountId, closed, issuer }: StatementToIssue,
): Promise<StoredNote | undefined> {
  const { from, until } = closed;
  const entries = await readEntries(store, {
    accountId,
    withoutCharges: true,
    withoutFees: true,
    from,
    until,
  });
  const bookings = entries.filter((entry) => entry.kind !== 'charge').toReversed();
  const reversed = new Map<string, LedgerEntry>();
  const ids = bookings.flatMap(({ reverses }) => (reverses === undefined ? [] : [reverses]));
  if (ids.length > 0) {
    for (const entry of await store.findEntries(ids)) reversed.set(entry.id, entry);
  }
  const months = (await store.listClosedMonths()).filter((earlier) => earlier.until <= from);
  const numberAt = async (time: Date): Promise<string | undefined> => {
    const of = months.find((month) => time >= month.from && time < month.until);
    if (of === undefined) return undefined;
    return (await issueStatement(store, { accountId, closed: of, issuer }))?.number;
  };
  const isStated = async () => {
    for (const { from: time } of months.toReversed()) {
      if ((await numberAt(time)) !== undefined) return true;
    }
    return false;
  };
  const isTaken = async (booking: (typeof bookings)[number]) => {
    const before = reversed.get(booking.reverses ?? '')?.createdAt;
    if (before !== undefined) return before < from;
    const isRefund = booking.kind === 'adjustment' && TAKEN.has(booking.reason);
    return isRefund && isStated();
  };
  const taken: typeof bookings = [];
  for (const booking of bookings) if (await isTaken(booking)) taken.push(booking);
  if (taken.length === 0) return undefined;
  const stated = await withTaxRates(store, accountId, taken);
  const sumOf = (amounts: readonly bigint[]) =>
    formatUsd(amounts.reduce((total, amount) => total + amount, 0n));
  return {
    object: 'credit_note' as const,
    ...partiesOf(accountId, await store.getAccount(accountId), issuer),
    month: closed.month,
    lines: await Promise.all(
      stated.map(async (view, at) => {
        const { id: entry, reverses } = taken[at] ?? {};
        const before = reversed.get(reverses ?? '')?.createdAt;
        return {
          entry: entry ?? '',
          date: view.created_at,
          text: bookingText(view),
          reverses: reverses ?? null,
          statement: before === undefined ? null : ((await numberAt(before)) ?? null),
          amount_usd: view.amount_usd,
          tax_usd: view.tax_usd,
        };
      }),
    ),
    amount_usd: sumOf(taken.map(({ delta }) => delta)),
    tax_usd: sumOf(taken.map(({ tax }) => tax)),
  };
}

/** Without saying which entry they take back. */
const TAKEN = new Set<string>(['refund', 'chargeback']);
