/** Reads accounts: their rows, their lots, and their balances at a given time. */

import type { Pool } from 'pg';
import type { CreatedAccount, CreditSource } from '../account.js';
import { balanceBefore } from '../ledger/queries/balance-before.js';
import type { Lot } from '../ledger/books/transaction.js';
import type { AccountTable } from '../ledger/database/ledger-database.js';
import { ACCOUNT_MEMBERS, accountRecordOf } from '../ledger/rows/stored-account.js';
import { membersWithout } from '../ledger/tables/tables.js';
import type { Row } from '../ledger/tables/tables.js';
import { unitsFromNumeric } from '../numeric.js';
import { metadataConditions, readList, sourceOf } from './list-parts.js';
import { createNameSearch, nameConditions } from './name-search.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  inTransaction,
  queryRows,
  reachingDatabase,
} from './query.js';
import type { TransactionQueries } from './query.js';
import { readerOf, select } from './tables.js';
import type { PostgresValues } from './tables.js';
import { readUsage } from './usage.js';

export function createAccountTable(pool: Pool): AccountTable {
  const nameSearch = createNameSearch(pool);
  return {
    async get(id) {
      const [row] = await reachingDatabase(() =>
        queryRows<AccountRow>(pool, {
          text: `${SELECT_ACCOUNT} WHERE id = $1`,
          values: [id],
          timeoutMs: READ_TIMEOUT_MS,
        }),
      );
      return row === undefined ? undefined : recordOf(row);
    },

    async list({ name, externalId, metadata, ...page }) {
      const rows = await readList<AccountRow>(pool, ACCOUNTS, page, [
        ...(await nameConditions(nameSearch, ['name'], name)),
        ['external_id = ?', externalId],
        ...metadataConditions(metadata),
      ]);
      return rows.map(recordOf);
    },

    readLots: (accountId) =>
      reachingDatabase(() =>
        inTransaction(pool, 'snapshot', (queries) => readLots(queries, accountId)),
      ),

    readBalanceAt: (accountId, time) =>
      reachingDatabase(() => balanceBefore(time, historyOf(pool, accountId))),
  };
}

async function readLots(queries: TransactionQueries, accountId: string) {
  const [row] = await queries.rows<
    Record<'balance' | 'spent' | 'allotted', string> & { readonly at: Date }
  >(
    'SELECT balance::text, spent::text, allotted::text, clock_timestamp() AS at ' +
      'FROM account WHERE id = $1',
    [accountId],
  );
  if (row === undefined) return undefined;
  return {
    account: {
      balance: unitsFromNumeric(row.balance),
      spent: unitsFromNumeric(row.spent),
      allotted: unitsFromNumeric(row.allotted),
    },
    lots: await lotsOf(queries, accountId),
    at: row.at,
  };
}

/** The entries and sums from which a balance in the past is known. */
function historyOf(pool: Pool, accountId: string): Parameters<typeof balanceBefore>[1] {
  async function first<Found extends object>(text: string, ...values: readonly unknown[]) {
    const query = { text, values: [accountId, ...values], timeoutMs: WRITE_TIMEOUT_MS };
    const [row] = await queryRows<Found>(pool, query);
    return row;
  }

  return {
    async lastSeq() {
      const row = await first<{ seq: string }>('SELECT seq::text FROM account WHERE id = $1');
      return Number(row?.seq ?? 0);
    },
    async entry(seq) {
      const row = await first<{ createdAt: Date; balanceAfter: string }>(
        'SELECT created_at AS "createdAt", balance_after::text AS "balanceAfter" ' +
          'FROM ledger WHERE account_id = $1 AND seq = $2',
        seq,
      );
      if (row === undefined) throw new Error(`entry ${String(seq)} of ${accountId} is missing`);
      return { createdAt: row.createdAt, balanceAfter: unitsFromNumeric(row.balanceAfter) };
    },
    async lastArchived() {
      const row = await first<{ to: string; balanceAfter: string; until: Date }>(
        'SELECT to_seq::text AS "to", balance_after::text AS "balanceAfter", ' +
          'until_at AS until FROM ledger_carry JOIN ledger_archive ON id = archive_id ' +
          'WHERE account_id = $1 ORDER BY from_seq DESC LIMIT 1',
      );
      if (row === undefined) return undefined;
      const { to, balanceAfter, until } = row;
      return { to: Number(to), balanceAfter: unitsFromNumeric(balanceAfter), until };
    },
    async sumBefore(hour) {
      const row = await first<{ booked: string }>(BOOKED_BEFORE, hour);
      const used = await readUsage(pool, { by: [], from: new Date(0), until: hour, accountId });
      return used.reduce(
        (sum, { listPrice, writtenOff }) => sum - listPrice + writtenOff,
        unitsFromNumeric(row?.booked ?? '0'),
      );
    },
  };
}

const MEMBERS =
  `${select('Account', ACCOUNT_MEMBERS)}, (CASE WHEN account.next_expiry_at <= now() ` +
  'THEN expired_credit(account, now()) ELSE 0 END)::text AS "expiredCredit"';
const USABLE_KEYS =
  '(SELECT count(*)::int FROM api_key ' +
  "WHERE account_id = account.id AND api_key.state = 'active' AND account.state = 'active' " +
  'AND (expires_at IS NULL OR expires_at > now())) AS "usableKeys" FROM account';
/** Its caller adds a condition. */
const SELECT_ACCOUNT = `SELECT ${MEMBERS}, ${USABLE_KEYS}`;

type CreatedRow = Pick<Row<'Account', PostgresValues>, (typeof ACCOUNT_MEMBERS)[number]> & {
  readonly expiredCredit: string;
};
type AccountRow = CreatedRow & UsableKeys;

interface UsableKeys {
  readonly usableKeys: number;
}

const readAccount = readerOf('Account', ACCOUNT_MEMBERS);

function recordOf<Read extends CreatedRow>(row: Read) {
  const expiredCredit = unitsFromNumeric(row.expiredCredit);
  return accountRecordOf({ ...readAccount(row), expiredCredit });
}

/** Reads an account in a transaction, without counting its keys. */
export async function accountRecord(
  { rows }: TransactionQueries,
  id: string,
): Promise<CreatedAccount | undefined> {
  const [row] = await rows<CreatedRow>(`SELECT ${MEMBERS} FROM account WHERE id = $1`, [id]);
  return row === undefined ? undefined : recordOf(row);
}

export async function countUsableKeys({ rows }: TransactionQueries, id: string): Promise<number> {
  const [row] = await rows<UsableKeys>(`SELECT ${USABLE_KEYS} WHERE id = $1`, [id]);
  return row?.usableKeys ?? 0;
}

const ACCOUNTS = sourceOf({ select: SELECT_ACCOUNT, from: 'account' });
const BOOKED_BEFORE =
  'SELECT coalesce(sum(delta), 0)::text AS booked FROM ledger ' +
  "WHERE account_id = $1 AND kind <> 'charge' AND created_at < $2::timestamptz";

/** The account's lots with an unused part, in the order in which charges use them. */
export async function lotsOf(
  { rows }: TransactionQueries,
  accountId: string,
): Promise<readonly Lot[]> {
  const lots = await rows<Row<'CreditLot', PostgresValues>>(
    `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot ` +
      'WHERE account_id = $1 AND remaining > 0 ORDER BY credit_lot.expires_at NULLS LAST, entry_id',
    [accountId],
  );
  return lots.map((lot) => ({ ...readLot(lot), source: lot.source as CreditSource }));
}

/** Also if nothing of it is left. */
export async function lotOf({ rows }: TransactionQueries, id: string): Promise<Lot | undefined> {
  const [lot] = await rows<Row<'CreditLot', PostgresValues>>(
    `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot WHERE entry_id = $1`,
    [id],
  );
  return lot === undefined ? undefined : { ...readLot(lot), source: lot.source as CreditSource };
}

const LOT_MEMBERS = membersWithout('CreditLot', []);
const readLot = readerOf('CreditLot', LOT_MEMBERS);
