/**
 * The statement of an account for a month. That of a closed month is issued once, with a number,
 * and stays as it was issued; before, it is a draft.
 */

import type { BalanceStore } from '@gateway/balance-store';
import type { ResultOf } from '../endpoint.js';
import { monthIn } from '../fields.js';
import type { Month } from '../fields.js';
import type { statement } from '../schemas/statements.js';
import { issueStatement } from './issue-statement.js';
import type { IssuingStore } from './issue-statement.js';
import { readFacts } from './statement-facts.js';
import type { Issuer } from './statement-facts.js';
import { statementLines } from './statement-lines.js';

/** As the gateway sends it: amounts in USD, as decimal texts. */
export type Statement = ResultOf<typeof statement>;

export async function readStatement(
  store: IssuingStore & Pick<BalanceStore, 'listClosedMonths'>,
  accountId: string,
  of: {
    readonly month: Pick<Month, 'month'>;
    readonly booksZone: string;
    readonly issuer: Issuer | undefined;
  },
) {
  const { month, booksZone: zone, issuer } = of;
  const closed = (await store.listClosedMonths()).find((known) => known.month === month.month);
  const issued =
    closed === undefined ? undefined : await issueStatement(store, { accountId, closed, issuer });
  if (issued !== undefined) return issued;
  const range =
    closed === undefined
      ? { month: monthIn(zone, month), zone }
      : { month: closed, zone: closed.zone };
  const facts = await readFacts(store, accountId, { ...range, issuer });
  return {
    ...facts,
    /** A closed month in which nothing happened has a statement without a number. */
    state: closed === undefined ? ('draft' as const) : ('not_issued' as const),
    number: null,
    issued_at: null,
    hash: null,
    credit_note: null,
    lines: [...statementLines(facts)],
  };
}
