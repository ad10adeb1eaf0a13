/** Reads accounts, with their keys and lots, and totals of usage, for an audit. */

import { setImmediate } from 'node:timers/promises';
import {
  ACCOUNT_TOTALS,
  KEY_TOTALS,
  LOT_TOTALS,
  pageOfAccounts,
} from '../../../ledger/audit/audit-source.js';
import { AFTER_ALL_IDS } from '../../../ledger/scan/ledger-scan.js';
import type {
  AccountTotals,
  AuditSource,
  AuditedAccounts,
  AuditedKeys,
  LotTotals,
  StoredPayment,
  UsageDay,
} from '../../../ledger/audit/audit-source.js';
import type { UsageFields, UsagePosition } from '../../../ledger/scan/ledger-scan.js';
import { dayDifferenceOf, differencesOfDay } from '../../../ledger/audit/usage-days.js';
import type { DayDifferenceRow } from '../../../ledger/audit/usage-days.js';
import { NEXT_USAGE_DAY, USAGE_ORDER, wholeSums } from '../../../ledger/scan/usage-rows.js';
import { HOURS_PER_DAY } from '../../../ledger/queries/usage-source.js';
import { membersWithout } from '../../../ledger/tables/tables.js';
import { IN_KEYS } from '../archives.js';
import type { Connection } from '../connection.js';
import { unitsOf } from '../money.js';
import { sumIsNotZero, sumUsd } from '../sums.js';
import { readSpending } from './spending.js';
import { readerOf, select } from '../tables.js';
import type { SqliteRow } from '../tables.js';
import { pageReader } from './page.js';

export function totalReaders(
  connection: Connection,
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
  const page = pageReader(connection);
  return {
    async accountsAfter(accountId, limits, fromHour) {
      await setImmediate();
      return connection.read(() => readAccounts(connection, { accountId, limits, fromHour }));
    },

    async keysFrom(position, limit, fromHour) {
      await setImmediate();
      return connection.read(() => readKeys(connection, { ...position, limit, fromHour }));
    },

    async seqOf(accountId) {
      const [row] = await page<{ readonly seq: number }>(
        'SELECT seq FROM account WHERE id = ?',
        accountId,
      );
      return row === undefined ? undefined : BigInt(row.seq);
    },

    async paymentsAfter(seq, limit) {
      const rows = await page<Omit<StoredPayment, 'seq'> & { readonly seq: number }>(
        'SELECT seq, account_id AS accountId, ' +
          "data->>'provider_payment_id' AS providerPaymentId FROM document " +
          "WHERE kind = 'payment' AND seq > ? ORDER BY seq LIMIT ?",
        seq,
        limit,
      );
      return rows.map((row) => ({ ...row, seq: BigInt(row.seq) }));
    },

    async hasEntry({ from, before }) {
      const sql = 'SELECT 1 FROM ledger WHERE id >= ? AND id < ? LIMIT 1';
      return (await page(sql, from, before)).length > 0;
    },

    async moneyAfter({ accountId, hour, side }, until, limit) {
      const rows = await page<SqliteRow<'MoneyHour'>>(
        `${SELECT_MONEY} WHERE (account_id, hour, side) > (?, ?, ?) AND account_id <= ? ` +
          'AND hour < ? ORDER BY account_id, hour, side LIMIT ?',
        accountId,
        hour,
        side,
        until.lastAccountId,
        until.hour,
        limit,
      );
      return rows.map(readMoney);
    },

    async usageAfter(position, { lastAccountId, hour, keys }, limit) {
      const { accountId, keyId, model, endpoint, upstreamAccount, ratesId } = position;
      const rows = await page<UsageRow>(
        `${SELECT_USAGE} WHERE (${USAGE_ORDER}) > (?, ?, ?, ?, ?, ?, ?) ` +
          `AND account_id <= ? AND hour < ? ${keys === undefined ? '' : `AND ${IN_KEYS} `}` +
          `ORDER BY ${USAGE_ORDER} LIMIT ?`,
        accountId,
        position.hour,
        keyId,
        model,
        endpoint,
        upstreamAccount,
        ratesId,
        lastAccountId,
        hour,
        ...(keys === undefined ? [] : [keys.from, keys.before]),
        limit + 1,
      );
      return wholeSums(rows.map(usageOf), limit);
    },

    async usageDayAfter(day) {
      await setImmediate();
      return connection.read(() => readUsageDay(connection, day));
    },
  };
}

const readTotals = readerOf('Account', ACCOUNT_TOTALS);
const readKey = readerOf('ApiKey', KEY_TOTALS);
const readLot = readerOf('CreditLot', LOT_TOTALS);

export interface UsageRow extends UsagePosition {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly inputRate: string;
  readonly outputRate: string;
  readonly cacheReadRate: string;
  readonly cacheWrite5mRate: string;
  readonly cacheWrite1hRate: string;
  readonly writtenOff: string;
  readonly fees: string;
  readonly cost: string;
  readonly costed: number;
}

export const SELECT_USAGE =
  'SELECT account_id AS accountId, hour, key_id AS keyId, model, endpoint, ' +
  'upstream_account AS upstreamAccount, rates_id AS ratesId, requests, ' +
  'input_tokens AS input, output_tokens AS output, ' +
  'cache_read_input_tokens AS cacheRead, cache_creation_input_tokens AS cacheWrite, ' +
  'cache_creation_1h_input_tokens AS cacheWrite1h, input_rate AS inputRate, ' +
  'output_rate AS outputRate, cache_read_rate AS cacheReadRate, ' +
  'cache_write_5m_rate AS cacheWrite5mRate, cache_write_1h_rate AS cacheWrite1hRate, ' +
  'written_off AS writtenOff, fees, cost, costed FROM usage_hour';

export function usageOf(row: UsageRow): UsageFields {
  const { accountId, hour, keyId, model, endpoint, upstreamAccount, ratesId } = row;
  return {
    accountId,
    hour,
    keyId,
    model,
    endpoint,
    upstreamAccount,
    ratesId,
    rates: [
      row.inputRate,
      row.outputRate,
      row.cacheReadRate,
      row.cacheWrite5mRate,
      row.cacheWrite1hRate,
    ],
    requests: BigInt(row.requests),
    counts: [row.input, row.output, row.cacheRead, row.cacheWrite, row.cacheWrite1h].map(BigInt),
    writtenOff: unitsOf(row.writtenOff),
    fees: unitsOf(row.fees),
    cost: unitsOf(row.cost),
    costed: BigInt(row.costed),
  };
}

type AccountsPage = {
  readonly accountId: string;
  readonly limits: { readonly accounts: number; readonly keys: number };
  readonly fromHour: number;
};
type KeysPage = {
  readonly accountId: string;
  readonly keyId: string;
  readonly limit: number;
  readonly fromHour: number;
};

function readUsageDay(connection: Connection, after: number): UsageDay | undefined {
  const [{ day } = { day: null }] = connection.all<{ readonly day: number | null }>(
    NEXT_USAGE_DAY,
    after,
    (after + 1) * HOURS_PER_DAY,
  );
  if (day === null) return undefined;
  const { sql, values } = differencesOfDay(day, {
    sum: (column) => sumUsd(column, 'sign'),
    isNotZero: (column) => sumIsNotZero(column, 'sign'),
  });
  const rows = connection.all<DayDifferenceRow>(sql, ...values);
  return { day, differences: rows.map(dayDifferenceOf) };
}

const MONEY_MEMBERS = membersWithout('MoneyHour', []);
const readMoney = readerOf('MoneyHour', MONEY_MEMBERS);
const SELECT_MONEY = `SELECT ${select('MoneyHour', MONEY_MEMBERS)} FROM money_hour`;

const SELECT_KEYS = `SELECT ${select('ApiKey', KEY_TOTALS)} FROM api_key`;
type KeyRow = Pick<SqliteRow<'ApiKey'>, (typeof KEY_TOTALS)[number]>;

function readAccounts(
  connection: Connection,
  { accountId, limits, fromHour }: AccountsPage,
): AuditedAccounts {
  const found = connection.all<Pick<SqliteRow<'Account'>, keyof AccountTotals>>(
    `SELECT ${select('Account', ACCOUNT_TOTALS)} FROM account WHERE id > ? ORDER BY id LIMIT ?`,
    accountId,
    limits.accounts,
  );
  const keys = connection.all<KeyRow>(
    `${SELECT_KEYS} WHERE account_id > ? AND account_id <= ? ORDER BY account_id LIMIT ?`,
    accountId,
    found.at(-1)?.id ?? accountId,
    limits.keys + 1,
  );
  const { accounts, hasKeys } = pageOfAccounts(found, keys, limits.keys);
  const last = accounts.at(-1)?.id ?? accountId;
  const lots = connection.all<Pick<SqliteRow<'CreditLot'>, keyof LotTotals>>(
    `SELECT ${select('CreditLot', LOT_TOTALS)} FROM credit_lot ` +
      'WHERE account_id > ? AND account_id <= ? ' +
      'ORDER BY expires_at IS NULL, expires_at, entry_id',
    accountId,
    last,
  );
  const money = connection.all<SqliteRow<'MoneyHour'>>(
    `${SELECT_MONEY} WHERE account_id > ? AND account_id <= ? AND hour >= ?`,
    accountId,
    accounts.length === 0 ? AFTER_ALL_IDS : last,
    fromHour,
  );
  const usage = hasKeys
    ? connection.all<UsageRow>(
        `${SELECT_USAGE} WHERE account_id > ? AND account_id <= ? AND hour >= ?`,
        accountId,
        last,
        fromHour,
      )
    : [];
  return {
    accounts: accounts.map(readTotals),
    lots: lots.map(readLot),
    money: money.map(readMoney),
    ...readSpending(connection, { accountId, last, fromHour }),
    keys: hasKeys ? keys.filter((key) => key.accountId <= last).map(readKey) : undefined,
    usage: usage.map(usageOf),
  };
}

function readKeys(
  connection: Connection,
  { accountId, keyId, limit, fromHour }: KeysPage,
): AuditedKeys {
  const account = connection.get<{ readonly seq: number }>(
    'SELECT seq FROM account WHERE id = ?',
    accountId,
  );
  // The index of accounts has no key's id: its keys would be sorted for each page.
  const rows = connection.all<KeyRow>(
    `${SELECT_KEYS} WHERE +account_id = ? AND id >= ? ORDER BY id LIMIT ?`,
    accountId,
    keyId,
    limit + 1,
  );
  const next = rows[limit]?.id;
  const usage = connection.all<UsageRow>(
    `${SELECT_USAGE} WHERE account_id = ? AND hour >= ? AND ${IN_KEYS}`,
    accountId,
    fromHour,
    keyId,
    next ?? AFTER_ALL_IDS,
  );
  return {
    seq: BigInt(account?.seq ?? 0),
    keys: rows.slice(0, limit).map(readKey),
    next,
    usage: usage.map(usageOf),
  };
}
