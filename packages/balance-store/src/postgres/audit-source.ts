/** Reads the rows that an audit checks from PostgreSQL. */

import type { SealedLedger, SealedTrail } from '../generated/tables.js';
import type { Pool, QueryResultRow } from 'pg';
import type {
  AccountTotals,
  AuditCounts,
  AuditSource,
  AuditedAccounts,
  BlockFields,
  LotTotals,
  SealFields,
  UsageDay,
  UsageFields,
  UsagePosition,
} from '../ledger/audit-source.js';
import { TRAIL_PER_PAGE, replayRights, rightsStatements } from '../ledger/audit-rights.js';
import type { OwnerRow, RightsChange } from '../ledger/audit-rights.js';
import { ACCOUNT_TOTALS, AFTER_ALL_IDS, MAX_SEQ, keyTotalsOf } from '../ledger/audit-source.js';
import { dayDifferenceOf, differencesOfDay } from '../ledger/audit-usage-days.js';
import type { DayDifferenceRow } from '../ledger/audit-usage-days.js';
import { NEXT_USAGE_DAY, wholeSums } from '../ledger/audit-usage-rows.js';
import { HOURS_PER_DAY } from '../ledger/usage-source.js';
import { unitsFromNumeric } from '../numeric.js';
import { CAP_MEMBERS } from '../ledger/stored-key.js';
import type { Row } from '../ledger/tables.js';
import { listArchives, listCarries } from './archives.js';
import {
  LONG_TIMEOUT_MS,
  inTransaction,
  numbered,
  queryArrays,
  queryRows,
  reachingDatabase,
} from './query.js';
import type { TransactionQueries } from './query.js';
import { readHead } from './seals.js';
import { readerOf, sealedColumns, select } from './tables.js';
import type { PostgresValues } from './tables.js';

const timeoutMs = LONG_TIMEOUT_MS;

/** Its methods throw `StoreUnavailableError` for faults of the database. */
export function createAuditSource(pool: Pool): AuditSource {
  const methods = Object.entries(readersOf(pool)).map(([name, read]) => [
    name,
    (...args: readonly never[]) => reachingDatabase(() => (read as Read)(...args)),
  ]);
  return Object.fromEntries(methods) as AuditSource;
}

type Read = (...args: readonly never[]) => Promise<unknown>;

function readersOf(pool: Pool): AuditSource {
  return {
    head: () => readHead(pool),

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

    trailAfter: (seq, limit) =>
      queryArrays<SealedTrail>(pool, {
        text:
          `SELECT ${sealedColumns('Trail')} FROM trail ` +
          'WHERE trail.seq > $1::int8 ORDER BY trail.seq LIMIT $2',
        values: [seq.toString(), limit],
        timeoutMs,
      }),

    rightsAfter: (of, after, limit) =>
      inTransaction(pool, 'snapshot', async ({ rows }) => {
        const { owners: select, trail } = RIGHTS[of];
        const owners = await rows<OwnerRow>(numbered(select), [after, limit]);
        const replay = replayRights(of, owners);
        const last = owners.length < limit ? undefined : owners.at(-1)?.id;
        let [owner, seq]: [string, string | number] = [after, MAX_SEQ.toString()];
        for (;;) {
          const changes: readonly RightsChange[] = await rows<RightsChange & QueryResultRow>(
            numbered(trail),
            [owner, seq, last ?? AFTER_ALL_IDS, TRAIL_PER_PAGE],
          );
          for (const change of changes) replay.add(change);
          const end = changes.at(-1);
          if (end === undefined || changes.length < TRAIL_PER_PAGE) break;
          [owner, seq] = [end.owner, end.seq];
        }
        return { last, differences: replay.finish() };
      }),

    entriesAfter: ({ accountId, seq }, lastAccountId, limit) =>
      queryArrays<SealedLedger>(pool, {
        text: READ_ENTRIES,
        values: [accountId, seq.toString(), lastAccountId ?? null, limit],
        timeoutMs,
      }),

    async sealsAfter({ accountId, seq }, { lastAccountId, block }, limit) {
      const rows = await queryArrays<[string, string, string, string, Buffer]>(pool, {
        text:
          'SELECT account_id, from_seq::text, to_seq::text, block_id::text, digests ' +
          'FROM ledger_seal WHERE (account_id, from_seq) > ($1, $2::int8) ' +
          'AND ($3::text IS NULL OR account_id <= $3) AND block_id <= $4::int8 ' +
          'ORDER BY account_id, ledger_seal.from_seq LIMIT $5',
        values: [accountId, seq.toString(), lastAccountId ?? null, block.toString(), limit],
        timeoutMs,
      });
      return rows.map(([account, from, to, of, digests]): SealFields => ({
        accountId: account,
        from: BigInt(from),
        to: BigInt(to),
        block: BigInt(of),
        digests,
      }));
    },

    blocksAfter: (after, last, limit) => readBlocks(pool, after, last, limit),

    async counts() {
      const [counts] = await queryRows<Record<keyof AuditCounts, number>>(pool, {
        text:
          'SELECT (SELECT count(*)::int4 FROM quarantine) AS quarantined, ' +
          '(SELECT count(*)::int4 FROM settle_conflict) AS conflicts, ' +
          '(SELECT count(*)::int4 FROM hold WHERE orphaned_at IS NOT NULL) AS "orphanedHolds"',
        timeoutMs,
      });
      if (counts === undefined) throw new Error('the database returned no counts');
      return counts;
    },

    archives: () => listArchives(pool),
    carriesAfter: (position, lastAccountId, limit) =>
      listCarries(pool, position, lastAccountId, limit),

    async blockOf({ accountId, seq }) {
      const [row] = await queryRows<{ block: string; isSealed: boolean }>(pool, {
        text:
          'SELECT block_id::text AS block, to_seq >= $2::int8 AS "isSealed" FROM ledger_seal ' +
          'WHERE account_id = $1 AND from_seq <= $2::int8 ORDER BY from_seq DESC LIMIT 1',
        values: [accountId, seq.toString()],
        timeoutMs,
      });
      return row?.isSealed === true ? BigInt(row.block) : undefined;
    },

    chargesOf: (block) =>
      queryArrays<SealedLedger>(pool, {
        text:
          `${SELECT_ENTRIES} JOIN (SELECT account_id AS of, from_seq, to_seq FROM ledger_seal ` +
          'WHERE block_id = $1::int8) s ON ledger.account_id = s.of ' +
          'AND ledger.seq BETWEEN s.from_seq AND s.to_seq ' +
          "WHERE kind = 'charge' ORDER BY account_id, ledger.seq",
        values: [block.toString()],
        timeoutMs,
      }),

    async hasCarriedCharges(archive) {
      const rows = await queryRows(pool, {
        text:
          'SELECT FROM ledger_carry c CROSS JOIN LATERAL (SELECT FROM ledger l ' +
          'WHERE l.account_id = c.account_id AND l.seq BETWEEN c.from_seq AND c.to_seq ' +
          "AND l.kind = 'charge' LIMIT 1) l WHERE c.archive_id = $1 LIMIT 1",
        values: [archive],
        timeoutMs,
      });
      return rows.length > 0;
    },
  };
}

const RIGHTS = rightsStatements({
  ms: (column) => `(extract(epoch FROM ${column}) * 1000)::bigint::text`,
  text: (column) => `${column}::text`,
  hex: (column) => `encode(${column}, 'hex')`,
  promoCode: `(coalesce(details::jsonb ->> 'document', details::jsonb ->> 'code') COLLATE "C")`,
});

const SELECT_ENTRIES = `SELECT ${sealedColumns('Ledger')} FROM ledger`;

const READ_ENTRIES =
  `${SELECT_ENTRIES} ` +
  'WHERE (account_id, ledger.seq) > ($1, $2::int8) AND ($3::text IS NULL OR account_id <= $3) ' +
  'ORDER BY account_id, ledger.seq LIMIT $4';

const USAGE_ORDER = 'account_id, hour, key_id, model, endpoint, upstream_account, rates_id';

const SELECT_USAGE =
  'SELECT account_id AS "accountId", hour, key_id AS "keyId", model, endpoint, ' +
  'upstream_account AS "upstreamAccount", rates_id AS "ratesId", requests::text, ' +
  'ARRAY[input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cache_creation_1h_input_tokens]::text[] ' +
  'AS counts, ARRAY[input_rate, output_rate, cache_read_rate, cache_write_5m_rate, ' +
  'cache_write_1h_rate]::text[] AS rates, written_off::text AS "writtenOff" FROM usage_hour';

interface UsageRow extends UsagePosition {
  readonly requests: string;
  readonly counts: readonly string[];
  readonly rates: readonly string[];
  readonly writtenOff: string;
}

function usageOf({ requests, counts, writtenOff, ...row }: UsageRow): UsageFields {
  return {
    ...row,
    requests: BigInt(requests),
    counts: counts.map(BigInt),
    writtenOff: unitsFromNumeric(writtenOff),
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
  const { sql, values } = differencesOfDay(day, { sum: 'sum(sign * written_off)', zero: '0' });
  const rows = await queries.rows<DayDifferenceRow & QueryResultRow>(numbered(sql), values);
  return { day, differences: rows.map(dayDifferenceOf) };
}

const readTotals = readerOf('Account', ACCOUNT_TOTALS);
const KEY_MEMBERS = ['id', 'accountId', ...CAP_MEMBERS] as const;
const readKey = readerOf('ApiKey', KEY_MEMBERS);
const LOT_MEMBERS = ['entryId', 'accountId', 'remaining'] as const;
const readLot = readerOf('CreditLot', LOT_MEMBERS);

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
  const keys = await rows<Pick<Row<'ApiKey', PostgresValues>, (typeof KEY_MEMBERS)[number]>>(
    `SELECT ${select('ApiKey', KEY_MEMBERS)} FROM api_key ` +
      'WHERE account_id > $1 AND account_id <= $2',
    range,
  );
  const lots = await rows<Pick<Row<'CreditLot', PostgresValues>, keyof LotTotals>>(
    `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot ` +
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

type BlockRow = [
  block: string,
  previousHash: Buffer,
  hash: Buffer,
  entries: number,
  sealedAtMs: string,
  accountId: string | null,
  from: string | null,
  to: string | null,
  digests: Buffer | null,
];

async function readBlocks(
  pool: Pool,
  after: bigint,
  last: bigint,
  limit: number,
): Promise<readonly BlockFields[]> {
  const rows = await queryArrays<BlockRow>(pool, {
    text:
      'SELECT b.id::text, b.previous_hash, b.hash, b.entries, ' +
      '(extract(epoch FROM b.sealed_at) * 1000)::bigint::text, ' +
      's.account_id, s.from_seq::text, s.to_seq::text, s.digests ' +
      'FROM ledger_block b LEFT JOIN ledger_seal s ON s.block_id = b.id ' +
      'WHERE b.id > $1::int8 AND b.id <= least($1::int8 + $2, $3::int8) ORDER BY b.id, s.account_id',
    values: [after.toString(), limit, last.toString()],
    timeoutMs,
  });
  const blocks: (BlockFields & { readonly seals: BlockFields['seals'][number][] })[] = [];
  for (const [id, previousHash, hash, entries, sealedAtMs, accountId, from, to, digests] of rows) {
    let block = blocks.at(-1);
    if (block?.block !== BigInt(id)) {
      block = { block: BigInt(id), previousHash, hash, entries, sealedAtMs, seals: [] };
      blocks.push(block);
    }
    if (accountId === null || from === null || to === null || digests === null) continue;
    block.seals.push({ accountId, from: BigInt(from), to: BigInt(to), digests });
  }
  return blocks;
}
