/**
 * Creates, changes and erases accounts and keys. None of it changes a balance, except
 * the credit that a creation may include.
 */

import { randomBytes } from 'node:crypto';
import type {
  AccountChange,
  AccountRecord,
  AccountStatus,
  Actor,
  CreatedAccount,
  Creation,
} from '../../account.js';
import { KEY_HABITS } from '../../document.js';
import type { KeyChange, KeyRecord, KeyState, NewKey } from '../../key.js';
import { NO_BOUNDS, boundsAfter, exceededBound } from '../../operator-bounds.js';
import type { HashRenewal } from '../rules/pepper.js';
import { bookingHash, creationHash, rotationHash } from '../rows/contents-hash.js';
import { entryId } from '../rules/entry-ids.js';
import { counterOfCredit } from '../rules/sides.js';
import { credit } from './booking.js';
import { bookExpiries } from './expiries.js';
import {
  newSettings,
  personalOfNew,
  personalSettings,
  recordedSettings,
} from '../tables/account-settings.js';
import { credentialDigest, rightsOfKey } from '../rows/rights.js';
import { readBounds, writeBounds } from './bounds.js';
import type { Bound } from './bounds.js';
import { setCaps } from './caps.js';
import { columnsOf } from '../tables/tables.js';
import type { Model, SomeColumns } from '../tables/tables.js';
import { beforeAndAfter, recordChange, recordChanges } from './trail.js';
import type { Change } from './trail.js';
import type { KeyCredential, LedgerTransaction } from './transaction.js';

/** A creation with the random parts that the store has added to it. */
export interface PreparedCreation {
  readonly creation: Creation;
  readonly accountId: string;
  readonly keyId: string;
  readonly credential: KeyCredential;
}

interface Created {
  readonly account: CreatedAccount;
  readonly key: KeyRecord | undefined;
}

export type PreparedOutcome =
  | ({ readonly outcome: 'created' } & Created)
  | ({ readonly outcome: 'replayed' } & Created)
  | {
      readonly outcome:
        'conflict' | 'unknown_account' | 'account_closed' | 'too_many_keys' | 'unknown_member';
    }
  | { readonly outcome: 'external_id_taken'; readonly of: 'account' | 'key' };

export async function create(
  transaction: LedgerTransaction,
  prepared: PreparedCreation,
): Promise<PreparedOutcome> {
  const { creation } = prepared;
  const { creationId, account, key, maxKeys } = creation;
  const hash = creationHash(creation);
  const isNew = !('id' in account);
  const accountId = isNew ? prepared.accountId : account.id;
  const owner = isNew ? undefined : (await transaction.lockAccounts([accountId])).get(accountId);
  if (!isNew && owner === undefined) return { outcome: 'unknown_account' };
  const replayed = async (): Promise<PreparedOutcome | undefined> => {
    const known = creationId === undefined ? undefined : await transaction.findCreation(creationId);
    if (known === undefined) return undefined;
    if (known.hash !== hash) return { outcome: 'conflict' };
    return { outcome: 'replayed', ...(await recordsOf(transaction, known)) };
  };
  const before = await replayed();
  if (before !== undefined) return before;
  if (owner?.state === 'closed') return { outcome: 'account_closed' };
  // After the look-up above, so that repeating the creation of the last key is a replay.
  if (key !== undefined && maxKeys !== undefined) {
    if (await transaction.hasKeys(accountId, maxKeys)) return { outcome: 'too_many_keys' };
  }
  if (key !== undefined && !(await hasMember(transaction, accountId, key))) {
    return { outcome: 'unknown_member' };
  }
  const taken = await takenExternalId(transaction, creation);
  if (taken !== undefined) {
    // The same creation may have been committed since the look-up above. Then it took the id.
    return (await replayed()) ?? { outcome: 'external_id_taken', of: taken };
  }
  const at = await transaction.now();
  const row = isNew
    ? {
        ...newSettings(account),
        id: accountId,
        createdAt: at,
        opened: true,
        labelSalt: randomBytes(16).toString('hex'),
      }
    : undefined;
  if (row !== undefined) await transaction.insertAccount(row);
  const keyId = key === undefined ? null : prepared.keyId;
  let ofCaps: readonly Change[] = [];
  if (key !== undefined) {
    const { limits, caps, scope = 'use', metadata = {}, ...others } = key;
    await transaction.insertKey({
      ...others,
      ...prepared.credential,
      ...limits,
      id: prepared.keyId,
      accountId,
      metadata,
      scope,
      createdAt: at,
    });
    const uncharged = { spent: 0n, writtenOff: 0n, lastChargedAt: null };
    const newKey = { ...uncharged, id: prepared.keyId, accountId };
    ofCaps = await setCaps(transaction, newKey, caps ?? {}, { by: creation.by, at });
  }
  const decided = await decideFirst(transaction, prepared, accountId);
  const credited =
    creation.credit === undefined
      ? {}
      : await creditFirst(transaction, creation.credit, { accountId, at, by: creation.by });
  if (creationId !== undefined) {
    await transaction.insertCreation(creationId, { hash, accountId, keyId });
  }
  await recordChange(transaction, {
    action: isNew ? 'account.create' : 'key.create',
    accountId,
    keyId: keyId ?? undefined,
    by: creation.by,
    at,
    details: {
      ...credited,
      ...(row === undefined ? {} : recordedSettings(row)),
      ...(key === undefined
        ? {}
        : {
            ...rightsOfKey({ ...key, scope: key.scope ?? 'use' }),
            hint: prepared.credential.hint,
            credential_digest: credentialDigest(prepared.credential),
            ...decided,
          }),
    },
    personal: {
      ...(isNew ? personalOfNew(account) : {}),
      ...(key === undefined ? {} : { key: key.name, key_external_id: key.externalId }),
    },
  });
  for (const change of ofCaps) await recordChange(transaction, change);
  return { outcome: 'created', ...(await recordsOf(transaction, { accountId, keyId })) };
}

/**
 * Several creations in one account. The second one writes while the trail is locked by the first,
 * which is safe: all that it locks is locked already.
 */
export async function createAll(
  transaction: LedgerTransaction,
  all: readonly PreparedCreation[],
): Promise<readonly PreparedOutcome[]> {
  const outcomes: PreparedOutcome[] = [];
  for (const prepared of all) outcomes.push(await create(transaction, prepared));
  return outcomes;
}

/** Records what an operator decided about a new key. @returns what the trail says of it */
async function decideFirst(
  transaction: LedgerTransaction,
  { creation: { key, by }, keyId: id }: PreparedCreation,
  accountId: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (key === undefined || by.holderOf !== undefined) return {};
  // The limits of a creation may be defaults, which nobody decided for this key.
  const { caps, expiresAt, models, allowedNetworks } = key;
  const bounds = boundsAfter(NO_BOUNDS, { caps, expiresAt, models, allowedNetworks });
  return writeBounds(transaction, { id, accountId }, { bounds: NO_BOUNDS, version: 0 }, bounds);
}

/** @returns what the trail says of it */
async function creditFirst(
  transaction: LedgerTransaction,
  { amount, source, expiresAt }: NonNullable<Creation['credit']>,
  { accountId, at, by }: { readonly accountId: string; readonly at: Date; readonly by: Actor },
): Promise<Readonly<Record<string, unknown>>> {
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) {
    throw new Error(`account ${accountId} was not found after its creation`);
  }
  await bookExpiries(transaction, account, at);
  const counter = counterOfCredit(source);
  const id = entryId.firstCredit(accountId, account.seq + 1n);
  await credit(transaction, account, {
    id,
    hash: bookingHash('top_up', accountId, amount, source, expiresAt ?? null, null),
    at,
    actor: by.name,
    amount,
    source,
    counter,
    expiresAt,
  });
  return {
    credit: amount,
    credited: { entry: id, counter, source, expires_at: expiresAt },
  };
}

async function takenExternalId(
  transaction: LedgerTransaction,
  { account, key }: Creation,
): Promise<'account' | 'key' | undefined> {
  const own = 'id' in account ? undefined : account.externalId;
  if (await isTaken(transaction, 'account', own, '')) return 'account';
  return (await isTaken(transaction, 'api_key', key?.externalId, '')) ? 'key' : undefined;
}

async function recordsOf(
  transaction: LedgerTransaction,
  { accountId, keyId }: { readonly accountId: string; readonly keyId: string | null },
): Promise<Created> {
  const account = await transaction.accountRecord(accountId);
  if (account === undefined)
    throw new Error(`account ${accountId} was not found after its creation`);
  return {
    account,
    key: keyId === null ? undefined : await transaction.keyRecord(keyId),
  };
}

export async function wholeRecord(
  transaction: LedgerTransaction,
  accountId: string,
): Promise<AccountRecord | undefined> {
  const account = await transaction.accountRecord(accountId);
  if (account === undefined) return undefined;
  return { ...account, usableKeys: await transaction.countUsableKeys(accountId) };
}

/**
 * Locks the key's account, because changes of one account must not overlap.
 *
 * @returns the key, read under the lock
 */
async function lockKey(
  transaction: LedgerTransaction,
  keyId: string,
): Promise<KeyRecord | undefined> {
  const found = await transaction.keyRecord(keyId);
  if (found === undefined) return undefined;
  await transaction.lockAccounts([found.accountId]);
  return transaction.keyRecord(keyId);
}

/** Whether the member and the group that a key names are of its account. */
async function hasMember(
  transaction: LedgerTransaction,
  accountId: string,
  { memberId, naming }: Pick<NewKey, 'memberId' | 'naming'>,
): Promise<boolean> {
  if (memberId !== undefined && memberId !== null) {
    const member = await transaction.spenders.find('Member', memberId);
    if (member?.accountId !== accountId || member.state === 'ended') return false;
  }
  if (naming?.groupId === undefined) return true;
  return (await transaction.spenders.find('SpendGroup', naming.groupId))?.accountId === accountId;
}

const TAKEN = 'external_id_taken';
export const UNKNOWN_MEMBER = 'unknown_member';
export const CLOSED = 'account_closed';
export const NOT_CLOSED = 'account_not_closed';

export async function updateAccount(
  transaction: LedgerTransaction,
  accountId: string,
  change: AccountChange,
  by: Actor,
): Promise<AccountRecord | typeof TAKEN | typeof CLOSED | undefined> {
  await transaction.lockAccounts([accountId]);
  const before = await transaction.accountRecord(accountId);
  if (before === undefined) return undefined;
  if (before.state === 'closed' && change.allowance != null) return CLOSED;
  if (await isTaken(transaction, 'account', change.externalId, accountId)) return TAKEN;
  await transaction.updateAccount(accountId, {
    ...change,
    // An account that was never credited since shares exist has no other base.
    ...(change.noticeShares === undefined || before.noticeBase > 0n
      ? {}
      : { noticeBase: before.balance > 0n ? before.balance : 0n }),
  });
  await recordChange(transaction, {
    action: 'account.update',
    accountId,
    by,
    at: await transaction.now(),
    details: beforeAndAfter(recordedSettings(before), recordedSettings(change)),
    personal: beforeAndAfter(before, personalSettings(change)),
  });
  return wholeRecord(transaction, accountId);
}

export async function setAccountState(
  transaction: LedgerTransaction,
  accountId: string,
  state: Exclude<AccountStatus, 'closed'>,
  by: Actor,
): Promise<AccountRecord | typeof CLOSED | undefined> {
  await transaction.lockAccounts([accountId]);
  const before = await transaction.accountRecord(accountId);
  if (before === undefined) return undefined;
  if (before.state === 'closed') return CLOSED;
  if (before.state === state) return wholeRecord(transaction, accountId);
  await transaction.updateAccount(accountId, { state });
  const { event, action } = ACCOUNT_CHANGES[state];
  await transaction.insertEvent({
    type: event,
    accountId,
    keyId: undefined,
    data: { by: by.name },
  });
  await recordChange(transaction, {
    action,
    accountId,
    by,
    at: await transaction.now(),
    details: { state: { before: before.state, after: state } },
  });
  return wholeRecord(transaction, accountId);
}

const ACCOUNT_CHANGES = {
  active: { event: 'account.resumed', action: 'account.resume' },
  suspended: { event: 'account.suspended', action: 'account.suspend' },
} as const;

export async function updateKey(
  transaction: LedgerTransaction,
  keyId: string,
  change: KeyChange,
  by: Actor,
): Promise<KeyRecord | typeof TAKEN | typeof UNKNOWN_MEMBER | Bound | undefined> {
  const before = await lockKey(transaction, keyId);
  if (before === undefined) return undefined;
  const known = await readBounds(transaction, keyId);
  if (by.holderOf !== undefined) {
    const bound = exceededBound(known.bounds, change);
    if (bound !== undefined) return { bound };
  }
  if (!(await hasMember(transaction, before.accountId, change))) return UNKNOWN_MEMBER;
  if (await isTaken(transaction, 'api_key', change.externalId, keyId)) return TAKEN;
  const { name, externalId, metadata, limits, caps, ...others } = change;
  await transaction.updateKey(keyId, {
    ...others,
    ...limits,
    name,
    externalId,
    metadata,
  });
  const at = await transaction.now();
  const ofCaps = await setCaps(transaction, before, caps ?? {}, { by, at });
  const decided =
    by.holderOf !== undefined
      ? {}
      : await writeBounds(transaction, before, known, boundsAfter(known.bounds, change));
  await recordChange(transaction, {
    action: 'key.update',
    accountId: before.accountId,
    keyId,
    by,
    at,
    details: {
      ...beforeAndAfter(rightsOfKey(before), rightsOfKey(change)),
      ...decided,
    },
    personal: beforeAndAfter(before, { name, externalId, metadata }),
  });
  for (const one of ofCaps) await recordChange(transaction, one);
  return transaction.keyRecord(keyId);
}

export interface StateChange {
  readonly state: KeyState;
  /** Changes nothing if the key is in another state. */
  readonly onlyInState?: KeyState | undefined;
  /** For the trail. */
  readonly reason?: string | undefined;
}

export async function setKeyState(
  transaction: LedgerTransaction,
  keyId: string,
  { state, onlyInState, reason }: StateChange,
  by: Actor,
): Promise<KeyRecord | Bound | undefined> {
  const before = await lockKey(transaction, keyId);
  if (before === undefined) return undefined;
  let decided: Readonly<Record<string, unknown>> = {};
  if (before.state !== 'revoked' && state !== 'revoked') {
    const known = await readBounds(transaction, keyId);
    if (by.holderOf === undefined) {
      // Also if the holder suspended the key before: from now on, only an operator may resume it.
      const bounds = { ...known.bounds, isSuspended: state === 'suspended' };
      decided = await writeBounds(transaction, before, known, bounds);
    } else if (state === 'active' && known.bounds.isSuspended) {
      return { bound: 'state' };
    }
  }
  const { accountId } = before;
  const { event, action } = CHANGES[state];
  const isChange =
    before.state !== state && (onlyInState === undefined || before.state === onlyInState);
  if (isChange) {
    await transaction.updateKey(keyId, { state });
    await transaction.insertEvent({ type: event, accountId, keyId, data: { by: by.name } });
  } else if (Object.keys(decided).length === 0) {
    return before;
  }
  await recordChange(transaction, {
    action,
    accountId,
    keyId,
    by,
    at: await transaction.now(),
    details: {
      ...(isChange ? { state: { before: before.state, after: state } } : {}),
      ...decided,
      ...(reason === undefined ? {} : { reason }),
    },
  });
  return transaction.keyRecord(keyId);
}

const CHANGES = {
  active: { event: 'key.resumed', action: 'key.resume' },
  suspended: { event: 'key.suspended', action: 'key.suspend' },
  revoked: { event: 'key.revoked', action: 'key.revoke' },
} as const;

/** Revokes keys of a locked account. @returns what the trail has to say of it */
export async function revokeKeys(
  transaction: LedgerTransaction,
  keyIds: readonly string[],
  { accountId, by, at }: { readonly accountId: string; readonly by: Actor; readonly at: Date },
): Promise<readonly Change[]> {
  const { event, action } = CHANGES.revoked;
  const trail: Change[] = [];
  for (const keyId of keyIds) {
    const before = (await transaction.keyRecord(keyId))?.state;
    if (before === undefined || before === 'revoked') continue;
    await transaction.updateKey(keyId, { state: 'revoked' });
    await transaction.insertEvent({ type: event, accountId, keyId, data: { by: by.name } });
    const details = { state: { before, after: 'revoked' } };
    trail.push({ action, accountId, keyId, by, at, details });
  }
  return trail;
}

interface Rotation {
  readonly graceMs: number;
  readonly rotationId: string | undefined;
  readonly by: Actor;
}

type RotationResult =
  | { readonly outcome: 'rotated'; readonly record: KeyRecord }
  | { readonly outcome: 'replayed'; readonly record: KeyRecord }
  | { readonly outcome: 'conflict' | 'revoked' | 'unknown_key' };

export async function rotateKey(
  transaction: LedgerTransaction,
  keyId: string,
  credential: KeyCredential,
  { graceMs, rotationId, by }: Rotation,
): Promise<RotationResult> {
  const before = await lockKey(transaction, keyId);
  if (before === undefined) return { outcome: 'unknown_key' };
  const hash = rotationHash(keyId, graceMs);
  const known = rotationId === undefined ? undefined : await transaction.findCreation(rotationId);
  if (known !== undefined) {
    return known.hash === hash ? { outcome: 'replayed', record: before } : { outcome: 'conflict' };
  }
  if (before.state === 'revoked') return { outcome: 'revoked' };
  if (rotationId !== undefined) {
    const { accountId } = before;
    await transaction.insertCreation(rotationId, { hash, accountId, keyId });
  }
  const at = await transaction.now();
  const previousUntil = graceMs > 0 ? new Date(at.getTime() + graceMs) : null;
  await transaction.replaceCredential(keyId, credential, previousUntil);
  const { accountId } = before;
  await transaction.insertEvent({
    type: 'key.rotated',
    accountId,
    keyId,
    data: { by: by.name, previous_until: previousUntil?.toISOString() ?? null },
  });
  await recordChange(transaction, {
    action: 'key.rotate',
    accountId,
    keyId,
    by,
    at,
    details: {
      hint: { before: before.hint, after: credential.hint },
      previous_until: previousUntil,
      credential_digest: credentialDigest(credential),
    },
  });
  const record = await transaction.keyRecord(keyId);
  if (record === undefined) throw new Error(`key ${keyId} was not found after its rotation`);
  return { outcome: 'rotated', record };
}

/** Stores credentials, the current or previous ones of keys, under the hash of another pepper. */
export async function renewHash(
  transaction: LedgerTransaction,
  renewal: HashRenewal,
): Promise<void> {
  for (const { keyId, accountId, before } of await transaction.renewHash(renewal)) {
    await recordChange(transaction, {
      action: 'key.renew_hash',
      accountId,
      keyId,
      by: { name: 'gateway' },
      at: await transaction.now(),
      details: {
        credential_digest: {
          before: credentialDigest(before),
          after: credentialDigest({ pepperId: renewal.pepperId, credentialHmac: renewal.hash }),
        },
      },
    });
  }
}

/** A link to record. */
export interface RecordedLink {
  readonly keyId: string;
  readonly expiresAt: Date;
  readonly isOnce?: boolean;
  readonly by: Actor;
}

/** @returns for each link, the key if there is one; nothing is written of others */
export async function recordLinks(
  transaction: LedgerTransaction,
  links: readonly RecordedLink[],
): Promise<readonly { readonly record: KeyRecord | undefined }[]> {
  const outcomes: { readonly record: KeyRecord | undefined }[] = [];
  const changes: Change[] = [];
  const at = await transaction.now();
  for (const { keyId, expiresAt, isOnce, by } of links) {
    const record = await transaction.keyRecord(keyId);
    outcomes.push({ record });
    if (record === undefined) continue;
    changes.push({
      action: 'key.link',
      accountId: record.accountId,
      keyId,
      by,
      at,
      details: { expires_at: expiresAt, ...(isOnce === true ? { once: true } : {}) },
    });
  }
  await recordChanges(transaction, changes);
  return outcomes;
}

const ERASED = '(erased)';

export async function eraseAccount(
  transaction: LedgerTransaction,
  accountId: string,
  by: Actor,
): Promise<AccountRecord | typeof NOT_CLOSED | undefined> {
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return undefined;
  if (account.state !== 'closed') return NOT_CLOSED;
  await transaction.updateAccount(accountId, { ...erasedColumns('Account'), labelSalt: '' });
  for (const keyId of await transaction.keyIdsOf(accountId)) {
    await transaction.updateKey(keyId, erasedColumns('ApiKey'));
    await forgetHabits(transaction, accountId, keyId);
  }
  await transaction.spenders.erase(accountId, erasedColumns);
  await transaction.erasePersonalTexts(accountId);
  // The hash of a creation covers names, and a guessed name could be compared with it.
  await transaction.replaceCreationHashes(accountId, randomBytes(32).toString('hex'));
  await recordChange(transaction, {
    action: 'account.erase',
    accountId,
    by,
    at: await transaction.now(),
    details: {},
  });
  return wholeRecord(transaction, accountId);
}

/** The networks of a key say, in hashes, where its holder was. */
async function forgetHabits(
  transaction: LedgerTransaction,
  accountId: string,
  keyId: string,
): Promise<void> {
  const of = { kind: KEY_HABITS, id: keyId } as const;
  const known = await transaction.getDocument(of.kind, of.id);
  if (known === undefined) return;
  await transaction.writeDocument({ ...of, accountId, version: known.version, data: {} });
}

/** The columns about a person, without their contents. */
function erasedColumns<Of extends Model>(model: Of): SomeColumns<Of> {
  const personal = Object.entries(columnsOf(model)).filter(([, { isPersonal }]) => isPersonal);
  return Object.fromEntries(
    personal.map(([member, { kind, isNullable }]) => [
      member,
      isNullable ? null : kind === 'json' ? {} : ERASED,
    ]),
  ) as SomeColumns<Of>;
}

/** Whether another row has the external id. */
async function isTaken(
  transaction: LedgerTransaction,
  of: 'account' | 'api_key',
  externalId: string | null | undefined,
  id: string,
): Promise<boolean> {
  if (externalId === undefined || externalId === null) return false;
  return transaction.isExternalIdTaken(of, externalId, id);
}
