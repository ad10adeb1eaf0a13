/** Reads accounts: their rows, their lots, and their balances at a given time. */

import type { AccountFilter, AccountRecord, CreatedAccount, CreditSource } from '../../account.js';
import type { AccountState, Lot } from '../../ledger/books/transaction.js';
import { ACCOUNT_MEMBERS, accountRecordOf } from '../../ledger/rows/stored-account.js';
import { membersWithout } from '../../ledger/tables/tables.js';
import { balanceBefore } from '../../ledger/queries/balance-before.js';
import { listQuery } from '../../ledger/queries/list-query.js';
import type { ListSource } from '../../ledger/queries/list-query.js';
import { containing } from '../../ledger/queries/search.js';
import type { Connection } from './connection.js';
import { NOT_REVOKED } from './keys.js';
import { EXPIRED_LOTS, expiredCreditIn } from './expired-credit.js';
import type { ExpiredCreditRow } from './expired-credit.js';
import { ZERO, unitsOf } from './money.js';
import { byAmount, byTime, metadataConditions } from './list-parts.js';
import { readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';
import { sumUsage } from './usage.js';

type CreatedRow = Pick<SqliteRow<'Account'>, (typeof ACCOUNT_MEMBERS)[number]> &
  Pick<ExpiredCreditRow, 'allotted' | 'expiredLots'>;
type AccountRow = CreatedRow & UsableKeys;

interface UsableKeys {
  readonly usableKeys: number;
}

const readAccount = readerOf('Account', ACCOUNT_MEMBERS);

const MEMBERS = `${select('Account', ACCOUNT_MEMBERS)}, allotted, ${EXPIRED_LOTS}`;
/** Its parameter is the current time, so that expired keys are not counted as usable. */
const USABLE_KEYS =
  '(SELECT count(*) FROM api_key WHERE account_id = account.id ' +
  `AND ${NOT_REVOKED} AND state = 'active' AND account.state = 'active' ` +
  'AND (expires_at IS NULL OR expires_at > ?)) AS usableKeys FROM account';
const SELECT_ACCOUNT = `SELECT ${MEMBERS}, ${USABLE_KEYS}`;

export function getAccount(connection: Connection, accountId: string): AccountRecord | undefined {
  const row = connection.get<AccountRow>(`${SELECT_ACCOUNT} WHERE id = ?`, Date.now(), accountId);
  return row === undefined ? undefined : recordOf(row);
}

/** Does not count the account's keys. */
export function getCreatedAccount(
  connection: Connection,
  accountId: string,
): CreatedAccount | undefined {
  const row = connection.get<CreatedRow>(`SELECT ${MEMBERS} FROM account WHERE id = ?`, accountId);
  return row === undefined ? undefined : recordOf(row);
}

export function countUsableKeys(connection: Connection, accountId: string): number {
  const row = connection.get<UsableKeys>(
    `SELECT ${USABLE_KEYS} WHERE id = ?`,
    Date.now(),
    accountId,
  );
  return row?.usableKeys ?? 0;
}

const ACCOUNTS: ListSource = {
  select: SELECT_ACCOUNT,
  from: 'account',
  id: 'id',
  sorts: {
    spent: { ...byAmount('spent'), direction: 'DESC' },
    balance: { ...byAmount('balance'), direction: 'ASC' },
    last_charged: { ...byTime('last_charged_at'), direction: 'DESC' },
  },
};

export function listAccounts(
  connection: Connection,
  { name, externalId, metadata, ...page }: AccountFilter,
): readonly AccountRecord[] {
  const { text, values } = listQuery(ACCOUNTS, page, [
    ["fold_case(name) LIKE ? ESCAPE '\\'", containing(name?.toLowerCase())],
    ['external_id = ?', externalId],
    ...metadataConditions('metadata', metadata),
  ]);
  return connection.all<AccountRow>(text, Date.now(), ...values).map((row) => recordOf(row));
}

function recordOf<Read extends CreatedRow>(row: Read) {
  const expiredCredit = expiredCreditIn(row);
  const { allotted: _, expiredLots: __, ...read } = readAccount(row);
  return accountRecordOf({ ...read, expiredCredit });
}

const LOT_MEMBERS = membersWithout('CreditLot', []);
const readLot = readerOf('CreditLot', LOT_MEMBERS);

/**
 * The account's lots with an unused part, in the order in which charges use them. Spending since
 * the last allotment is not yet taken from `remaining`.
 */
export function lotsOf(connection: Connection, accountId: string): readonly Lot[] {
  return connection
    .all<SqliteRow<'CreditLot'>>(
      `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot ` +
        `WHERE account_id = ? AND remaining <> '${ZERO}' ` +
        'ORDER BY expires_at IS NULL, expires_at, entry_id',
      accountId,
    )
    .map((row) => ({ ...readLot(row), source: row.source as CreditSource }));
}

/** Also if nothing of it is left. */
export function lotOf(connection: Connection, id: string): Lot | undefined {
  const row = connection.get<SqliteRow<'CreditLot'>>(
    `SELECT ${select('CreditLot', LOT_MEMBERS)} FROM credit_lot WHERE entry_id = ?`,
    id,
  );
  return row === undefined ? undefined : { ...readLot(row), source: row.source as CreditSource };
}

export function readLots(
  connection: Connection,
  accountId: string,
):
  | {
      readonly account: Pick<AccountState, 'balance' | 'spent' | 'allotted'>;
      readonly lots: readonly Lot[];
      readonly at: Date;
    }
  | undefined {
  return connection.read(() => {
    const row = connection.get<{
      readonly balance: string;
      readonly spent: string;
      readonly allotted: string;
    }>('SELECT balance, spent, allotted FROM account WHERE id = ?', accountId);
    if (row === undefined) return undefined;
    return {
      account: {
        balance: unitsOf(row.balance),
        spent: unitsOf(row.spent),
        allotted: unitsOf(row.allotted),
      },
      lots: lotsOf(connection, accountId),
      at: new Date(),
    };
  });
}

export function readBalanceAt(
  connection: Connection,
  accountId: string,
  time: Date,
): Promise<bigint> {
  return balanceBefore(time, {
    lastSeq: () => {
      const row = connection.get<{ readonly seq: number }>(
        'SELECT seq FROM account WHERE id = ?',
        accountId,
      );
      return Promise.resolve(row?.seq ?? 0);
    },
    entry: (seq) => {
      const row = connection.get<{ readonly created_at: number; readonly balance_after: string }>(
        'SELECT created_at, balance_after FROM ledger WHERE account_id = ? AND seq = ?',
        accountId,
        seq,
      );
      if (row === undefined) throw new Error(`entry ${String(seq)} of ${accountId} is missing`);
      return Promise.resolve({
        createdAt: new Date(row.created_at),
        balanceAfter: unitsOf(row.balance_after),
      });
    },
    lastArchived: () => {
      const row = connection.get<{
        readonly to_seq: number;
        readonly balance_after: string;
        readonly until_at: number;
      }>(
        'SELECT to_seq, balance_after, until_at FROM ledger_carry ' +
          'JOIN ledger_archive ON id = archive_id WHERE account_id = ? ' +
          'ORDER BY from_seq DESC LIMIT 1',
        accountId,
      );
      return Promise.resolve(
        row === undefined
          ? undefined
          : {
              to: row.to_seq,
              balanceAfter: unitsOf(row.balance_after),
              until: new Date(row.until_at),
            },
      );
    },
    sumBefore: (hour) => Promise.resolve(sumBefore(connection, accountId, hour)),
  });
}

function sumBefore(connection: Connection, accountId: string, hour: Date): bigint {
  return connection.read(() => {
    const booked = connection
      .all<{ readonly delta: string }>(
        "SELECT delta FROM ledger WHERE account_id = ? AND kind <> 'charge' AND created_at < ?",
        accountId,
        hour.getTime(),
      )
      .reduce((sum, { delta }) => sum + unitsOf(delta), 0n);
    const used = sumUsage(connection, { by: [], from: new Date(0), until: hour, accountId });
    return used.reduce((sum, { listPrice, writtenOff }) => sum - listPrice + writtenOff, booked);
  });
}
