/** Reads the rows that an audit checks. */

import { setImmediate } from 'node:timers/promises';
import { sealedLedgerOf, sealedTrailOf } from '../../generated/tables.js';
import type { SealHead } from '../../audit.js';
import type {
  AccountTotals,
  AuditSource,
  AuditedAccounts,
  LotTotals,
  SealFields,
  UsageDay,
  UsageFields,
  UsagePosition,
} from '../../ledger/audit-source.js';
import { TRAIL_PER_PAGE, replayRights, rightsStatements } from '../../ledger/audit-rights.js';
import type { OwnerRow, RightsChange } from '../../ledger/audit-rights.js';
import { ACCOUNT_TOTALS, AFTER_ALL_IDS, keyTotalsOf } from '../../ledger/audit-source.js';
import { dayDifferenceOf, differencesOfDay } from '../../ledger/audit-usage-days.js';
import type { DayDifferenceRow } from '../../ledger/audit-usage-days.js';
import { NEXT_USAGE_DAY, wholeSums } from '../../ledger/audit-usage-rows.js';
import { HOURS_PER_DAY } from '../../ledger/usage-source.js';
import { CAP_MEMBERS } from '../../ledger/stored-key.js';
import { listArchives, listCarries } from './archives.js';
import type { Connection } from './connection.js';
import { SELECT_ENTRIES } from './entries.js';
import type { EntryRow } from './entries.js';
import { ZERO, unitsOf } from './money.js';
import { readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';
import { TRAIL_COLUMNS } from './trail.js';
import type { TrailRow } from './trail.js';

const RIGHTS = rightsStatements({
  ms: (column) => column,
  text: (column) => column,
  hex: (column) => `iif(${column} IS NULL, NULL, lower(hex(${column})))`,
  promoCode: `coalesce(details ->> 'document', details ->> 'code')`,
});

export function createAuditSource(connection: Connection): AuditSource {
  /** Lets this thread serve other calls before each page. */
  const page = async <Row>(sql: string, ...values: (string | number | bigint)[]) => {
    await setImmediate();
    return connection.all<Row>(sql, ...values);
  };
  return {
    async head() {
      await setImmediate();
      return readHead(connection);
    },

    async accountsAfter(accountId, limit, fromHour) {
      await setImmediate();
      return connection.read(() => readAccounts(connection, { accountId, limit, fromHour }));
    },

    async seqOf(accountId) {
      const [row] = await page<{ readonly seq: number }>(
        'SELECT seq FROM account WHERE id = ?',
        accountId,
      );
      return row === undefined ? undefined : BigInt(row.seq);
    },

    async usageAfter(position, { lastAccountId, hour }, limit) {
      const { accountId, keyId, model, endpoint, upstreamAccount, ratesId } = position;
      const rows = await page<UsageRow>(
        `${SELECT_USAGE} WHERE (${USAGE_ORDER}) > (?, ?, ?, ?, ?, ?, ?) ` +
          `AND account_id <= ? AND hour < ? ORDER BY ${USAGE_ORDER} LIMIT ?`,
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
      );
      return wholeSums(rows.map(usageOf), limit);
    },

    async usageDayAfter(day) {
      await setImmediate();
      return connection.read(() => readUsageDay(connection, day));
    },

    async trailAfter(seq, limit) {
      const rows = await page<TrailRow>(
        `SELECT ${TRAIL_COLUMNS} FROM trail t WHERE t.seq > ? ORDER BY t.seq LIMIT ?`,
        seq,
        limit,
      );
      return rows.map(sealedTrailOf);
    },

    async rightsAfter(of, after, limit) {
      await setImmediate();
      return connection.read(() => {
        const owners = connection.all<OwnerRow>(RIGHTS[of].owners, after, limit);
        const replay = replayRights(of, owners);
        const last = owners.length < limit ? undefined : owners.at(-1)?.id;
        let [owner, seq]: [string, string | number] = [after, Number.MAX_SAFE_INTEGER];
        for (;;) {
          const rows: readonly RightsChange[] = connection.all(
            RIGHTS[of].trail,
            owner,
            seq,
            last ?? AFTER_ALL_IDS,
            TRAIL_PER_PAGE,
          );
          for (const row of rows) replay.add(row);
          const end = rows.at(-1);
          if (end === undefined || rows.length < TRAIL_PER_PAGE) break;
          [owner, seq] = [end.owner, end.seq];
        }
        return { last, differences: replay.finish() };
      });
    },

    async entriesAfter({ accountId, seq }, lastAccountId, limit) {
      const rows =
        lastAccountId === undefined
          ? await page<EntryRow>(`${ENTRIES_AFTER} ${ENTRY_ORDER}`, accountId, seq, limit)
          : await page<EntryRow>(
              `${ENTRIES_AFTER} AND account_id <= ? ${ENTRY_ORDER}`,
              accountId,
              seq,
              lastAccountId,
              limit,
            );
      return rows.map(sealedLedgerOf);
    },

    async sealsAfter({ accountId, seq }, { lastAccountId, block }, limit) {
      const select =
        'SELECT account_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
        'WHERE (account_id, from_seq) > (?, ?) AND block_id <= ?';
      const order = 'ORDER BY account_id, from_seq LIMIT ?';
      const rows =
        lastAccountId === undefined
          ? await page<SealRow>(`${select} ${order}`, accountId, seq, block, limit)
          : await page<SealRow>(
              `${select} AND account_id <= ? ${order}`,
              accountId,
              seq,
              block,
              lastAccountId,
              limit,
            );
      return rows.map(sealOf);
    },

    async blocksAfter(after, last, limit) {
      const rows = await page<BlockRow>(
        'SELECT id, previous_hash, hash, entries, sealed_at FROM ledger_block ' +
          'WHERE id > ? AND id <= min(? + ?, ?) ORDER BY id',
        after,
        after,
        limit,
        last,
      );
      return rows.map((row) => ({
        block: BigInt(row.id),
        previousHash: row.previous_hash,
        hash: row.hash,
        entries: row.entries,
        sealedAtMs: String(row.sealed_at),
        seals: connection
          .all<SealRow>(
            'SELECT account_id, from_seq, to_seq, block_id, digests FROM ledger_seal ' +
              'WHERE block_id = ? ORDER BY account_id',
            row.id,
          )
          .map(sealOf),
      }));
    },

    async counts() {
      const [counts] = await page<{
        readonly quarantined: number;
        readonly conflicts: number;
        readonly orphanedHolds: number;
      }>(
        'SELECT (SELECT count(*) FROM quarantine) AS quarantined, ' +
          '(SELECT count(*) FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*) FROM hold WHERE orphaned_at IS NOT NULL) AS orphanedHolds',
      );
      if (counts === undefined) throw new Error('the database returned no counts');
      return { ...counts };
    },

    async archives() {
      await setImmediate();
      return listArchives(connection);
    },

    async carriesAfter(position, lastAccountId, limit) {
      await setImmediate();
      return listCarries(connection, position, lastAccountId, limit);
    },

    async blockOf({ accountId, seq }) {
      const [row] = await page<{ readonly block_id: number; readonly to_seq: number }>(
        'SELECT block_id, to_seq FROM ledger_seal WHERE account_id = ? AND from_seq <= ? ' +
          'ORDER BY from_seq DESC LIMIT 1',
        accountId,
        seq,
      );
      return row === undefined || row.to_seq < seq ? undefined : BigInt(row.block_id);
    },

    async chargesOf(block) {
      const rows = await page<EntryRow>(
        `SELECT l.* FROM ledger_seal s CROSS JOIN (${SELECT_ENTRIES}) l ` +
          'ON l.accountId = s.account_id AND l.seq BETWEEN s.from_seq AND s.to_seq ' +
          "WHERE s.block_id = ? AND l.kind = 'charge' ORDER BY l.accountId, l.seq",
        block,
      );
      return rows.map(sealedLedgerOf);
    },

    async hasCarriedCharges(archive) {
      const rows = await page<object>(
        'SELECT 1 FROM ledger_carry c CROSS JOIN ledger l ON l.account_id = c.account_id ' +
          "AND l.seq BETWEEN c.from_seq AND c.to_seq WHERE c.archive_id = ? AND l.kind = 'charge' " +
          'LIMIT 1',
        archive,
      );
      return rows.length > 0;
    },
  };
}

export function readHead(connection: Connection): SealHead | undefined {
  const row = connection.get<{ readonly id: number; readonly hash: Uint8Array }>(
    'SELECT id, hash FROM ledger_block ORDER BY id DESC LIMIT 1',
  );
  return row === undefined ? undefined : { block: BigInt(row.id), hash: hex(row.hash) };
}

const readTotals = readerOf('Account', ACCOUNT_TOTALS);
const KEY_MEMBERS = ['id', 'accountId', ...CAP_MEMBERS] as const;
const readKey = readerOf('ApiKey', KEY_MEMBERS);
const LOT_MEMBERS = ['entryId', 'accountId', 'remaining'] as const;
const readLot = readerOf('CreditLot', LOT_MEMBERS);

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
}

const USAGE_ORDER = 'account_id, hour, key_id, model, endpoint, upstream_account, rates_id';

export const SELECT_USAGE =
  'SELECT account_id AS accountId, hour, key_id AS keyId, model, endpoint, ' +
  'upstream_account AS upstreamAccount, rates_id AS ratesId, requests, ' +
  'input_tokens AS input, output_tokens AS output, ' +
  'cache_read_input_tokens AS cacheRead, cache_creation_input_tokens AS cacheWrite, ' +
  'cache_creation_1h_input_tokens AS cacheWrite1h, input_rate AS inputRate, ' +
  'output_rate AS outputRate, cache_read_rate AS cacheReadRate, ' +
  'cache_write_5m_rate AS cacheWrite5mRate, cache_write_1h_rate AS cacheWrite1hRate, ' +
  'written_off AS writtenOff FROM usage_hour';

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
  };
}

function readUsageDay(connection: Connection, after: number): UsageDay | undefined {
  const [{ day } = { day: null }] = connection.all<{ readonly day: number | null }>(
    NEXT_USAGE_DAY,
    after,
    (after + 1) * HOURS_PER_DAY,
  );
  if (day === null) return undefined;
  const { sql, values } = differencesOfDay(day, {
    sum: 'sum_usd(written_off, sign)',
    zero: `'${ZERO}'`,
  });
  const rows = connection.all<DayDifferenceRow>(sql, ...values);
  return { day, differences: rows.map(dayDifferenceOf) };
}

function readAccounts(
  connection: Connection,
  page: { readonly accountId: string; readonly limit: number; readonly fromHour: number },
): AuditedAccounts {
  const accounts = connection.all<Pick<SqliteRow<'Account'>, keyof AccountTotals>>(
    `SELECT ${select('Account', ACCOUNT_TOTALS)} FROM account WHERE id > ? ORDER BY id LIMIT ?`,
    page.accountId,
    page.limit,
  );
  const range = [page.accountId, accounts.at(-1)?.id ?? page.accountId] as const;
  const keys = connection.all<Pick<SqliteRow<'ApiKey'>, (typeof KEY_MEMBERS)[number]>>(
    `SELECT ${select('ApiKey', KEY_MEMBERS)} FROM api_key ` +
      'WHERE account_id > ? AND account_id <= ?',
    ...range,
  );
  const lots = connection.all<Pick<SqliteRow<'CreditLot'>, keyof LotTotals>>(
    `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot ` +
      'WHERE account_id > ? AND account_id <= ? ' +
      'ORDER BY expires_at IS NULL, expires_at, entry_id',
    ...range,
  );
  const usage = connection.all<UsageRow>(
    `${SELECT_USAGE} WHERE account_id > ? AND account_id <= ? AND hour >= ?`,
    ...range,
    page.fromHour,
  );
  return {
    accounts: accounts.map(readTotals),
    keys: keys.map((row) => keyTotalsOf(readKey(row))),
    lots: lots.map(readLot),
    usage: usage.map(usageOf),
  };
}

interface SealRow {
  readonly account_id: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly block_id: number;
  readonly digests: Uint8Array;
}

interface BlockRow {
  readonly id: number;
  readonly previous_hash: Uint8Array;
  readonly hash: Uint8Array;
  readonly entries: number;
  readonly sealed_at: number;
}

function sealOf(row: SealRow): SealFields {
  return {
    accountId: row.account_id,
    from: BigInt(row.from_seq),
    to: BigInt(row.to_seq),
    block: BigInt(row.block_id),
    digests: row.digests,
  };
}

const ENTRIES_AFTER = `${SELECT_ENTRIES} WHERE (account_id, seq) > (?, ?)`;
const ENTRY_ORDER = 'ORDER BY account_id, seq LIMIT ?';

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
