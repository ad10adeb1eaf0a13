/** Rows of closed months and of issued statements, and their hashes. */

import { hash } from 'node:crypto';
import type { ClosedMonth, ClosingFigures, IssuedStatement } from '../../closed-month.js';
import { membersWithout } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

export const CLOSING_MEMBERS = membersWithout('ClosedMonth', []);
export const STATEMENT_MEMBERS = membersWithout('IssuedStatement', []);

export type ClosingRow = Row<'ClosedMonth'>;
type StatementRow = Row<'IssuedStatement'>;

/** The trail records both, so that a row that was replaced with its hash is found, too. */
export const CLOSED = 'books.close';
export const ISSUED = 'statement.issue';

export function hashOfClosing(row: Omit<ClosingRow, 'hash'>): string {
  return hashOf(row, CLOSING_MEMBERS);
}

export function hashOfStatement(row: Omit<StatementRow, 'hash'>): string {
  return hashOf(row, STATEMENT_MEMBERS);
}

function hashOf<Member extends string>(
  row: Readonly<Partial<Record<Member | 'hash', unknown>>>,
  members: readonly (Member | 'hash')[],
): string {
  const values = members.filter((member) => member !== 'hash').map((member) => row[member]);
  return hash('sha256', textOf(values), 'hex');
}

/** JSON, with amounts as the texts of their units. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, of: unknown) => (typeof of === 'bigint' ? String(of) : of));
}

export function figuresText({ totals, sideTotals, unopenedTotal }: ClosingFigures): string {
  return textOf({ totals: inOrder(totals), sideTotals: inOrder(sideTotals), unopenedTotal });
}

/** Sums in an order that depends on nothing else. */
export function inOrder<Sum>(sums: readonly Sum[]): readonly Sum[] {
  return sums.map(keysInOrder).sort((a, b) => compare(textOf(a), textOf(b)));
}

function keysInOrder<Of>(of: Of): Of {
  return Object.fromEntries(Object.entries(of as object).sort(([a], [b]) => compare(a, b))) as Of;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

export function closedMonthOf(row: ClosingRow): ClosedMonth {
  const { fromAt: from, untilAt: until, figures, block, blockHash, ...rest } = row;
  return {
    ...rest,
    from,
    until,
    figures: figuresOf(figures),
    head: block === 0n ? undefined : { block, hash: blockHash },
  };
}

export function figuresOf(text: string): ClosingFigures {
  return JSON.parse(text, (name, value: unknown) =>
    AMOUNTS.has(name) ? BigInt(value as string) : value,
  ) as ClosingFigures;
}

const AMOUNTS = new Set(['amount', 'writtenOff', 'cost']);

export function issuedStatementOf(row: StatementRow): IssuedStatement {
  return { ...row, kind: row.kind === 'credit_note' ? 'credit_note' : 'statement' };
}
