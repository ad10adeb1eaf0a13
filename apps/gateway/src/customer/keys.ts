/**
 * `/v1/dashboard/keys`: a key with the scope `manage` lists, creates, rotates, suspends and caps
 * the keys of its account. It can neither add money nor leave its account.
 */

import type { Request } from 'express';
import { z } from 'zod';
import { OPERATOR_BOUNDS, areNetworksWithin, operatorBoundsOf } from '@gateway/balance-store';
import type { KeyRecord, StoredDocument } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { MINUTE_MS } from '../base/times.js';
import {
  capsOf,
  keyId,
  holderRules,
  limitsOf,
  memberId,
  metadata,
  name,
  time,
  wholeNumber,
} from '../endpoints/fields.js';
import { createdOf, rotated, unknownMember } from '../endpoints/key-outcomes.js';
import { OperationError, invalidInput } from '../endpoints/operation-error.js';
import * as schema from '../endpoints/schemas.js';
import { holderKeyView } from '../endpoints/schemas/keys.js';
import { withUse } from '../ledger/used-by-keys.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import type { CustomerParts } from './customer-parts.js';
import type { ReadAnswer } from './key-route.js';
import { managed, repetitionOf } from './managed.js';
import { assertStillCounted } from './operator-budgets.js';
import { unknownKeyOfAccount } from './scope.js';

const POLICY = { limit: 60, windowMs: MINUTE_MS } as const;
const ROUTE = { name: 'keys', limit: POLICY } as const;
/**
 * Each key has its own limits, so an unlimited number of keys would bypass them. Revoked keys do
 * not count.
 */
const MAX_KEYS_PER_ACCOUNT = 100;

const newKey = z.strictObject({
  name,
  ...holderRules,
  member_id: memberId.optional(),
  metadata: metadata.optional(),
  expires_at: time.optional(),
});

export const changedKey = z.strictObject({
  name: name.optional(),
  ...holderRules,
  member_id: memberId.nullable().optional(),
  metadata: metadata.optional(),
  expires_at: time.nullable().optional(),
});

const rotation = z.strictObject({
  grace_seconds: wholeNumber
    .min(0)
    .max(30 * 86_400)
    .default(0),
});

const listQuery = z.strictObject({
  limit: wholeNumber.min(1).max(1000).default(100),
  after: keyId.optional(),
});

const listKeys = managed(
  {
    ...ROUTE,
    method: 'get',
    path: '/v1/dashboard/keys',
    id: 'listKeys',
    summary: 'The keys of the account, for a key that may manage them',
    credential: 'link',
    query: listQuery,
    result: schema.listOf(schema.holderKey),
  },
  async ({ parts, key, req }) => {
    const query = listQuery.safeParse(req.query);
    if (!query.success) return { refusal: refusalOfQuery(query.error) };
    const { limit, after } = query.data;
    const keys = await parts.store.listKeys({ accountId: key.accountId, limit, after });
    const next = keys.length === limit ? keys.at(-1)?.id : undefined;
    return {
      json: {
        object: 'list',
        data: await holderViews(parts, keys, key.accountId),
        has_more: next !== undefined,
        next_cursor: next ?? null,
      },
    };
  },
);

const createKey = managed(
  {
    ...ROUTE,
    method: 'post',
    path: '/v1/dashboard/keys',
    id: 'createKey',
    summary: 'A new key of the account',
    credential: 'bearer',
    body: newKey,
    isRepeatable: true,
    result: schema.newHolderKey,
  },
  async ({ parts, key, req, by }) => {
    const input = newKey.safeParse(req.body);
    if (!input.success) return { refusal: refusalOfQuery(input.error) };
    const { accountId } = key;
    const repeated = repetitionOf(req, key);
    if ('refusal' in repeated) return repeated;
    const { expires_at, models, allowed_networks, ...given } = input.data;
    const created = await parts.store.create({
      creationId: repeated.id,
      account: { id: accountId },
      maxKeys: MAX_KEYS_PER_ACCOUNT,
      key: {
        name: given.name,
        // The limits are never higher than those of the key that creates it.
        limits: limitsWithin(key, limitsOf(given)),
        expiresAt: earlierOf(expires_at ?? null, key.expiresAt),
        metadata: given.metadata,
        models: modelsWithin(key, models),
        allowedNetworks: networksWithin(key, allowed_networks),
        caps: capsOf(given),
        // A budget of its member would otherwise not count what the new key spends.
        memberId: given.member_id ?? key.memberId ?? undefined,
      },
      by,
    });
    const { key: record } = createdOf(created, 'account_external_id');
    if (record === undefined) throw new Error('the key was not created');
    const credential = created.outcome === 'created' ? created.credential : undefined;
    return { json: { ...(await holderView(parts, record)), api_key: credential ?? null } };
  },
);

const getKey = managed(
  {
    ...ROUTE,
    method: 'get',
    path: '/v1/dashboard/keys/:key_id',
    id: 'getKey',
    summary: 'One key of the account',
    credential: 'link',
    result: schema.holderKey,
  },
  async ({ parts, key, req }) => {
    const target = await targetOf(parts, key, req);
    return 'refusal' in target ? target : shown(parts, target);
  },
);

const updateKey = managed(
  {
    ...ROUTE,
    method: 'patch',
    path: '/v1/dashboard/keys/:key_id',
    id: 'updateKey',
    summary: 'Changes a key of the account',
    credential: 'bearer',
    body: changedKey,
    result: schema.holderKey,
  },
  async ({ parts, key, req, by }) => {
    const input = changedKey.safeParse(req.body);
    if (!input.success) return { refusal: refusalOfQuery(input.error) };
    const target = await targetOf(parts, key, req);
    if ('refusal' in target) return target;
    if (target.id === key.id) return { refusal: ownKey() };
    const { expires_at, models, allowed_networks, member_id: memberId, ...given } = input.data;
    if (memberId !== undefined) await assertNewMember(target, memberId, parts);
    const changed = await parts.store.updateKey(
      target.id,
      {
        ...(memberId === undefined ? {} : { memberId }),
        limits: limitsBelow(key, limitsOf(given)),
        caps: capsOf(given),
        ...(models === undefined ? {} : { models: modelsWithin(key, models) }),
        ...(allowed_networks === undefined
          ? {}
          : { allowedNetworks: networksWithin(key, allowed_networks) }),
        ...(given.name === undefined ? {} : { name: given.name }),
        ...(given.metadata === undefined ? {} : { metadata: given.metadata }),
        ...(expires_at === undefined ? {} : { expiresAt: earlierOf(expires_at, key.expiresAt) }),
      },
      by,
    );
    return shown(parts, changed);
  },
);

const rotateKey = managed(
  {
    ...ROUTE,
    method: 'post',
    path: '/v1/dashboard/keys/:key_id/rotate',
    id: 'rotateKey',
    summary: 'Gives a key of the account a new credential',
    credential: 'bearer',
    body: rotation,
    isRepeatable: true,
    result: schema.rotatedHolderKey,
  },
  async ({ parts, key, req, by }) => {
    const input = rotation.safeParse(req.body);
    if (!input.success) return { refusal: refusalOfQuery(input.error) };
    const target = await targetOf(parts, key, req);
    if ('refusal' in target) return target;
    const exceeded = exceededRight(key, target);
    if (exceeded !== undefined) return { refusal: needsMoreRights(exceeded) };
    const repeated = repetitionOf(req, key);
    if ('refusal' in repeated) return repeated;
    const graceMs = input.data.grace_seconds * 1_000;
    const options = { graceMs, rotationId: repeated.id };
    const { store } = parts;
    const rotatedKey = await rotated(target.id, options, { store, by });
    return { json: { ...(await holderView(parts, rotatedKey.key)), ...rotatedKey.rotation } };
  },
);

const stateChanges = (
  [
    ['suspend', 'Suspends a key of the account'],
    ['resume', 'Resumes a key of the account'],
    ['revoke', 'Revokes a key of the account'],
  ] as const
).map(([act, summary]) =>
  managed(
    {
      ...ROUTE,
      method: 'post',
      path: `/v1/dashboard/keys/:key_id/${act}`,
      id: `${act}Key`,
      summary,
      credential: 'bearer',
      result: schema.holderKey,
    },
    async ({ parts, key, req, by }) => {
      const target = await targetOf(parts, key, req);
      if ('refusal' in target) return target;
      if (target.id === key.id) return { refusal: ownKey() };
      const changed = await parts.store[`${act}Key`](target.id, by);
      if (act === 'resume' && changed?.state === 'revoked') {
        throw new OperationError(newRefusal('key_revoked'));
      }
      return shown(parts, changed);
    },
  ),
);

export const keyEndpoints = [
  listKeys,
  createKey,
  getKey,
  updateKey,
  rotateKey,
  ...stateChanges,
] as const;

/** @throws {OperationError} No such member, or the key would leave a budget of the operator. */
async function assertNewMember(
  key: KeyRecord,
  memberId: string | null,
  parts: CustomerParts,
): Promise<void> {
  const { accountId: account_id } = key;
  const member = memberId === null ? undefined : await parts.store.getMember(memberId);
  const isPossible = member?.accountId === account_id && member.state === 'active';
  if (memberId !== null && !isPossible) {
    throw await unknownMember({ account_id, member_id: memberId }, parts);
  }
  const after = { memberId: member?.id, groups: member?.groups };
  const before = { memberId: key.memberId ?? undefined, groups: key.groups };
  await assertStillCounted(account_id, { keyId: key.id, before, after }, 'member_id', parts);
}

/** A key of the same account. Keys of other accounts count as unknown. */
async function targetOf(
  { store }: CustomerParts,
  { accountId }: KeyRecord,
  req: Request,
): Promise<KeyRecord | { readonly refusal: Refusal }> {
  const id = keyId.safeParse(req.params['key_id']);
  const target = id.success ? await store.getKey(id.data) : undefined;
  if (target?.accountId === accountId) return target;
  return { refusal: unknownKeyOfAccount() };
}

function ownKey(): Refusal {
  return newRefusal('own_key');
}

function needsMoreRights(field: ExceededRight): Refusal {
  return newRefusal('exceeds_own_rights', { field });
}

async function shown(parts: CustomerParts, key: KeyRecord | undefined): Promise<ReadAnswer> {
  if (key === undefined) throw new Error('a key of the account has no record');
  return { json: await holderView(parts, key) };
}

/** A key as its holder may see it. */
async function holderView({ store }: CustomerParts, key: KeyRecord) {
  const bounds = boundsOf(await store.getDocument(OPERATOR_BOUNDS, key.id));
  return holderKeyView(await withUse(key, store), bounds);
}

async function holderViews(
  { store }: CustomerParts,
  keys: readonly KeyRecord[],
  accountId: string,
) {
  const bounds = new Map<string, ReturnType<typeof boundsOf>>();
  let before: bigint | undefined;
  do {
    const page = { kind: OPERATOR_BOUNDS, accountId, before, limit: BOUNDS_PER_PAGE };
    const found = await store.listDocuments(page);
    for (const document of found) bounds.set(document.id, boundsOf(document));
    before = found.length < BOUNDS_PER_PAGE ? undefined : found.at(-1)?.seq;
  } while (before !== undefined);
  const shown = await Promise.all(keys.map((key) => withUse(key, store)));
  return shown.map((key) => holderKeyView(key, bounds.get(key.id)));
}

const BOUNDS_PER_PAGE = 1_000;

/** What the holder may only tighten; `undefined` if no operator decided anything about the key. */
function boundsOf(document: StoredDocument | undefined) {
  return document === undefined ? undefined : operatorBoundsOf(document.data);
}

function limitsWithin(
  { limits: own }: KeyRecord,
  given: Partial<KeyRecord['limits']>,
): KeyRecord['limits'] {
  return { ...own, ...limitsBelow({ limits: own }, given) };
}

function limitsBelow(
  { limits: own }: Pick<KeyRecord, 'limits'>,
  given: Partial<KeyRecord['limits']>,
): Partial<KeyRecord['limits']> {
  return Object.fromEntries(
    Object.entries(given).map(([limit, value]: [string, number]) => [
      limit,
      Math.min(value, own[limit as keyof typeof own]),
    ]),
  );
}

/**
 * Only models that the key may use itself.
 *
 * @throws {OperationError} names a model that it may not use
 */
function modelsWithin(
  { models: own }: KeyRecord,
  wanted: readonly string[] | null | undefined,
): readonly string[] | null {
  if (own === null) return wanted ?? null;
  const other = wanted?.find((model) => !own.includes(model));
  if (other !== undefined) {
    const problem = `models: this key may not use ${other} itself`;
    throw invalidInput(problem);
  }
  return wanted ?? own;
}

/**
 * Only networks in which the key may be used itself.
 *
 * @throws {OperationError} names a network in which it may not be used
 */
function networksWithin(
  { allowedNetworks: own }: KeyRecord,
  wanted: readonly string[] | null | undefined,
): readonly string[] | null {
  if (own === null) return wanted ?? null;
  const other = wanted?.find((network) => !areNetworksWithin([network], own));
  if (other !== undefined) {
    const problem = `allowed_networks: this key may not be used from ${other} itself`;
    throw invalidInput(problem);
  }
  return wanted ?? own;
}

type ExceededRight = 'models' | 'allowed_networks' | 'limits' | 'expires_at';

/**
 * The first right that the target has and the managing key lacks. The credential of such a target
 * would let the managing key exceed its own rights.
 */
function exceededRight(own: KeyRecord, target: KeyRecord): ExceededRight | undefined {
  const { models, allowedNetworks, limits, expiresAt } = own;
  if (models !== null && target.models?.every((model) => models.includes(model)) !== true) {
    return 'models';
  }
  if (allowedNetworks !== null) {
    const networks = target.allowedNetworks;
    if (networks === null || !areNetworksWithin(networks, allowedNetworks)) {
      return 'allowed_networks';
    }
  }
  const isAbove = (limit: keyof KeyRecord['limits']) => target.limits[limit] > limits[limit];
  if (isAbove('concurrency') || isAbove('burst') || isAbove('requestsPerMinute')) return 'limits';
  if (expiresAt !== null && (target.expiresAt === null || target.expiresAt > expiresAt)) {
    return 'expires_at';
  }
  return undefined;
}

function earlierOf(wanted: Date | null, own: Date | null): Date | null {
  if (wanted === null || own === null) return wanted ?? own;
  return wanted < own ? wanted : own;
}
