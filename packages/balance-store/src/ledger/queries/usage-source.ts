/**
 * Chooses the rows that answer a query for usage. Whole days come from `usage_day`, which has daily
 * totals for each key, for each account and for the whole ledger, so that few rows are read. Only
 * hours that are not rolled up yet, parts of days, and queries by hour are answered from
 * `usage_hour`.
 */

import type { UsageQuery } from '../../usage.js';
import type { Condition, Value } from './search.js';
import { matching } from './search.js';
import { HOUR_MS } from '../base/hours.js';

export const HOURS_PER_DAY = 24;

/** SQL that selects totals, with a `?` for each of its values. Both databases understand it. */
export interface UsageSource {
  readonly sql: string;
  readonly values: readonly Value[];
}

const SUM_COLUMNS =
  'model, endpoint, upstream_account, rates_id, requests, input_tokens, output_tokens, ' +
  'cache_read_input_tokens, cache_creation_input_tokens, cache_creation_1h_input_tokens, ' +
  'input_rate, output_rate, cache_read_rate, cache_write_5m_rate, cache_write_1h_rate, written_off, ' +
  'fees, cost, costed';

/** Hours since 1970-01-01. */
interface HourRange {
  readonly from: number;
  /** Exclusive. */
  readonly until: number;
}

/** Accounts whose id is greater than `after` and at most `last`. */
export interface AccountRange {
  readonly after: string;
  readonly last: string;
}

/** A query for the usage of some accounts. */
export interface SourceQuery extends UsageQuery {
  readonly accounts?: AccountRange | undefined;
}

export function usageSourceOf(query: SourceQuery): UsageSource {
  const range = {
    from: Math.floor(query.from.getTime() / HOUR_MS),
    until: Math.floor(query.until.getTime() / HOUR_MS),
  };
  const firstDay = Math.ceil(range.from / HOURS_PER_DAY);
  const lastDay = Math.floor(range.until / HOURS_PER_DAY);
  if (query.by.includes('hour') || firstDay > lastDay) return hours(query, range);
  const [firstHour, lastHour] = [firstDay * HOURS_PER_DAY, lastDay * HOURS_PER_DAY];
  const sources = [openHours(query, range)];
  if (range.from < firstHour) {
    sources.push(hours(query, { from: range.from, until: firstHour }, ROLLED_UP));
  }
  if (range.until === lastHour) {
    sources.push(days(query, firstDay, lastDay));
  } else {
    // The range ends within a day. If no hour of that day after the range is rolled up, such as
    // when the range ends now, the daily total has only hours of the range and can be used.
    // Otherwise the hourly totals up to the end of the range are used.
    const end = lastHour + HOURS_PER_DAY;
    const isCut: Condition = [
      'EXISTS (SELECT 1 FROM usage_hour WHERE rolled_up = TRUE AND hour >= ? AND hour < ?)',
      range.until,
      end,
    ];
    sources.push(
      days(query, firstDay, lastDay),
      days(query, lastDay, lastDay + 1, [`NOT ${isCut[0]}`, ...isCut.slice(1)]),
      hours(query, { from: lastHour, until: range.until }, ROLLED_UP, isCut),
    );
  }
  return {
    sql: sources.map(({ sql }) => sql).join(' UNION ALL '),
    values: sources.flatMap(({ values }) => values),
  };
}

type Filter = Pick<SourceQuery, 'accountId' | 'accounts' | 'keyId' | 'model'>;

const ROLLED_UP: Condition = ['rolled_up = TRUE'];
const SELECT_HOURS = `SELECT hour, account_id, key_id, ${SUM_COLUMNS} FROM usage_hour`;
const SELECT_DAYS = `SELECT day * ${String(HOURS_PER_DAY)} AS hour, account_id, key_id, ${SUM_COLUMNS}`;

function hours(
  { accountId, accounts, keyId, model }: Filter,
  { from, until }: HourRange,
  ...conditions: readonly Condition[]
): UsageSource {
  // Always true. It makes the index on `rolled_up` and `hour` usable, which begins with
  // `rolled_up`.
  const isAny: readonly Condition[] =
    (accountId ?? accounts) === undefined && conditions.length === 0
      ? [['rolled_up IN (FALSE, TRUE)']]
      : [];
  const { where, values } = matching(
    ...isAny,
    ...conditions,
    ['hour >= ?', from],
    ['hour < ?', until],
    ['account_id = ?', accountId],
    ['account_id > ?', accounts?.after],
    ['account_id <= ?', accounts?.last],
    ['key_id = ?', keyId],
    ['model = ?', model],
  );
  return { sql: `${SELECT_HOURS} ${where}`, values };
}

/**
 * The hourly totals that are not rolled up yet. Begins at the first hour that has one, so that the
 * rolled-up hours of an account are not read.
 */
function openHours(filter: Filter, range: HourRange): UsageSource {
  return hours(
    filter,
    range,
    ['rolled_up = FALSE'],
    ['hour >= (SELECT min(hour) FROM usage_hour WHERE rolled_up = FALSE)'],
  );
}

/** @param until - Exclusive. */
function days(
  query: SourceQuery,
  from: number,
  until: number,
  ...conditions: readonly Condition[]
): UsageSource {
  const owners = ownersOf(query);
  const { where, values } = matching(
    ['account_id = owner_account_id'],
    ['key_id = owner_key_id'],
    ['day >= ?', from],
    ['day < ?', until],
    ['model = ?', query.model],
    ...conditions,
  );
  return {
    // SQLite reads the first table of a CROSS JOIN first.
    sql: `${SELECT_DAYS} FROM (${owners.sql}) owners CROSS JOIN usage_day ${where}`,
    values: [...owners.values, ...values],
  };
}

/** Whose daily totals answer the query: those of keys, of accounts, or of the whole ledger. */
function ownersOf({ by, accountId, accounts, keyId }: SourceQuery): UsageSource {
  if (by.includes('key') || keyId !== undefined) {
    const { where, values } = matching(['account_id = ?', accountId], ['id = ?', keyId]);
    const columns = 'account_id AS owner_account_id, id AS owner_key_id';
    return { sql: `SELECT ${columns} FROM api_key ${where}`, values };
  }
  if (by.includes('account') || accountId !== undefined) {
    const { where, values } = matching(
      ['id = ?', accountId],
      ['id > ?', accounts?.after],
      ['id <= ?', accounts?.last],
    );
    return {
      sql: `SELECT id AS owner_account_id, '' AS owner_key_id FROM account ${where}`,
      values,
    };
  }
  return { sql: "SELECT '' AS owner_account_id, '' AS owner_key_id", values: [] };
}
