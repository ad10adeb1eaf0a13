/**
 * The store's methods for accounts and keys. They check their arguments, and make ids and
 * credentials.
 */

import { randomBytes } from 'node:crypto';
import type { Actor, Creation } from '../../account.js';
import { generateCredential, hashCredential, hintOf, pepperIdOf } from '../../credential.js';
import {
  AccountClosedError,
  AccountNotClosedError,
  ExternalIdTakenError,
  SetByOperatorError,
  UnknownMemberError,
} from '../../errors.js';
import type { KeyRecord } from '../../key.js';
import type { BalanceStore } from '../../store.js';
import {
  assertAccount,
  assertActor,
  assertClosing,
  assertCreation,
  assertId,
  assertKey,
  assertText,
} from '../rules/argument-checks.js';
import { batchBookings } from './booking-batches.js';
import type { BookFor } from './booking-turns.js';
import { CLOSED, NOT_CLOSED, UNKNOWN_MEMBER } from '../books/accounts.js';
import type { PreparedCreation, RecordedLink, StateChange } from '../books/accounts.js';
import type { Bound } from '../books/bounds.js';
import type { KeyCredential } from '../books/transaction.js';
import type { LedgerDatabase } from '../database/ledger-database.js';

type KeyAdministration = Pick<
  BalanceStore,
  | 'createKey'
  | 'getKey'
  | 'listKeys'
  | 'suspendKey'
  | 'resumeKey'
  | 'revokeKey'
  | 'updateKey'
  | 'rotateKey'
  | 'recordLink'
>;

type AccountAdministration = Pick<
  BalanceStore,
  | 'create'
  | 'getAccount'
  | 'listAccounts'
  | 'updateAccount'
  | 'setAccountState'
  | 'closeAccount'
  | 'reopenAccount'
  | 'eraseAccount'
>;

interface AdministrationOptions {
  readonly database: Pick<LedgerDatabase, 'keys' | 'accounts'>;
  readonly bookFor: BookFor;
  readonly eraseRequests: (accountId: string) => Promise<void>;
  readonly pepper: string;
  readonly newId: (prefix: string) => string;
  /** Called after each change to a key, or to what the keys of an account show. */
  readonly onKeyChange: (id: string) => void;
  /** Called after a change to an unknown number of keys. */
  readonly onEveryKeyChange: () => void;
}

const SOMEBODY: Actor = { name: 'operator' };
const MAX_GRACE_MS = 366 * 86_400_000;
/** Each takes several statements, while the account and the trail are locked. */
const KEYS_AT_ONCE = 25;
/** Each takes one. */
const LINKS_AT_ONCE = 100;

export function createAdministration(
  options: AdministrationOptions,
): AccountAdministration & KeyAdministration {
  const accounts = administerAccounts(options);
  return { ...accounts, ...administerKeys(options, accounts.create) };
}

function administerAccounts({
  database: { accounts },
  bookFor,
  eraseRequests,
  pepper,
  newId,
  onKeyChange,
  onEveryKeyChange,
}: AdministrationOptions): AccountAdministration {
  const createInAccount = batchBookings({
    groupOf: ({ creation: { account, by } }: PreparedCreation) =>
      JSON.stringify([by.holderOf, 'id' in account ? account.id : null]),
    book: (creations) => bookFor(creations[0]?.creation.by)('createAll', creations),
    most: KEYS_AT_ONCE,
  });
  return {
    async create(creation) {
      assertCreation(creation);
      const { credential, row } = newCredential(pepper);
      const prepared = {
        creation,
        accountId: newId('acct'),
        keyId: newId('key'),
        credential: row,
      };
      const created = isAlone(creation)
        ? await bookFor(creation.by)('create', prepared)
        : await createInAccount(prepared);
      return created.outcome === 'created'
        ? { ...created, credential: created.key === undefined ? undefined : credential }
        : created;
    },

    getAccount: (accountId) => accounts.get(accountId),
    listAccounts: (filter) => accounts.list(filter),
    async updateAccount(accountId, change, by = SOMEBODY) {
      assertAccount(change);
      assertActor(by);
      const record = unlessTaken(
        unlessClosed(await bookFor(by)('updateAccount', accountId, change, by)),
      );
      // The records of its keys show some of it.
      onKeyChange(accountId);
      return record;
    },
    async setAccountState(accountId, state, by) {
      assertActor(by);
      const record = unlessClosed(await bookFor(by)('setAccountState', accountId, state, by));
      onEveryKeyChange();
      return record;
    },
    async closeAccount(closing) {
      assertClosing(closing);
      const closed = await bookFor(closing.by)('closeAccount', closing);
      onEveryKeyChange();
      return closed;
    },
    async reopenAccount(accountId, { reason, by }) {
      assertText('reason', reason);
      assertActor(by);
      const record = await bookFor(by)('reopenAccount', accountId, { reason, by });
      onEveryKeyChange();
      return record;
    },
    async eraseAccount(accountId, by) {
      assertActor(by);
      const record = await bookFor(by)('eraseAccount', accountId, by);
      if (record === NOT_CLOSED) {
        throw new AccountNotClosedError('only an account that is closed can be erased');
      }
      // If this fails, the caller erases again, which finishes it.
      await eraseRequests(accountId);
      onEveryKeyChange();
      return record;
    },
  };
}

/**
 * Whether a creation has a transaction of its own: in a new account, or with ids that the caller
 * chose. Two transactions, each with an id that the other one inserts next, would wait for each
 * other.
 */
function isAlone({ account, key, creationId }: Creation): boolean {
  return !('id' in account) || creationId !== undefined || key?.externalId != null;
}

function administerKeys(
  { database: { keys }, bookFor, pepper, onKeyChange }: AdministrationOptions,
  create: AccountAdministration['create'],
): KeyAdministration {
  const pepperId = pepperIdOf(pepper);
  const recordLink = batchBookings({
    groupOf: ({ by }: RecordedLink) => JSON.stringify([by.holderOf]),
    book: (links) => bookFor(links[0]?.by)('recordLinks', links),
    most: LINKS_AT_ONCE,
  });

  async function setState(
    keyId: string,
    change: StateChange,
    by: Actor,
  ): Promise<KeyRecord | undefined> {
    assertActor(by);
    const record = await bookFor(by)('setKeyState', keyId, change, by);
    onKeyChange(keyId);
    return unlessBound(record);
  }

  return {
    async createKey(key) {
      const created = await create({ account: { name: key.name }, key, by: SOMEBODY });
      if (created.outcome !== 'created' || created.key === undefined) {
        throw new RangeError(`the key was not created: ${created.outcome}`);
      }
      return { record: created.key, credential: created.credential ?? '' };
    },

    getKey: (keyId) => keys.get(keyId),
    listKeys: (filter) => keys.list(filter, pepperId),
    suspendKey: (keyId, by = SOMEBODY, reason) =>
      setState(keyId, { state: 'suspended', onlyInState: 'active', reason }, by),
    resumeKey: (keyId, by = SOMEBODY) =>
      setState(keyId, { state: 'active', onlyInState: 'suspended' }, by),
    revokeKey: (keyId, by = SOMEBODY) => setState(keyId, { state: 'revoked' }, by),

    async updateKey(keyId, change, by = SOMEBODY) {
      assertKey(change);
      assertActor(by);
      const record = await bookFor(by)('updateKey', keyId, change, by);
      onKeyChange(keyId);
      return unlessTaken(unlessUnknown(unlessBound(record)));
    },

    async rotateKey(keyId, { graceMs = 0, rotationId, by }) {
      if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > MAX_GRACE_MS) {
        throw new RangeError(
          `graceMs is ${String(graceMs)}, not an integer from 0 to ${String(MAX_GRACE_MS)}`,
        );
      }
      if (rotationId !== undefined) assertId('rotationId', rotationId);
      assertActor(by);
      const { credential, row } = newCredential(pepper);
      const result = await bookFor(by)('rotateKey', keyId, row, { graceMs, rotationId, by });
      onKeyChange(keyId);
      return result.outcome === 'rotated'
        ? { outcome: 'rotated', record: result.record, credential }
        : result;
    },

    async recordLink(keyId, link) {
      assertActor(link.by);
      const { record } = await recordLink({ keyId, ...link });
      return record;
    },
  };
}

function newCredential(pepper: string): {
  readonly credential: string;
  readonly row: KeyCredential;
} {
  const credential = generateCredential();
  return {
    credential,
    row: {
      hint: hintOf(credential),
      credentialHmac: new Uint8Array(hashCredential(credential, pepper)),
      pepperId: pepperIdOf(pepper),
    },
  };
}

/** @throws {ExternalIdTakenError} */
function unlessTaken<Record extends object>(
  record: Record | 'external_id_taken' | undefined,
): Record | undefined {
  if (record !== 'external_id_taken') return record;
  throw new ExternalIdTakenError('this external id already belongs to another account or key');
}

/** @throws {AccountClosedError} */
function unlessClosed<Result>(result: Result | typeof CLOSED): Exclude<Result, typeof CLOSED> {
  if (result === CLOSED) throw new AccountClosedError('this account is closed');
  return result as Exclude<Result, typeof CLOSED>;
}

/** @throws {UnknownMemberError} */
function unlessUnknown<Result>(
  result: Result | typeof UNKNOWN_MEMBER,
): Exclude<Result, typeof UNKNOWN_MEMBER> {
  if (result === UNKNOWN_MEMBER) {
    throw new UnknownMemberError('the account of the key has no such member or group');
  }
  return result as Exclude<Result, typeof UNKNOWN_MEMBER>;
}

/** @throws {SetByOperatorError} */
function unlessBound<Result>(result: Result | Bound): Exclude<Result, Bound> {
  if (typeof result === 'object' && result !== null && 'bound' in result) {
    throw new SetByOperatorError(result.bound);
  }
  return result as Exclude<Result, Bound>;
}

/**
 * Makes ids that sort by creation: a time in milliseconds that always increases within this
 * process, then 64 random bits.
 */
export function createIds(now: () => number): (prefix: string) => string {
  let last = 0;
  return (prefix) => {
    last = Math.max(now(), last + 1);
    return `${prefix}_${last.toString(16).padStart(12, '0')}${randomBytes(8).toString('hex')}`;
  };
}
