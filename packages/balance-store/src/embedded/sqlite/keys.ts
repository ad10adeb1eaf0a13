/** Reads keys and their standing. */

import type { AccountStatus, EmptiedBy } from '../../account.js';
import type { KeyFilter, KeyRecord, KeyState } from '../../key.js';
import { capUsesAt, storedCapsIn } from '../../ledger/rules/caps.js';
import type { StoredCap } from '../../ledger/rules/caps.js';
import type { RenewedHash } from '../../ledger/books/transaction.js';
import type { FoundKey } from '../../ledger/database/ledger-database.js';
import { listQuery } from '../../ledger/queries/list-query.js';
import type { ListSource } from '../../ledger/queries/list-query.js';
import type { CredentialHashes, HashRenewal, PepperUse } from '../../ledger/rules/pepper.js';
import { containing } from '../../ledger/queries/search.js';
import { ACCOUNT_MEMBERS_OF_KEY, KEY_MEMBERS, keyRecordOf } from '../../ledger/rows/stored-key.js';
import type { Standing } from '../../store.js';
import type { Connection } from './connection.js';
import { EXPIRED_LOTS, expiredCreditIn, spendableFunds } from './expired-credit.js';
import type { ExpiredCreditRow, Funds } from './expired-credit.js';
import { unitsOf } from './money.js';
import { byAmount, byTime, metadataConditions } from './list-parts.js';
import { standingOf, stateIn } from './standing.js';
import { readerOf, select } from './tables.js';
import type { SqliteRow } from './tables.js';

const ACCOUNT_MEMBERS = [...ACCOUNT_MEMBERS_OF_KEY, 'uncovered'] as const;

type KeyRow = Pick<SqliteRow<'ApiKey'>, (typeof KEY_MEMBERS)[number]> &
  Pick<SqliteRow<'Account'>, (typeof ACCOUNT_MEMBERS)[number]> &
  Pick<StandingRow, 'accountState' | 'accountSpent' | 'allotted' | 'expiredLots'> & {
    readonly groups: string | null;
    readonly capTexts: string | null;
  };

/** See `storedCapsIn`. Of an account without budgets, nothing is looked up. */
const CAP_TEXTS =
  'CASE WHEN budgeted THEN (' +
  'SELECT json_group_array(json_array(budget.period, budget.amount, start_at, used)) FROM budget ' +
  'LEFT JOIN budget_use ON budget_id = budget.id ' +
  'WHERE budget.account_id = api_key.account_id AND budget.subject = api_key.id ' +
  'AND ended_seq IS NULL AND is_cap = TRUE) END AS capTexts';
/** Whether the account has budgets that are no caps. */
const IS_BUDGETED =
  'budgeted AND EXISTS (SELECT 1 FROM budget INDEXED BY budget_not_cap_idx ' +
  'WHERE budget.account_id = api_key.account_id ' +
  'AND ended_seq IS NULL AND is_cap = FALSE) AS isBudgeted';

/** The path of the group of the key's member. */
const GROUPS =
  '(SELECT path FROM member JOIN spend_group ON spend_group.id = group_id ' +
  'WHERE member.id = member_id) AS groups';
const KEY_COLUMNS =
  `${select('ApiKey', KEY_MEMBERS, 'api_key')}, ${select('Account', ACCOUNT_MEMBERS)}, ` +
  `account.state AS accountState, account.spent AS accountSpent, allotted, ${EXPIRED_LOTS}, ` +
  `${GROUPS}, ${CAP_TEXTS}`;
const readKeyColumns = readerOf('ApiKey', KEY_MEMBERS);
const readAccountColumns = readerOf('Account', ACCOUNT_MEMBERS_OF_KEY);

const TABLES = 'api_key JOIN account ON account.id = account_id';
export const FROM_KEY = `FROM ${TABLES}`;
const SELECT_KEY = `SELECT ${KEY_COLUMNS} ${FROM_KEY}`;

export function getKey(connection: Connection, keyId: string): KeyRecord | undefined {
  return recordOf(connection.get<KeyRow>(`${SELECT_KEY} WHERE api_key.id = ?`, keyId));
}

/**
 * Finds a key by its credential, or by its previous one while that still works. Searches the
 * current credentials first: a rotation between the two look-ups can make a current credential a
 * previous one, but never the reverse.
 */
export function findKey(
  connection: Connection,
  { hash, oldHash }: CredentialHashes,
): FoundKey | undefined {
  const current = connection.get<FoundRow>(findBy('credential_hmac'), oldHash, hash, oldHash);
  const row =
    current ??
    connection.get<FoundRow>(
      `${findBy('previous_hmac')} AND previous_until > ?`,
      oldHash,
      hash,
      oldHash,
      Date.now(),
    );
  if (row === undefined) return undefined;
  return {
    record: recordOf(row),
    presented: current === undefined ? 'replaced' : 'current',
    hasOldHash: row.hasOldHash === 1,
  };
}

interface FoundRow extends KeyRow {
  readonly hasOldHash: 0 | 1;
}

/** Its parameters: the old hash, the hash, the old hash. */
function findBy(column: 'credential_hmac' | 'previous_hmac'): string {
  return `SELECT ${KEY_COLUMNS}, ${column} IS ? AS hasOldHash ${FROM_KEY} WHERE ${column} IN (?, ?)`;
}

export function renewHash(
  connection: Connection,
  { hash, oldHash, pepperId }: HashRenewal,
): readonly RenewedHash[] {
  return (
    [
      ['credential_hmac', 'pepper_id'],
      ['previous_hmac', 'previous_pepper_id'],
    ] as const
  ).flatMap(([column, pepperColumn]) => {
    const rows = connection.all<{ id: string; account_id: string; former: string }>(
      `SELECT id, account_id, ${pepperColumn} AS former FROM api_key WHERE ${column} = ?`,
      oldHash,
    );
    connection.run(
      `UPDATE api_key SET ${column} = ?, ${pepperColumn} = ? WHERE ${column} = ?`,
      hash,
      pepperId,
      oldHash,
    );
    return rows.map(({ id, account_id, former }) => ({
      keyId: id,
      accountId: account_id,
      before: { credentialHmac: oldHash ?? hash, pepperId: former },
    }));
  });
}

/**
 * Condition for keys that still need the previous pepper, either for their credential or for a
 * previous credential that still works. Its parameters: the id of the current pepper, twice, and
 * the current time.
 */
export const UNDER_PREVIOUS_PEPPER =
  "(api_key.state <> 'revoked' AND " +
  '(pepper_id <> ? OR (previous_pepper_id <> ? AND previous_until > ?)))';

/**
 * In these words, so that SQLite uses the index of the keys that are not revoked: a condition on
 * `state` that only implies this one does not suffice.
 */
export const NOT_REVOKED = "api_key.state <> 'revoked'";

const KEYS: ListSource = {
  select: SELECT_KEY,
  from: TABLES,
  id: 'api_key.id',
  sorts: {
    spent: { ...byAmount('api_key.spent'), direction: 'DESC' },
    balance: { ...byAmount('balance'), direction: 'ASC' },
    last_charged: { ...byTime('api_key.last_charged_at'), direction: 'DESC' },
  },
};

export function listKeys(
  connection: Connection,
  { accountId, memberId, name, externalId, metadata, pepper, withoutRevoked, ...page }: KeyFilter,
  pepperId: string,
): readonly KeyRecord[] {
  const pattern = containing(name?.toLowerCase());
  const previous = pepper === undefined ? undefined : pepperId;
  const { text, values } = listQuery(KEYS, page, [
    ['account_id = ?', accountId],
    ['member_id = ?', memberId],
    ["(fold_case(api_key.name) LIKE ? ESCAPE '\\' OR hint LIKE ? ESCAPE '\\')", pattern, pattern],
    ['api_key.external_id = ?', externalId],
    [UNDER_PREVIOUS_PEPPER, previous, previous, Date.now()],
    ...(withoutRevoked === true ? [[NOT_REVOKED] as const] : []),
    ...metadataConditions('api_key.metadata', metadata),
  ]);
  return connection.all<KeyRow>(text, ...values).map((row) => recordOf(row));
}

function recordOf(row: KeyRow): KeyRecord;
function recordOf(row: KeyRow | undefined): KeyRecord | undefined;
function recordOf(row: KeyRow | undefined): KeyRecord | undefined {
  if (row === undefined) return undefined;
  const now = new Date();
  const { standing, expiredCredit } = standingOfRow(row, now.getTime());
  return keyRecordOf({ ...readAccountColumns(readKeyColumns(row)), standing, expiredCredit }, now);
}

type KeyStateRow = Pick<SqliteRow<'ApiKey'>, 'state' | 'expiresAt'> & {
  readonly accountState: string;
};

export type StandingRow = KeyStateRow &
  Pick<SqliteRow<'Account'>, 'balance' | 'uncovered' | 'allotted'> &
  Pick<ExpiredCreditRow, 'expiredLots'> & { readonly accountSpent: string };

const STATE_COLUMNS =
  'api_key.state, account.state AS accountState, expires_at AS expiresAt, balance, uncovered';
/** The columns of {@link StandingRow}. */
export const STANDING_COLUMNS = `${STATE_COLUMNS}, allotted, account.spent AS accountSpent, ${EXPIRED_LOTS}`;
const SELECT_FACTS =
  `SELECT account_id AS accountId, ${STATE_COLUMNS}, next_expiry_at AS nextExpiryAt, ` +
  `emptied_by AS emptiedBy, ${IS_BUDGETED}, ${CAP_TEXTS} ${FROM_KEY} WHERE api_key.id = ?`;

type FactsRow = KeyStateRow &
  Pick<SqliteRow<'Account'>, 'balance' | 'uncovered' | 'nextExpiryAt' | 'emptiedBy'> & {
    readonly accountId: string;
    readonly isBudgeted: number;
    readonly capTexts: string | null;
  };

/** What the standing of a key follows from, besides the time and the funds of its account. */
export interface KeyFacts {
  readonly accountId: string;
  /** In its account, see {@link stateIn}. */
  readonly state: KeyState;
  readonly expiresAt: number | null;
  /** Whether its account has budgets that are no caps. */
  readonly isBudgeted: boolean;
  readonly caps: readonly StoredCap[];
}

export function readFacts(
  connection: Connection,
  keyId: string,
): { readonly key: KeyFacts; readonly funds: Funds } | undefined {
  const row = connection.get<FactsRow>(SELECT_FACTS, keyId);
  if (row === undefined) return undefined;
  const { accountId, expiresAt, nextExpiryAt, emptiedBy } = row;
  const [isBudgeted, caps] = [row.isBudgeted === 1, storedCapsIn(row.capTexts)];
  return {
    key: { accountId, state: stateOf(row), expiresAt, isBudgeted, caps },
    funds: { ...fundsOf(row), nextExpiryAt, emptiedBy },
  };
}

/** @param funds - Without credit that has expired. */
export function standingFrom(
  { state, expiresAt, isBudgeted, caps }: KeyFacts,
  { balance, uncovered, emptiedBy }: Funds,
  now: number,
): Standing {
  const standing = standingOf({ state, expiresAt, balance, uncovered }, now);
  const found =
    standing === 'exhausted' && emptiedBy !== null
      ? { standing, balance, uncovered, emptiedBy: emptiedBy as EmptiedBy }
      : { standing, balance, uncovered };
  if (caps.length === 0 && !isBudgeted) return found;
  const [cap] = capUsesAt(caps, now);
  return {
    ...found,
    ...(cap === undefined ? {} : { cap }),
    ...(isBudgeted ? { isBudgeted } : {}),
  };
}

export function readStanding(connection: Connection, keyId: string, now = Date.now()): Standing {
  const facts = readFacts(connection, keyId);
  if (facts === undefined) return { standing: 'unknown' };
  const { key, funds } = facts;
  return standingFrom(key, spendableFunds(connection, key.accountId, { funds, now }), now);
}

/** @param row - Not copied, because that would take longer than all else that a read does. */
export function standingOfRow(row: StandingRow, now: number) {
  const { balance, uncovered } = fundsOf(row);
  const expiredCredit =
    row.expiredLots === null ? 0n : expiredCreditIn({ ...row, spent: row.accountSpent });
  const standing = standingOf(
    {
      state: stateOf(row),
      expiresAt: row.expiresAt,
      balance: balance - expiredCredit,
      uncovered,
    },
    now,
  );
  return { standing, expiredCredit };
}

function stateOf({ accountState, state }: Pick<KeyStateRow, 'accountState' | 'state'>): KeyState {
  return stateIn(accountState as AccountStatus, state as KeyState);
}

function fundsOf(row: Pick<StandingRow, 'balance' | 'uncovered'>) {
  return { balance: unitsOf(row.balance), uncovered: unitsOf(row.uncovered) };
}

export function readPepperUse(connection: Connection, pepperIds: readonly string[]): PepperUse {
  const isThere = (sql: string, ...values: string[]) =>
    connection.get(sql, ...values) !== undefined;
  return {
    hasKeys: isThere('SELECT 1 FROM api_key LIMIT 1'),
    hasKeysOfPeppers: pepperIds.some((pepperId) =>
      isThere('SELECT 1 FROM api_key WHERE pepper_id = ? LIMIT 1', pepperId),
    ),
  };
}
