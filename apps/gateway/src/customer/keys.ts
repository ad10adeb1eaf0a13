/**
 * `/v1/dashboard/keys`: a key with the scope `manage` lists, creates, rotates, suspends and caps
 * the keys of its account. It can neither add money nor leave its account.
 */

import type { Request } from 'express';
import { z } from 'zod';
import { OPERATOR_BOUNDS, SetByOperatorError, operatorBoundsOf } from '@gateway/balance-store';
import type { Actor, BoundField, KeyRecord, StoredDocument } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { holdersId } from '../base/repeat-ids.js';
import { MINUTE_MS } from '../base/times.js';
import type { Declared } from '../endpoints/endpoint.js';
import {
  capsOf,
  idempotencyId,
  keyId,
  holderRules,
  limitsOf,
  metadata,
  name,
  time,
  wholeNumber,
} from '../endpoints/fields.js';
import { createdOf, rotated } from '../endpoints/key-outcomes.js';
import { OperationError, invalidInput } from '../endpoints/operation-error.js';
import * as schema from '../endpoints/schemas.js';
import { holderKeyView } from '../endpoints/schemas/keys.js';
import { readJson } from '../http/json-body.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import { badRequest } from '../http/refusal.js';
import type { CustomerParts } from './customer-parts.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { KeyEndpoint, ReadAnswer } from './key-route.js';
import { needsManage, refusalOfStopped, unknownKeyOfAccount } from './scope.js';

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
  metadata: metadata.optional(),
  expires_at: time.optional(),
});

export const changedKey = z.strictObject({
  name: name.optional(),
  ...holderRules,
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

/** A request of a key that may manage keys, and the actor of its changes. */
interface Managed {
  readonly parts: CustomerParts;
  readonly key: KeyRecord;
  readonly req: Request;
  readonly by: Actor;
}

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
    const { expires_at, models, ...given } = input.data;
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
        caps: capsOf(given),
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
    const { expires_at, models, ...given } = input.data;
    const changed = await parts.store.updateKey(
      target.id,
      {
        limits: limitsBelow(key, limitsOf(given)),
        caps: capsOf(given),
        ...(models === undefined ? {} : { models: modelsWithin(key, models) }),
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

/** Declares an endpoint for keys that may manage keys. */
function managed<const Declaration extends KeyEndpoint>(
  endpoint: Declaration,
  work: (managed: Managed) => Promise<ReadAnswer>,
): Declared<Declaration, CustomerParts> {
  return keyEndpoint(endpoint, (parts) => async (key, req): Promise<ReadAnswer> => {
    if (key.scope !== 'manage') return { refusal: needsManage('keys') };
    const stopped = await refusalOfStopped('keys', key, parts);
    if (stopped !== undefined) return { refusal: stopped };
    const unreadable = req.method === 'GET' ? undefined : await readJson(req);
    if (unreadable !== undefined) return { refusal: unreadable };
    try {
      const by = holderOf(key, req);
      return await work({ parts, key, req, by });
    } catch (error) {
      if (error instanceof SetByOperatorError) return { refusal: setByOperator(error.field) };
      if (!(error instanceof OperationError)) throw error;
      const { refusal } = error;
      return { refusal: { ...refusal, param: refusal.message.split(':')[0] ?? null } };
    }
  });
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

/** The id under which a repeated request changes nothing. Other accounts may choose the same id. */
function repetitionOf(
  req: Request,
  key: KeyRecord,
): { readonly id: string | undefined } | { readonly refusal: Refusal } {
  const given = idempotencyId.optional().safeParse(req.headers['idempotency-key']);
  if (!given.success) {
    const problem = given.error.issues[0]?.message ?? '';
    return { refusal: badRequest(`idempotency-key: ${problem}`, 'idempotency-key') };
  }
  return { id: given.data === undefined ? undefined : holdersId(key, given.data) };
}

function ownKey(): Refusal {
  return newRefusal('own_key');
}

function needsMoreRights(field: ExceededRight): Refusal {
  return newRefusal('exceeds_own_rights', { field });
}

/** The field of a request that a bound refuses. */
const BOUND_FIELDS = {
  models: 'models',
  expiresAt: 'expires_at',
  concurrency: 'concurrency',
  burst: 'burst',
  requestsPerMinute: 'requests_per_minute',
  cap_day: 'cap_day_usd',
  cap_week: 'cap_week_usd',
  cap_month: 'cap_month_usd',
  cap_total: 'cap_total_usd',
} as const satisfies Record<Exclude<BoundField, 'state'>, string>;

function setByOperator(field: BoundField): Refusal {
  return field === 'state'
    ? newRefusal('suspended_by_operator')
    : newRefusal('set_by_operator', { param: BOUND_FIELDS[field] });
}

async function shown(parts: CustomerParts, key: KeyRecord | undefined): Promise<ReadAnswer> {
  if (key === undefined) throw new Error('a key of the account has no record');
  return { json: await holderView(parts, key) };
}

/** A key as its holder may see it. */
async function holderView({ store }: CustomerParts, key: KeyRecord) {
  return holderKeyView(key, boundsOf(await store.getDocument(OPERATOR_BOUNDS, key.id)));
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
  return keys.map((key) => holderKeyView(key, bounds.get(key.id)));
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

type ExceededRight = 'models' | 'limits' | 'expires_at';

/**
 * The first right that the target has and the managing key lacks. The credential of such a target
 * would let the managing key exceed its own rights.
 */
function exceededRight(own: KeyRecord, target: KeyRecord): ExceededRight | undefined {
  const { models, limits, expiresAt } = own;
  if (models !== null && target.models?.every((model) => models.includes(model)) !== true) {
    return 'models';
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
