/** Reads accounts, with their keys and lots, and totals of usage, for an audit. */

import type { Pool, QueryResultRow } from 'pg';
import {
  ACCOUNT_TOTALS,
  KEY_TOTALS,
  LOT_TOTALS,
  pageOfAccounts,
} from '../../ledger/audit/audit-source.js';
import { AFTER_ALL_IDS } from '../../ledger/scan/ledger-scan.js';
import type {
  AccountTotals,
  AuditSource,
  AuditedAccounts,
  AuditedKeys,
  LotTotals,
  StoredPayment,
  UsageDay,
} from '../../ledger/audit/audit-source.js';
import type { UsageFields, UsagePosition } from '../../ledger/scan/ledger-scan.js';
import { dayDifferenceOf, differencesOfDay } from '../../ledger/audit/usage-days.js';
import type { DayDifferenceRow } from '../../ledger/audit/usage-days.js';
import { NEXT_USAGE_DAY, USAGE_ORDER, wholeSums } from '../../ledger/scan/usage-rows.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import type { Row } from '../../ledger/tables/tables.js';
import { HOURS_PER_DAY } from '../../ledger/queries/usage-source.js';
import { unitsFromNumeric } from '../../numeric.js';
import { LONG_TIMEOUT_MS, inTransaction, numbered, queryRows } from '../query.js';
import type { TransactionQueries } from '../query.js';
import { readSpending } from './spending.js';
import { readerOf, select } from '../tables.js';
import type { PostgresValues } from '../tables.js';

const timeoutMs = LONG_TIMEOUT_MS;

export function totalReaders(
  pool: Pool,
): Pick<
  AuditSource,
  | 'accountsAfter'
  | 'keysFrom'
  | 'seqOf'
  | 'hasEntry'
  | 'paymentsAfter'
  | 'moneyAfter'
  | 'usageAfter'
  | 'usageDayAfter'
> {
  return {
    accountsAfter: (accountId, limits, fromHour) =>
      inTransaction(pool, 'snapshot', (queries) =>
        readAccounts(queries, { accountId, limits, fromHour }),
      ),

    keysFrom: (position, limit, fromHour) =>
      inTransaction(pool, 'snapshot', (queries) =>
        readKeys(queries, { ...position, limit, fromHour }),
      ),

    async seqOf(accountId) {
      const [row] = await queryRows<{ seq: string }>(pool, {
        text: 'SELECT seq::text FROM account WHERE id = $1',
        values: [accountId],
        timeoutMs,
      });
      return row === undefined ? undefined : BigInt(row.seq);
    },

    async paymentsAfter(seq, limit) {
      const rows = await queryRows<Omit<StoredPayment, 'seq'> & { readonly seq: string }>(pool, {
        text:
          'SELECT document.seq::text, account_id AS "accountId", ' +
          'data->>\'provider_payment_id\' AS "providerPaymentId" FROM document ' +
          "WHERE kind = 'payment' AND document.seq > $1::int8 ORDER BY document.seq LIMIT $2",
        values: [seq.toString(), limit],
        timeoutMs,
      });
      return rows.map((row) => ({ ...row, seq: BigInt(row.seq) }));
    },

    async hasEntry({ from, before }) {
      const text = 'SELECT FROM ledger WHERE id >= $1 AND id < $2 LIMIT 1';
      return (await queryRows(pool, { text, values: [from, before], timeoutMs })).length > 0;
    },

    async moneyAfter({ accountId, hour, side }, until, limit) {
      const rows = await queryRows<Row<'MoneyHour', PostgresValues>>(pool, {
        text:
          `${SELECT_MONEY} WHERE (account_id, money_hour.hour, money_hour.side) > ($1, $2, $3) ` +
          'AND account_id <= $4 AND money_hour.hour < $5 ' +
          'ORDER BY account_id, money_hour.hour, money_hour.side LIMIT $6',
        values: [accountId, hour, side, until.lastAccountId, until.hour, limit],
        timeoutMs,
      });
      return rows.map(readMoney);
    },

    async usageAfter(position, { lastAccountId, hour, keys }, limit) {
      const { accountId, keyId, model, endpoint, upstreamAccount, ratesId } = position;
      const rows = await queryRows<UsageRow>(pool, {
        text:
          `${SELECT_USAGE} WHERE (${USAGE_ORDER}) > ($1, $2, $3, $4, $5, $6, $7) ` +
          'AND account_id <= $8 AND hour < $9 ' +
          'AND ($11::text IS NULL OR (key_id >= $11 AND key_id < $12)) ' +
          `ORDER BY ${USAGE_ORDER} LIMIT $10`,
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
          keys?.from ?? null,
          keys?.before ?? null,
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
    isNotZero: (column) => `sum(sign * ${column}) <> 0`,
  });
  const rows = await queries.rows<DayDifferenceRow & QueryResultRow>(numbered(sql), values);
  return { day, differences: rows.map(dayDifferenceOf) };
}

const readTotals = readerOf('Account', ACCOUNT_TOTALS);
const readKey = readerOf('ApiKey', KEY_TOTALS);
const readLot = readerOf('CreditLot', LOT_TOTALS);

const MONEY_MEMBERS = membersWithout('MoneyHour', []);
const readMoney = readerOf('MoneyHour', MONEY_MEMBERS);
const SELECT_MONEY = `SELECT ${select('MoneyHour', MONEY_MEMBERS)} FROM money_hour`;

const SELECT_KEYS = `SELECT ${select('ApiKey', KEY_TOTALS)} FROM api_key`;
type KeyRow = Pick<Row<'ApiKey', PostgresValues>, (typeof KEY_TOTALS)[number]>;

async function readAccounts(
  { rows }: TransactionQueries,
  {
    accountId,
    limits,
    fromHour,
  }: {
    readonly accountId: string;
    readonly limits: { readonly accounts: number; readonly keys: number };
    readonly fromHour: number;
  },
): Promise<AuditedAccounts> {
  const found = await rows<Pick<Row<'Account', PostgresValues>, keyof AccountTotals>>(
    `SELECT ${select('Account', ACCOUNT_TOTALS)} FROM account ` +
      'WHERE id > $1 ORDER BY account.id LIMIT $2',
    [accountId, limits.accounts],
  );
  const keys = await rows<KeyRow>(
    `${SELECT_KEYS} WHERE account_id > $1 AND account_id <= $2 ` +
      'ORDER BY account_id, api_key.id LIMIT $3',
    [accountId, found.at(-1)?.id ?? accountId, limits.keys + 1],
  );
  const { accounts, hasKeys } = pageOfAccounts(found, keys, limits.keys);
  const last = accounts.at(-1)?.id ?? accountId;
  const lots = await rows<Pick<Row<'CreditLot', PostgresValues>, keyof LotTotals>>(
    `SELECT ${select('CreditLot', LOT_TOTALS)} FROM credit_lot ` +
      'WHERE account_id > $1 AND account_id <= $2 ORDER BY expires_at NULLS LAST, entry_id',
    [accountId, last],
  );
  const money = await rows<Row<'MoneyHour', PostgresValues>>(
    `${SELECT_MONEY} WHERE account_id > $1 AND account_id <= $2 AND money_hour.hour >= $3`,
    [accountId, accounts.length === 0 ? AFTER_ALL_IDS : last, fromHour],
  );
  const usage = hasKeys
    ? await rows<UsageRow>(
        `${SELECT_USAGE} WHERE account_id > $1 AND account_id <= $2 AND hour >= $3`,
        [accountId, last, fromHour],
      )
    : [];
  return {
    accounts: accounts.map(readTotals),
    lots: lots.map(readLot),
    money: money.map(readMoney),
    ...(await readSpending({ rows }, { accountId, last, fromHour })),
    keys: hasKeys ? keys.filter((key) => key.accountId <= last).map(readKey) : undefined,
    usage: usage.map(usageOf),
  };
}

async function readKeys(
  { rows }: TransactionQueries,
  {
    accountId,
    keyId,
    limit,
    fromHour,
  }: {
    readonly accountId: string;
    readonly keyId: string;
    readonly limit: number;
    readonly fromHour: number;
  },
): Promise<AuditedKeys> {
  const [account] = await rows<{ seq: string }>('SELECT seq::text FROM account WHERE id = $1', [
    accountId,
  ]);
  const read = await rows<KeyRow>(
    `${SELECT_KEYS} WHERE account_id = $1 AND id >= $2 ORDER BY api_key.id LIMIT $3`,
    [accountId, keyId, limit + 1],
  );
  const next = read[limit]?.id;
  const usage = await rows<UsageRow>(
    `${SELECT_USAGE} WHERE account_id = $1 AND hour >= $2 AND key_id >= $3 AND key_id < $4`,
    [accountId, fromHour, keyId, next ?? AFTER_ALL_IDS],
  );
  return {
    seq: BigInt(account?.seq ?? 0),
    keys: read.slice(0, limit).map(readKey),
    next,
    usage: usage.map(usageOf),
  };
}
