/** How PostgreSQL reads and writes groups, members and budgets, and what is left of budgets. */

import type { Pool } from 'pg';
import { TABLES } from '../generated/tables.js';
import type { BudgetUse } from '../budget.js';
import type { SpenderRows } from '../ledger/rows/spender-rows.js';
import { createQueryBatcher } from '../ledger/base/query-batcher.js';
import { spenderRowsOf, spenderTableOf } from '../ledger/queries/spenders.js';
import type { SpenderSql, SpenderTable } from '../ledger/queries/spenders.js';
import type { Value } from '../ledger/queries/search.js';
import {
  BUDGET_MEMBERS,
  budgetRecordOf,
  countingTermsOf,
  spenderText,
} from '../ledger/rows/spenders.js';
import { byRoom, periodAt } from '../ledger/rules/budgets.js';
import { columnsOf } from '../ledger/tables/tables.js';
import type { ColumnOf, Model, Row, SomeColumns } from '../ledger/tables/tables.js';
import { unitsFromNumeric } from '../numeric.js';
import type { Spender } from '../spender.js';
import { arrayText } from './array-text.js';
import {
  LONG_TIMEOUT_MS,
  READ_TIMEOUT_MS,
  numbered,
  queryRows,
  reachingDatabase,
} from './query.js';
import type { TransactionQueries } from './query.js';
import { insertRow, insertRows, readerOf, select, updateRow } from './tables.js';

type Rows = TransactionQueries['rows'];

/**
 * The rows of a table.
 *
 * @param tail - What follows the name of the table. It names a column with its table where the
 * column of the result with the same name would be meant otherwise.
 */
export async function rowsIn<Of extends Model>(
  { rows }: TransactionQueries,
  model: Of,
  tail: string,
  values: readonly Value[],
): Promise<readonly Row<Of>[]> {
  const members = Object.keys(columnsOf(model)) as ColumnOf<Of>[];
  const read = readerOf(model, members);
  const text = `SELECT ${select(model, members)} FROM ${TABLES[model].table} ${tail}`;
  const found = await rows<Readonly<Record<ColumnOf<Of>, unknown>>>(numbered(text), values);
  return found.map((row) => read(row) as unknown as Row<Of>);
}

function sqlOf(rows: Rows): SpenderSql {
  return {
    rows: (model, tail, values) => rowsIn({ rows }, model, tail, values),
    query: async <Found extends object>(text: string, values: readonly Value[]) =>
      (await rows<Record<string, unknown>>(
        numbered(text),
        values,
      )) as readonly unknown[] as readonly Found[],
    lower: (column) => `lower(${column})`,
    texts: 'SELECT json_array_elements_text(?::json)',
    sum: (amounts) => `coalesce(sum(${amounts}), 0)::text`,
    time: (at) => at.toISOString(),
    units: unitsFromNumeric,
  };
}

export function spendersIn(queries: TransactionQueries): SpenderRows {
  return spenderRowsOf({
    ...sqlOf(queries.rows),
    insert: (model, row) => insertRow(queries, model, row as SomeColumns<typeof model>),
    insertAll: (model, rows) => insertRows(queries, model, rows),
    update: (model, id, change) => updateRow(queries, model, id, change),
  });
}

export function createSpenderTable(pool: Pool): SpenderTable {
  return spenderTableOf(
    sqlOf((text, values = []) =>
      reachingDatabase(() => queryRows(pool, { text, values, timeoutMs: LONG_TIMEOUT_MS })),
    ),
  );
}

export const BUDGET_COLUMNS = BUDGET_MEMBERS.map((member) => {
  const { name, kind } = columnsOf('Budget')[member] ?? { name: '', kind: 'text' };
  return `(budget).${name}${kind === 'amount' || kind === 'bigint' ? '::text' : ''} AS "${member}"`;
}).join(', ');

const readBudget = readerOf('Budget', BUDGET_MEMBERS);

/** A budget with its columns as {@link BUDGET_COLUMNS} selects them. */
export type BudgetColumns = Parameters<typeof readBudget>[0];

export interface StateColumns {
  readonly subject: string;
  readonly most: string;
  readonly used: string;
  readonly held: string;
}

/** @param at - The time by the database's clock. */
export function budgetUseOf(
  budget: BudgetColumns,
  { subject, most, used, held }: StateColumns,
  at: Date,
): BudgetUse {
  const row = readBudget(budget);
  const period = periodAt(countingTermsOf(row), at.getTime()) ?? { start: 0, end: Infinity };
  return {
    budget: budgetRecordOf(row),
    subject,
    amount: unitsFromNumeric(most),
    used: unitsFromNumeric(used),
    held: unitsFromNumeric(held),
    startsAt: period.start === 0 ? null : new Date(period.start),
    renewsAt: period.end === Infinity ? null : new Date(period.end),
  };
}

/** A budget that PostgreSQL returned as JSON, in which times are text. */
export function budgetInJson(json: Readonly<Record<string, unknown>>): BudgetColumns {
  const times = Object.entries(columnsOf('Budget')).flatMap(([member, { kind }]) => {
    const text = json[member];
    return kind === 'time' && typeof text === 'string' ? [[member, new Date(text)] as const] : [];
  });
  return { ...json, ...Object.fromEntries(times) } as BudgetColumns;
}

interface Question {
  readonly keyId: string;
  readonly spender: Spender | undefined;
}

const READ_BUDGETS =
  'SELECT p.ordinal::int4, now() AS at, ' +
  `${BUDGET_COLUMNS}, t.subject AS state_subject, ` +
  't.amount::text AS state_amount, t.used::text AS state_used, t.held::text AS state_held ' +
  'FROM unnest($1::text[], $2::jsonb[]) WITH ORDINALITY AS p (key_id, spender, ordinal) ' +
  'JOIN api_key k ON k.id = p.key_id ' +
  'CROSS JOIN LATERAL (SELECT * FROM budget_states(k.account_id, k.id, p.spender, now()) ' +
  'UNION ALL SELECT * FROM reserve_states(k.account_id, k.id, p.spender, now())) t';

/** @returns a function that reads what is left of budgets. Reads of one tick share one query. */
export function createBudgetReader(
  pool: Pool,
): (keyId: string, spender: Spender | undefined) => Promise<readonly BudgetUse[]> {
  const read = createQueryBatcher(async (questions: readonly Question[]) => {
    const rows = await reachingDatabase(() =>
      queryRows<StateRow>(pool, {
        name: 'read_budgets',
        text: READ_BUDGETS,
        values: [
          arrayText(questions.map(({ keyId }) => keyId)),
          arrayText(questions.map(({ spender }) => spenderText(spender))),
        ],
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
    const uses: BudgetUse[][] = questions.map(() => []);
    for (const row of rows) {
      const state = {
        subject: row.state_subject,
        most: row.state_amount,
        used: row.state_used,
        held: row.state_held,
      };
      uses[row.ordinal - 1]?.push(budgetUseOf(row, state, row.at));
    }
    return uses.map((of) => of.sort(byRoom));
  });
  return (keyId, spender) => read({ keyId, spender });
}

type StateRow = BudgetColumns & {
  readonly ordinal: number;
  readonly at: Date;
  readonly state_subject: string;
  readonly state_amount: string;
  readonly state_used: string;
  readonly state_held: string;
};
