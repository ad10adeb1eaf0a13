/** Reads accounts, with their keys and lots, and totals of usage, for an audit. */

import type { Pool, QueryResultRow } from 'pg';
import { ACCOUNT_TOTALS, KEY_TOTALS, LOT_TOTALS, keyTotalsOf } from '../../ledger/audit-source.js';
import type {
  AccountTotals,
  AuditSource,
  AuditedAccounts,
  LotTotals,
  UsageDay,
  UsageFields,
  UsagePosition,
} from '../../ledger/audit-source.js';
import { dayDifferenceOf, differencesOfDay } from '../../ledger/audit-usage-days.js';
import type { DayDifferenceRow } from '../../ledger/audit-usage-days.js';
import { NEXT_USAGE_DAY, USAGE_ORDER, wholeSums } from '../../ledger/audit-usage-rows.js';
import type { Row } from '../../ledger/tables.js';
import { HOURS_PER_DAY } from '../../ledger/usage-source.js';
import { unitsFromNumeric } from '../../numeric.js';
import { LONG_TIMEOUT_MS, inTransaction, numbered, queryRows } from '../query.js';
import type { TransactionQueries } from '../query.js';
import { readerOf, select } from '../tables.js';
import type { PostgresValues } from '../tables.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function totalReaders(
  pool: Pool,
): Pick<AuditSource, 'accountsAfter' | 'seqOf' | 'usageAfter' | 'usageDayAfter'> {
  return {
    accountsAfter: (accountId, limit, fromHour) =>
      inTransaction(pool, 'snapshot', (queries) =>
        readAccounts(queries, { accountId, limit, fromHour }),
      ),

    async seqOf(accountId) {
      const [row] = await queryRows<{ seq: string }>(pool, {
        text: 'SELECT seq::text FROM account WHERE id = $1',
        values: [accountId],
        timeoutMs,
      });
      return row === undefined ? undefined : BigInt(row.seq);
    },

    async usageAfter(position, { lastAccountId, hour }, limit) {
      const { accountId, keyId, model, endpoint, upstreamAccount, ratesId } = position;
      const rows = await queryRows<UsageRow>(pool, {
        text:
          `${SELECT_USAGE} WHERE (${USAGE_ORDER}) > ($1, $2, $3, $4, $5, $6, $7) ` +
          `AND account_id <= $8 AND hour < $9 ORDER BY ${USAGE_ORDER} LIMIT $10`,
        values: [
          accountId,
          position.hour,
          keyId,
          model,
          endpoint,
          upstreamAccount,
          ratesId,
          lastAccountId,
          hour,
          limit + 1,
        ],
        timeoutMs,
      });
      return wholeSums(rows.map(usageOf), limit);
    },

    usageDayAfter: (day) =>
      inTransaction(pool, 'snapshot', (queries) => readUsageDay(queries, day)),
  };
}

const SELECT_USAGE =
  'SELECT account_id AS "accountId", hour, key_id AS "keyId", model, endpoint, ' +
  'upstream_account AS "upstreamAccount", rates_id AS "ratesId", requests::text, ' +
  'ARRAY[input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation_1h_input_tokens]::text[] ' +
  'AS counts, ARRAY[input_rate, output_rate, cache_read_rate, cache_write_5m_rate, ' +
  'cache_write_1h_rate]::text[] AS rates, written_off::text AS "writtenOff", ' +
  'fees::text, cost::text, costed::text FROM usage_hour';

interface UsageRow extends UsagePosition {
  readonly requests: string;
  readonly counts: readonly string[];
  readonly rates: readonly string[];
  readonly writtenOff: string;
  readonly fees: string;
  readonly cost: string;
  readonly costed: string;
}

function usageOf({ requests, counts, ...row }: UsageRow): UsageFields {
  return {
    ...row,
    requests: BigInt(requests),
    counts: counts.map(BigInt),
    writtenOff: unitsFromNumeric(row.writtenOff),
    fees: unitsFromNumeric(row.fees),
    cost: unitsFromNumeric(row.cost),
    costed: BigInt(row.costed),
  };
}

async function readUsageDay(
  queries: TransactionQueries,
  after: number,
): Promise<UsageDay | undefined> {
  const [{ day } = { day: null }] = await queries.rows<{ day: number | null }>(
    numbered(NEXT_USAGE_DAY),
    [after, (after + 1) * HOURS_PER_DAY],
  );
  if (day === null) return undefined;
  const { sql, values } = differencesOfDay(day, {
    sum: (column) => `sum(sign * ${column})`,
    zero: '0',
  });
  const rows = await queries.rows<DayDifferenceRow & QueryResultRow>(numbered(sql), values);
  return { day, differences: rows.map(dayDifferenceOf) };
}

const readTotals = readerOf('Account', ACCOUNT_TOTALS);
const readKey = readerOf('ApiKey', KEY_TOTALS);
const readLot = readerOf('CreditLot', LOT_TOTALS);

type Page = readonly [after: string, last: string];

async function readAccounts(
  { rows }: TransactionQueries,
  page: { readonly accountId: string; readonly limit: number; readonly fromHour: number },
): Promise<AuditedAccounts> {
  const accounts = await rows<Pick<Row<'Account', PostgresValues>, keyof AccountTotals>>(
    `SELECT ${select('Account', ACCOUNT_TOTALS)} FROM account ` +
      'WHERE id > $1 ORDER BY account.id LIMIT $2',
    [page.accountId, page.limit],
  );
  const range: Page = [page.accountId, accounts.at(-1)?.id ?? page.accountId];
  const keys = await rows<Pick<Row<'ApiKey', PostgresValues>, (typeof KEY_TOTALS)[number]>>(
    `SELECT ${select('ApiKey', KEY_TOTALS)} FROM api_key ` +
      'WHERE account_id > $1 AND account_id <= $2',
    range,
  );
  const lots = await rows<Pick<Row<'CreditLot', PostgresValues>, keyof LotTotals>>(
    `SELECT ${select('CreditLot', LOT_TOTALS)} FROM credit_lot ` +
      'WHERE account_id > $1 AND account_id <= $2 ORDER BY expires_at NULLS LAST, entry_id',
    range,
  );
  const usage = await rows<UsageRow>(
    `${SELECT_USAGE} WHERE account_id > $1 AND account_id <= $2 AND hour >= $3`,
    [...range, page.fromHour],
  );
  return {
    accounts: accounts.map(readTotals),
    keys: keys.map((row) => keyTotalsOf(readKey(row))),
    lots: lots.map(readLot),
    usage: usage.map(usageOf),
  };
}
