/** The figures of a month in all, and a digest of those of each account. */

import { createHash } from 'node:crypto';
import type { BookPage, BookQuery } from '../../books.js';
import type { ClosedMonth } from '../../closed-month.js';
import { figuresText, inOrder, textOf } from './stored-closed-month.js';

const ACCOUNTS_PER_PAGE = 500;

/** @param read - Reads a range that has ended, so its pages fit together. */
export async function digestOfBooks(
  read: (query: BookQuery) => Promise<BookPage>,
  range: Pick<BookQuery, 'from' | 'until'>,
): Promise<Pick<ClosedMonth, 'figures' | 'digest'>> {
  const digest = createHash('sha256');
  let page = await read({ ...range, limit: ACCOUNTS_PER_PAGE });
  const { totals, sideTotals, unopenedTotal } = page;
  for (;;) {
    for (const line of linesOf(page)) digest.update(`${line}\n`);
    if (page.next === undefined) break;
    page = await read({ ...range, limit: ACCOUNTS_PER_PAGE, after: page.next });
  }
  return { figures: { totals, sideTotals, unopenedTotal }, digest: digest.digest('hex') };
}

/**
 * Reads the figures of a closed month again, of each account and in all, and compares them with
 * those with which it was closed. Unlike an audit, it does not add up the charges of each hour.
 *
 * @returns the digest of the figures now, and whether all of them are as they were
 */
export async function compareWithClosing(
  read: (query: BookQuery) => Promise<BookPage>,
  closed: ClosedMonth,
): Promise<{ readonly digest: string; readonly isAsClosed: boolean }> {
  const { digest, figures } = await digestOfBooks(read, closed);
  const isAsClosed =
    digest === closed.digest && figuresText(figures) === figuresText(closed.figures);
  return { digest, isAsClosed };
}

/** A line for each account that has any sum. */
function linesOf({ accounts, sums, sides, unopened }: BookPage): readonly string[] {
  return accounts.flatMap(({ id }) => {
    const isOf = ({ accountId }: { readonly accountId: string }) => accountId === id;
    const of = [sums.filter(isOf), sides.filter(isOf), unopened.filter(isOf)] as const;
    return of.some((list) => list.length > 0) ? [textOf(of.map(inOrder as never))] : [];
  });
}
