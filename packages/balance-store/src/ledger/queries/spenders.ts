/** Reads and writes groups, members and budgets, with the same statements on both databases. */

import type { Budgets } from '../../budget.js';
import type { MemberRecord, Members, Spender, SpenderFilter } from '../../spender.js';
import type { SpenderRows, SpentSum } from '../rows/spender-rows.js';
import {
  budgetRecordOf,
  countingTermsOf,
  groupRecordOf,
  memberRecordOf,
  raiseOf,
  spenderOf,
} from '../rows/spenders.js';
import { periodAt } from '../rules/budgets.js';
import { tableOf } from '../tables/tables.js';
import type { Model, Row, SomeColumns } from '../tables/tables.js';
import { containing, matching } from './search.js';
import type { Condition, Value } from './search.js';

/** How one database runs them. Statements have a `?` for each value. */
export interface SpenderSql {
  /** The whole rows of a table. @param tail - What follows the name of the table. */
  rows<Of extends Model>(
    model: Of,
    tail: string,
    values: readonly Value[],
  ): Promise<readonly Row<Of>[]>;
  query<Found extends object>(sql: string, values: readonly Value[]): Promise<readonly Found[]>;
  /** An expression of a column in lower case. */
  lower(column: string): string;
  /** An expression that sums amounts, as text. */
  sum(amounts: string): string;
  /** A SELECT of the texts in a JSON array, which is the value of its `?`. */
  readonly texts: string;
  /** A time as a value of a condition. */
  time(at: Date): Value;
  units(text: string): bigint;
}

/** The same within a transaction. */
export interface SpenderWrites extends SpenderSql {
  insert<Of extends Model>(model: Of, row: Row<Of>): Promise<void>;
  insertAll<Of extends Model>(model: Of, rows: readonly Row<Of>[]): Promise<void>;
  update<Of extends Model>(model: Of, id: string, change: SomeColumns<Of>): Promise<void>;
}

/** What is read of groups, members and budgets outside of transactions. */
export type SpenderTable = Pick<Members, 'getGroup' | 'listGroups' | 'getMember' | 'listMembers'> &
  Pick<Budgets, 'getBudget' | 'listBudgets' | 'listRaises' | 'listBudgetUses'>;

export function spenderTableOf(sql: SpenderSql): SpenderTable {
  const one = async <Of extends Model>(model: Of, id: string) =>
    (await sql.rows(model, 'WHERE id = ?', [id]))[0];

  const page = <Of extends Model>(
    model: Of,
    { accountId, after, limit }: Pick<SpenderFilter, 'accountId' | 'after' | 'limit'>,
    conditions: readonly Condition[],
  ) => {
    const { where, values } = matching(
      ['account_id = ?', accountId],
      ['id > ?', after],
      ...conditions,
    );
    const table = tableOf(model);
    // PostgreSQL would sort by a column of the result that has the same name.
    return sql.rows(model, `${where} ORDER BY ${table}.id LIMIT ?`, [...values, limit]);
  };

  const named = (name: string | undefined): Condition => [
    `${sql.lower('name')} LIKE ? ESCAPE '\\'`,
    containing(name?.toLowerCase()),
  ];

  async function withGroups(rows: readonly Row<'Member'>[]): Promise<readonly MemberRecord[]> {
    const ids = [...new Set(rows.flatMap(({ groupId }) => (groupId === null ? [] : [groupId])))];
    const marks = ids.map(() => '?').join(', ');
    const groups =
      ids.length === 0 ? [] : await sql.rows('SpendGroup', `WHERE id IN (${marks})`, ids);
    const paths = new Map(groups.map(({ id, path }) => [id, path]));
    return rows.map((row) => memberRecordOf(row, paths.get(row.groupId ?? '') ?? null));
  }

  return {
    async getGroup(id) {
      const row = await one('SpendGroup', id);
      return row === undefined ? undefined : groupRecordOf(row);
    },
    async listGroups({ name, externalId, ...of }) {
      const rows = await page('SpendGroup', of, [named(name), ['external_id = ?', externalId]]);
      return rows.map(groupRecordOf);
    },
    async getMember(id) {
      const row = await one('Member', id);
      return row === undefined ? undefined : (await withGroups([row]))[0];
    },
    async listMembers({ name, externalId, email, groupId, state, ...of }) {
      const rows = await page('Member', of, [
        named(name),
        ['external_id = ?', externalId],
        ['lower(email) = ?', email?.toLowerCase()],
        ['state = ?', state],
        ["group_id IN (SELECT id FROM spend_group WHERE path LIKE '%/' || ? || '/%')", groupId],
      ]);
      return withGroups(rows);
    },
    async getBudget(id) {
      const row = await one('Budget', id);
      return row === undefined || row.isCap ? undefined : budgetRecordOf(row);
    },
    async listBudgets({ name, withEnded, ...of }) {
      const rows = await page('Budget', of, [
        named(name),
        ['is_cap = FALSE'],
        ...(withEnded === true ? [] : [['ended_seq IS NULL'] as const]),
      ]);
      return rows.map(budgetRecordOf);
    },
    async listRaises(budgetId) {
      const since = sql.time(new Date());
      const tail = 'WHERE budget_id = ? AND until_at > ? ORDER BY budget_raise.id';
      return (await sql.rows('BudgetRaise', tail, [budgetId, since])).map(raiseOf);
    },
    async listBudgetUses(budgetId, limit, subjects) {
      const budget = await one('Budget', budgetId);
      const start = budget === undefined ? undefined : currentStart(budget);
      if (start === undefined || subjects?.length === 0) return [];
      const marks = subjects?.map(() => '?').join(', ');
      const of = marks === undefined ? '' : ` AND subject IN (${marks})`;
      const rows = await sql.rows('BudgetUse', `WHERE budget_id = ? AND start_at = ?${of}`, [
        budgetId,
        BigInt(start),
        ...(subjects ?? []),
      ]);
      return rows
        .toSorted((a, b) => (a.used < b.used ? 1 : a.used > b.used ? -1 : 0))
        .slice(0, limit)
        .map(({ subject, used, startAt }) => ({
          subject,
          used,
          startsAt: startAt === 0n ? null : new Date(Number(startAt)),
        }));
    },
  };
}

/** When the period of now began; of a budget that has ended to count, its last one. */
function currentStart(budget: Row<'Budget'>): number | undefined {
  const last = budget.untilAt === null ? Infinity : budget.untilAt.getTime() - 1;
  return periodAt(countingTermsOf(budget), Math.min(Date.now(), last))?.start;
}

/** The budgets of runs that requests set and that have not ended. */
const OF_RUNS = 'WHERE account_id = ? AND only_for IS NOT NULL AND ended_seq IS NULL';

export function spenderRowsOf(sql: SpenderWrites): SpenderRows {
  const isThere = async (text: string, ...values: readonly Value[]) =>
    (await sql.query(`SELECT 1 AS found FROM ${text} LIMIT 1`, values)).length > 0;
  return {
    async find(model, id) {
      return (await sql.rows(model, 'WHERE id = ?', [id]))[0];
    },
    insert: (model, row) => sql.insert(model, row),
    insertAll: (model, rows) => sql.insertAll(model, rows),
    update: (model, id, change) => sql.update(model, id, change),
    async count(model, accountId) {
      const [row] = await sql.query<{ count: number | string }>(
        `SELECT count(*) AS count FROM ${tableOf(model)} WHERE account_id = ?` +
          (model === 'Budget' ? ' AND only_for IS NULL AND is_cap = FALSE' : ''),
        [accountId],
      );
      return Number(row?.count ?? 0);
    },
    hasBudgets: (accountId) =>
      isThere('budget WHERE account_id = ? AND ended_seq IS NULL', accountId),
    chained: (accountId) =>
      sql.rows('Budget', 'WHERE account_id = ? AND then_id IS NOT NULL AND ended_seq IS NULL', [
        accountId,
      ]),
    async runBudget({ accountId, run, onlyFor }, at) {
      const tail = `${OF_RUNS} AND subject = ? AND only_for = ? AND until_at > ? LIMIT 1`;
      const values = [accountId, run, onlyFor, sql.time(at)];
      return (await sql.rows('Budget', tail, values))[0];
    },
    async countRunBudgets({ accountId, onlyFor }, at) {
      const ofOne = onlyFor === undefined ? '' : ' AND only_for = ?';
      const [row] = await sql.query<{ count: number | string }>(
        `SELECT count(*) AS count FROM budget ${OF_RUNS} AND until_at > ?${ofOne}`,
        [accountId, sql.time(at), ...(onlyFor === undefined ? [] : [onlyFor])],
      );
      return Number(row?.count ?? 0);
    },
    expiredRunBudgets: (accountId, at, limit) =>
      sql.rows('Budget', `${OF_RUNS} AND until_at <= ? ORDER BY budget.id LIMIT ?`, [
        accountId,
        sql.time(at),
        limit,
      ]),
    isExternalIdTaken: (model, { accountId, externalId, id }) =>
      isThere(
        `${tableOf(model)} WHERE account_id = ? AND external_id = ? AND id <> ?`,
        accountId,
        externalId,
        id,
      ),
    async takenExternalIds(model, accountId, externalIds) {
      if (externalIds.length === 0) return [];
      const rows = await sql.query<{ external_id: string }>(
        `SELECT external_id FROM ${tableOf(model)} ` +
          `WHERE account_id = ? AND external_id IN (${sql.texts})`,
        [accountId, JSON.stringify(externalIds)],
      );
      return rows.map(({ external_id: id }) => id);
    },
    async keyIdsOf(memberId) {
      const text = 'SELECT id FROM api_key WHERE member_id = ? ORDER BY api_key.id';
      return (await sql.query<{ id: string }>(text, [memberId])).map(({ id }) => id);
    },
    async deleteUses(budgetId) {
      await sql.query('DELETE FROM budget_use WHERE budget_id = ?', [budgetId]);
    },
    async chargesSince(accountId, from, keyId) {
      // The entries of an account are in order of time.
      const first =
        '(SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM ledger WHERE account_id = ? ' +
        'AND created_at < ? ORDER BY ledger.seq DESC LIMIT 1) before)';
      const rows = await sql.query<SpentRow & { readonly delta: string }>(
        'SELECT key_id, s.member_id, s.groups, s.tag, s.run, ' +
          `${sql.sum('written_off')} AS written_off, ${sql.sum('delta')} AS delta ` +
          'FROM ledger l LEFT JOIN spender s ON s.id = l.spender_id ' +
          `WHERE l.account_id = ? AND l.seq > ${first} AND l.kind = 'charge' ` +
          (keyId === undefined ? '' : 'AND l.key_id = ? ') +
          'GROUP BY key_id, s.member_id, s.groups, s.tag, s.run',
        [accountId, accountId, sql.time(from), ...(keyId === undefined ? [] : [keyId])],
      );
      return rows.map((row): SpentSum => ({
        keyId: row.key_id,
        spender: spenderIn(row),
        amount: sql.units(row.written_off) - sql.units(row.delta),
      }));
    },
    chargesOfRunSince: (accountId, run, hour) => chargesOfRun(sql, { accountId, run, hour }),
    async erase(accountId, erasedColumns) {
      for (const model of ['SpendGroup', 'Member', 'Budget'] as const) {
        for (const { id } of await sql.rows(model, 'WHERE account_id = ?', [accountId])) {
          await sql.update(model, id, erasedColumns(model));
        }
      }
      await sql.query('UPDATE spender SET tag = NULL, run = NULL WHERE account_id = ?', [
        accountId,
      ]);
    },
  };
}

async function chargesOfRun(
  sql: SpenderWrites,
  { accountId, run, hour }: { readonly accountId: string; readonly run: string; hour: number },
): Promise<readonly SpentSum[]> {
  const ofRun = 'SELECT id FROM spender WHERE account_id = ? AND run = ?';
  // Most runs have spent nothing before they get their budget.
  if ((await sql.query(`${ofRun} LIMIT 1`, [accountId, run])).length === 0) return [];
  const rows = await sql.query<SpentRow & { readonly charged: string }>(
    'SELECT key_id, s.member_id, s.groups, s.tag, s.run, ' +
      `${sql.sum('written_off')} AS written_off, ${sql.sum('charged')} AS charged ` +
      'FROM spender_hour h JOIN spender s ON s.id = h.spender_id ' +
      `WHERE h.account_id = ? AND h.hour >= ? AND s.id IN (${ofRun}) ` +
      'GROUP BY key_id, s.member_id, s.groups, s.tag, s.run',
    [accountId, hour, accountId, run],
  );
  return rows.map((row): SpentSum => ({
    keyId: row.key_id,
    spender: spenderIn(row),
    amount: sql.units(row.written_off) + sql.units(row.charged),
  }));
}

interface SpentRow {
  readonly key_id: string;
  readonly member_id: string | null;
  readonly groups: string | null;
  readonly tag: string | null;
  readonly run: string | null;
  readonly written_off: string;
}

function spenderIn({ member_id: memberId, ...row }: SpentRow): Spender {
  return spenderOf({ ...row, memberId });
}
