/**
 * Everything an operator can do, once: the admin HTTP API serves this table, and the command line
 * calls it, directly or over that API.
 */

import { z } from 'zod';
import type { BalanceStore, KeyRecord } from '@gateway/balance-store';
import { formatUsd, parseUsd } from '@gateway/billing';
import type { PriceTable } from '@gateway/billing';
import { STORABLE_TIME_RULE, isStorableTime, line } from './storable.js';
import { auditView, entryView, holdView, keyView } from './views.js';
import { compareWithWitness, witnessedUsage } from './witness.js';

export interface OperationContext {
  readonly store: BalanceStore;
  readonly prices: PriceTable;
  readonly defaultLimits: KeyRecord['limits'];
}

export interface Operation<Input extends z.ZodType, Output> {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Members of the input that are part of the path. The others go into the query or the body. */
  readonly path: string;
  readonly input: Input;
  readonly run: (input: z.output<Input>, context: OperationContext) => Promise<Output>;
}

/** The operator asked for something that cannot be done; nothing was changed. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly status: number;
  readonly type: string;
  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

const MAX_TOP_UP = 10n ** 9n * 10n ** 14n;

const usd = z.string().transform((text, context) => {
  try {
    return parseUsd(text);
  } catch (error) {
    context.addIssue(error instanceof Error ? error.message : 'must be a decimal amount');
    return z.NEVER;
  }
});
const amountUsd = usd.refine((amount) => amount > 0n && amount <= MAX_TOP_UP, {
  error: 'must be above 0 and at most 1000000000',
});
const keyId = z.string().regex(/^key_[\w-]{1,64}$/, 'must be the id of a key, such as key_…');
const limit = z.coerce.number().int().min(1);
const limits = {
  concurrency: limit.max(100_000).optional(),
  burst: limit.max(1_000_000).optional(),
  requests_per_minute: limit.max(10_000_000).optional(),
};
const expiresAt = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-12-31T23:59:59Z' })
  .transform((text) => new Date(text))
  .refine(isStorableTime, STORABLE_TIME_RULE);
const keyName = line.trim().min(1).max(200);
/** Chosen by the caller; the same id never credits twice. */
const topUpId = z.string().regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 of A-Z a-z 0-9 _ . : -');
const actor = line.trim().min(1).max(100).default('operator');
/** The end of the hash chain as the log or an earlier audit reported it. */
const anchor = z
  .string()
  .regex(/^\d{1,18}:[0-9a-f]{64}$/, 'must be <block>:<hash>, as an audit prints it')
  .transform((text) => {
    const [block = '', hash = ''] = text.split(':');
    return { block: BigInt(block), hash };
  });
/** The most usages in one comparison. They fit into a request body. */
export const WITNESS_BATCH = 200;
const oneKey = z.strictObject({ key_id: keyId });
const pageSize = z.coerce.number().int().min(1).max(1000).default(100);

export const operations = {
  createKey: operation({
    method: 'POST',
    path: '/admin/keys',
    input: z.strictObject({
      name: keyName,
      ...limits,
      expires_at: expiresAt.optional(),
      balance_usd: amountUsd.optional(),
      actor,
    }),
    async run(input, { store, defaultLimits }) {
      const { record, credential } = await store.createKey({
        name: input.name,
        limits: { ...defaultLimits, ...limitsOf(input) },
        expiresAt: input.expires_at ?? null,
      });
      if (input.balance_usd !== undefined) {
        const topUp = { keyId: record.id, amount: input.balance_usd, actor: input.actor };
        await store.topUp({ topUpId: `initial:${record.id}`, ...topUp });
      }
      return { ...keyView(await found(store.getKey(record.id))), api_key: credential };
    },
  }),

  listKeys: operation({
    method: 'GET',
    path: '/admin/keys',
    input: z.strictObject({ limit: pageSize, after: keyId.optional() }),
    async run({ limit: size, after }, { store }) {
      const keys = await store.listKeys({ limit: size, ...(after === undefined ? {} : { after }) });
      return list(keys.map(keyView), keys.length === size ? keys.at(-1)?.id : undefined);
    },
  }),

  showKey: operation({
    method: 'GET',
    path: '/admin/keys/:key_id',
    input: oneKey,
    run: async ({ key_id }, { store }) => keyView(await found(store.getKey(key_id))),
  }),

  updateKey: operation({
    method: 'PATCH',
    path: '/admin/keys/:key_id',
    input: z.strictObject({
      key_id: keyId,
      name: keyName.optional(),
      ...limits,
      expires_at: expiresAt.nullable().optional(),
    }),
    async run(input, { store }) {
      const change = {
        limits: limitsOf(input),
        ...(input.name === undefined ? {} : { name: input.name }),
        ...(input.expires_at === undefined ? {} : { expiresAt: input.expires_at }),
      };
      return keyView(await found(store.updateKey(input.key_id, change)));
    },
  }),

  suspendKey: operation({
    method: 'POST',
    path: '/admin/keys/:key_id/suspend',
    input: oneKey,
    run: async ({ key_id }, { store }) => keyView(await found(store.suspendKey(key_id))),
  }),

  resumeKey: operation({
    method: 'POST',
    path: '/admin/keys/:key_id/resume',
    input: oneKey,
    async run({ key_id }, { store }) {
      const key = await found(store.resumeKey(key_id));
      if (key.state === 'revoked') {
        throw new OperationError(409, 'conflict_error', 'key_id: this key is revoked for good');
      }
      return keyView(key);
    },
  }),

  revokeKey: operation({
    method: 'POST',
    path: '/admin/keys/:key_id/revoke',
    input: oneKey,
    run: async ({ key_id }, { store }) => keyView(await found(store.revokeKey(key_id))),
  }),

  topUp: operation({
    method: 'POST',
    path: '/admin/keys/:key_id/top-ups',
    input: z.strictObject({ key_id: keyId, top_up_id: topUpId, amount_usd: amountUsd, actor }),
    async run(input, { store }) {
      const topUp = {
        topUpId: input.top_up_id,
        keyId: input.key_id,
        amount: input.amount_usd,
        actor: input.actor,
      };
      const result = await store.topUp(topUp);
      switch (result.outcome) {
        case 'unknown_key':
          throw unknownKey();
        case 'conflict':
          throw new OperationError(
            409,
            'conflict_error',
            'top_up_id: was used before for another key or another amount',
          );
        case 'credited':
        case 'replayed':
          return {
            object: 'top_up' as const,
            top_up_id: input.top_up_id,
            key_id: input.key_id,
            amount_usd: formatUsd(input.amount_usd),
            replayed: result.outcome === 'replayed',
            balance_usd: formatUsd(result.balance),
            is_active: result.isActive,
          };
      }
    },
  }),

  listLedger: operation({
    method: 'GET',
    path: '/admin/ledger',
    input: z.strictObject({
      key_id: keyId.optional(),
      kind: z.enum(['charge', 'top_up']).optional(),
      model: line.min(1).max(200).optional(),
      from: expiresAt.optional(),
      until: expiresAt.optional(),
      limit: pageSize,
      cursor: z.string().min(1).max(200).optional(),
    }),
    async run({ key_id, kind, model, from, until, limit: size, cursor }, { store }) {
      const page = await store.listEntries({
        limit: size,
        ...(key_id === undefined ? {} : { keyId: key_id }),
        ...(kind === undefined ? {} : { kind }),
        ...(model === undefined ? {} : { model }),
        ...(from === undefined ? {} : { from }),
        ...(until === undefined ? {} : { until }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      return list(page.entries.map(entryView), page.next);
    },
  }),

  auditLedger: operation({
    method: 'GET',
    path: '/admin/ledger/audit',
    input: z.strictObject({ anchor: anchor.optional() }),
    run: async (input, { store }) => auditView(await store.audit({ anchor: input.anchor })),
  }),

  compareWitness: operation({
    method: 'POST',
    path: '/admin/ledger/witness',
    input: z.strictObject({ usages: z.array(witnessedUsage).min(1).max(WITNESS_BATCH) }),
    run: ({ usages }, { store }) => compareWithWitness(usages, store),
  }),

  listHolds: operation({
    method: 'GET',
    path: '/admin/holds',
    input: z.strictObject({
      state: z.enum(['live', 'orphaned']).default('orphaned'),
      limit: pageSize,
    }),
    run: async (input, { store }) => list((await store.listHolds(input)).map(holdView), undefined),
  }),

  listModels: operation({
    method: 'GET',
    path: '/admin/models',
    input: z.strictObject({}),
    run: (_input, { prices }) =>
      Promise.resolve(
        list(
          prices.list().map((price) => ({
            object: 'model' as const,
            id: price.id,
            display_name: price.displayName,
            rate_in: price.rateIn,
            rate_out: price.rateOut,
            max_output_tokens: price.maxOutputTokens,
            context_window: price.contextWindow,
          })),
          undefined,
        ),
      ),
  }),
} as const;

export type OperationName = keyof typeof operations;
export type OperationInput<Name extends OperationName> = z.input<
  (typeof operations)[Name]['input']
>;
export type OperationOutput<Name extends OperationName> = Awaited<
  ReturnType<(typeof operations)[Name]['run']>
>;

/** Calls an operation by name, wherever it runs. */
export type CallOperation = <Name extends OperationName>(
  name: Name,
  input: OperationInput<Name>,
) => Promise<OperationOutput<Name>>;

/**
 * Checks the input and runs the operation.
 *
 * @throws {OperationError} The input names a field that cannot be used, or the operation is
 * refused.
 */
export async function runOperation(
  name: OperationName,
  input: unknown,
  context: OperationContext,
): Promise<unknown> {
  // The input and the `run` of one entry belong together, which the union type of the table cannot
  // express.
  const chosen = operations[name] as Operation<z.ZodType, unknown>;
  const parsed = chosen.input.safeParse(input);
  if (parsed.success) return chosen.run(parsed.data, context).catch(refuseBadCursor);
  const [issue] = parsed.error.issues;
  const field =
    issue?.code === 'unrecognized_keys' ? issue.keys.join(', ') : (issue?.path.join('.') ?? '');
  throw new OperationError(
    400,
    'invalid_request_error',
    `${field === '' ? 'input' : field}: ${issue?.message ?? 'is invalid'}`,
  );
}

/** Only the store, which made the cursor, can judge it. */
function refuseBadCursor(error: unknown): never {
  if (error instanceof RangeError) {
    throw new OperationError(400, 'invalid_request_error', `cursor: ${error.message}`);
  }
  throw error;
}

function operation<Input extends z.ZodType, Output>(
  definition: Operation<Input, Output>,
): Operation<Input, Output> {
  return definition;
}

function list<Item>(data: readonly Item[], next: string | undefined) {
  return {
    object: 'list' as const,
    data,
    has_more: next !== undefined,
    next_cursor: next ?? null,
  };
}

function limitsOf(input: {
  readonly concurrency?: number | undefined;
  readonly burst?: number | undefined;
  readonly requests_per_minute?: number | undefined;
}): Partial<KeyRecord['limits']> {
  return {
    ...(input.concurrency === undefined ? {} : { concurrency: input.concurrency }),
    ...(input.burst === undefined ? {} : { burst: input.burst }),
    ...(input.requests_per_minute === undefined
      ? {}
      : { requestsPerMinute: input.requests_per_minute }),
  };
}

async function found(key: Promise<KeyRecord | undefined>): Promise<KeyRecord> {
  const record = await key;
  if (record === undefined) throw unknownKey();
  return record;
}

function unknownKey(): OperationError {
  return new OperationError(404, 'not_found_error', 'key_id: there is no such key');
}
