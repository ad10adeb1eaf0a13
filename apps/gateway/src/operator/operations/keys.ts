/** Operations on keys. */

import { z } from 'zod';
import { ExternalIdTakenError, listCursorOf } from '@gateway/balance-store';
import type { KeyRecord, ListOrder } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { PaymentProvider } from '@gateway/payments';
import { newRefusal } from '../../base/errors/refusal.js';
import { operatorsId, ownTopUpPrefix } from '../../base/repeat-ids.js';
import {
  accountId,
  after,
  amountUsd,
  idempotencyId,
  externalId,
  help,
  keyId,
  keyRules,
  linkSeconds,
  listOrder,
  metadata,
  metadataQuery,
  name,
  note,
  ofAccount,
  pageSize,
  paidThrough,
  partOfName,
  reference,
  rulesOf,
  time,
  withExternalId,
  wholeNumber,
} from '../../endpoints/fields.js';
import { newSettings } from '../../endpoints/account-settings.js';
import {
  createdAccountView,
  createdOf,
  rotated,
  unknownKey,
} from '../../endpoints/key-outcomes.js';
import {
  accountClosed,
  externalIdTaken,
  invalidInput,
  notFound,
  OperationError,
} from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { keyView } from '../../endpoints/schemas/keys.js';
import { linkView } from '../../ledger/read-links.js';
import {
  creditExpiry,
  creditSource,
  firstCreditFields,
  firstCreditOf,
  firstCreditView,
} from './first-credit.js';
import { cashOf } from '../../payments/fact-books.js';
import { paymentCreditedBy } from '../../payments/implied-entries.js';
import { list, operation } from './operation.js';
import type { OperationContext } from './operation.js';

const oneKey = z.strictObject({ key_id: keyId });

const creditFields = {
  paid_through: paidThrough.optional(),
  anyway: z
    .boolean()
    .default(false)
    .register(help, { says: 'credit it although no key of the account can be used' }),
  note: note.optional(),
  reference: reference.optional(),
};

/** Fields for the account that is created with a key. */
const OF_NEW_ACCOUNT = [
  'account_name',
  'account_external_id',
  'account_metadata',
  'low_balance_usd',
] as const;

export const keyOperations = {
  createKey: operation({
    method: 'post',
    path: '/admin/keys',
    summary: 'Creates a key, in a new account or in an existing one',
    right: 'change',
    input: z
      .strictObject({
        name,
        ...keyRules,
        external_id: externalId.optional(),
        metadata: metadata.optional(),
        expires_at: time.optional(),
        /** The account of the new key. If absent, an account is created for it. */
        account_id: accountId
          .optional()
          .register(help, { says: 'an existing account; default: a new one' }),
        account_name: name
          .optional()
          .register(help, { says: 'the name of the new account; default: that of the key' }),
        account_external_id: externalId
          .optional()
          .register(help, { says: 'your own id for the new account' }),
        account_metadata: metadata
          .optional()
          .register(help, { says: 'a metadata pair of the new account' }),
        low_balance_usd: newSettings.low_balance_usd,
        ...firstCreditFields,
        idempotency_key: idempotencyId.optional(),
      })
      .superRefine((input, context) => {
        if (input.account_id === undefined) return;
        for (const field of OF_NEW_ACCOUNT) {
          if (input[field] === undefined) continue;
          const message = 'is only for a new account, and account_id names an existing one';
          context.addIssue({ code: 'custom', path: [field], message });
        }
      }),
    output: schema.newKey,
    async run(input, { store, defaultLimits, lowBalance, by }) {
      const credit = firstCreditOf(input);
      const rules = rulesOf(input);
      const created = await store.create({
        creationId: operatorsId(input.idempotency_key),
        account:
          input.account_id === undefined
            ? {
                name: input.account_name ?? input.name,
                externalId: input.account_external_id,
                metadata: input.account_metadata,
                lowBalance: input.low_balance_usd ?? lowBalance,
              }
            : { id: input.account_id },
        key: {
          name: input.name,
          ...rules,
          limits: { ...defaultLimits, ...rules.limits },
          expiresAt: input.expires_at ?? null,
          externalId: input.external_id,
          metadata: input.metadata,
        },
        credit,
        by,
      });
      const { account, key } = createdOf(created, 'account_external_id');
      if (key === undefined) throw new Error('the key was not created');
      return {
        ...keyView(key),
        account: await createdAccountView(account, store),
        first_credit: firstCreditView(credit),
        replayed: created.outcome === 'replayed',
        api_key: created.outcome === 'created' ? (created.credential ?? null) : null,
        ...(created.outcome === 'replayed' ? { message: REPLAYED } : {}),
      };
    },
  }),

  listKeys: operation({
    method: 'get',
    path: '/admin/keys',
    summary: 'Keys, in the requested order',
    right: 'read',
    input: z.strictObject({
      limit: pageSize,
      order: listOrder,
      after: after.optional(),
      account_id: ofAccount,
      name: partOfName,
      external_id: withExternalId,
      metadata: metadataQuery.optional(),
      /**
       * `previous`: only keys, not revoked, with a credential that is still hashed under the
       * previous pepper.
       */
      pepper: z
        .enum(['previous'])
        .optional()
        .register(help, { says: 'only keys that need KEY_PEPPER_PREVIOUS' }),
    }),
    output: schema.listOf(schema.key),
    async run({ account_id, name: part, external_id, ...input }, { store }) {
      const { metadata: pairs, pepper, ...page } = input;
      const keys = await store.listKeys({
        ...page,
        accountId: account_id,
        name: part,
        externalId: external_id,
        metadata: pairs,
        pepper,
      });
      return list(keys.map(keyView), cursorAfter(keys, page));
    },
  }),

  showKey: operation({
    method: 'get',
    path: '/admin/keys/:key_id',
    summary: 'One key',
    right: 'read',
    input: oneKey,
    output: schema.key,
    run: async ({ key_id }, { store }) => keyView(await found(store.getKey(key_id))),
  }),

  findKey: operation({
    method: 'post',
    path: '/admin/keys/find',
    summary: 'The key of a credential',
    right: 'read',
    /** The credential is hashed at once, and neither stored nor logged. */
    input: z.strictObject({ api_key: z.string().min(1).max(500) }),
    output: schema.key,
    async run({ api_key }, { store }) {
      const key = await store.findKeyByCredential(api_key.trim());
      if (key === undefined) throw notFound('api_key', 'credential');
      return keyView(key);
    },
  }),

  updateKey: operation({
    method: 'patch',
    path: '/admin/keys/:key_id',
    summary: 'Changes a key',
    right: 'change',
    input: z.strictObject({
      key_id: keyId,
      name: name.optional(),
      ...keyRules,
      external_id: externalId
        .nullable()
        .optional()
        .register(help, { says: 'your own id for the key, or none to remove it' }),
      metadata: metadata.optional(),
      expires_at: time
        .nullable()
        .optional()
        .register(help, { says: 'such as 2026-12-31T23:59:59Z; none for no expiry' }),
    }),
    output: schema.key,
    async run(input, { store, by }) {
      const change = {
        ...rulesOf(input),
        ...(input.name === undefined ? {} : { name: input.name }),
        ...(input.external_id === undefined ? {} : { externalId: input.external_id }),
        ...(input.metadata === undefined ? {} : { metadata: input.metadata }),
        ...(input.expires_at === undefined ? {} : { expiresAt: input.expires_at }),
      };
      return keyView(
        await found(refusingTakenIds('key', () => store.updateKey(input.key_id, change, by))),
      );
    },
  }),

  rotateKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/rotate',
    summary: 'Gives a key a new credential',
    right: 'change',
    input: z.strictObject({
      key_id: keyId,
      /** How long the old credential still works. */
      grace_seconds: wholeNumber
        .min(0)
        .max(30 * 86_400)
        .default(0)
        .register(help, { says: 'seconds for which the old credential still works' }),
      idempotency_key: idempotencyId.optional(),
    }),
    output: schema.rotatedKey,
    async run({ key_id, grace_seconds, idempotency_key }, context) {
      const { key, rotation } = await rotated(
        key_id,
        { graceMs: grace_seconds * 1_000, rotationId: operatorsId(idempotency_key) },
        context,
      );
      return { ...keyView(key), ...rotation };
    },
  }),

  suspendKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/suspend',
    summary: 'Stops a key until it is resumed',
    right: 'change',
    input: oneKey,
    output: schema.key,
    run: async ({ key_id }, { store, by }) => keyView(await found(store.suspendKey(key_id, by))),
  }),

  resumeKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/resume',
    summary: 'Lifts a suspension',
    right: 'change',
    input: oneKey,
    output: schema.key,
    async run({ key_id }, { store, by }) {
      const key = await found(store.resumeKey(key_id, by));
      if (key.state === 'revoked') throw new OperationError(newRefusal('key_revoked'));
      return keyView(key);
    },
  }),

  revokeKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/revoke',
    summary: 'Stops a key for good',
    right: 'change',
    input: oneKey,
    output: schema.key,
    run: async ({ key_id }, { store, by }) => keyView(await found(store.revokeKey(key_id, by))),
  }),

  createLink: operation({
    method: 'post',
    path: '/admin/keys/:key_id/links',
    summary: 'A read-only link to the dashboard of a key',
    right: 'change',
    input: z.strictObject({ key_id: keyId, expires_in_seconds: linkSeconds }),
    output: schema.link,
    async run({ key_id, expires_in_seconds }, { store, readLinks, now, by }) {
      const key = await found(store.getKey(key_id));
      if (key.state === 'revoked') throw new OperationError(newRefusal('key_revoked'));
      const expiresAt = new Date(now() + expires_in_seconds * 1_000);
      await store.recordLink(key_id, { expiresAt, by });
      return linkView(readLinks.create(key, expiresAt), key.id, expiresAt);
    },
  }),

  topUp: operation({
    method: 'post',
    path: '/admin/keys/:key_id/top-ups',
    summary: 'Credits the account of a key, once per top_up_id',
    right: 'credit',
    input: z.strictObject({
      key_id: keyId,
      top_up_id: idempotencyId,
      amount_usd: amountUsd,
      source: creditSource,
      expires_at: creditExpiry,
      ...creditFields,
    }),
    output: schema.topUp,
    run: (input, context) => toppedUp({ keyId: input.key_id }, input, context),
  }),

  topUpAccount: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/top-ups',
    summary: 'Credits an account, once per top_up_id',
    right: 'credit',
    input: z.strictObject({
      account_id: accountId,
      top_up_id: idempotencyId,
      amount_usd: amountUsd,
      source: creditSource,
      expires_at: creditExpiry,
      ...creditFields,
    }),
    output: schema.topUp,
    run: (input, context) => toppedUp({ accountId: input.account_id }, input, context),
  }),
} as const;

const REPLAYED =
  'this key was created before; its credential cannot be shown again: rotate the key to get one';

interface TopUpInput {
  readonly top_up_id: string;
  readonly amount_usd: bigint;
  readonly source: 'paid' | 'promotional';
  readonly expires_at?: Date | undefined;
  readonly paid_through?: string | undefined;
  readonly anyway: boolean;
  readonly note?: string | undefined;
  readonly reference?: string | undefined;
}

/** A payment that an operator credits by its id brought money to the provider, like all others. */
function cashOfPayment(
  provider: Pick<PaymentProvider, 'name'> | undefined,
  { top_up_id: id, source }: TopUpInput,
): string | undefined {
  if (provider === undefined || source !== 'paid') return undefined;
  const isPayment = paymentCreditedBy(provider.name, `topup:${id}`) !== undefined;
  return isPayment ? cashOf(provider) : undefined;
}

async function toppedUp(
  to: { readonly accountId: string } | { readonly keyId: string },
  input: TopUpInput,
  { store, payments, by }: OperationContext,
) {
  const own = ownTopUpPrefix(input.top_up_id);
  if (own !== undefined) {
    const problem = `top_up_id: must not begin with "${own}", with which the gateway's own ids begin`;
    throw invalidInput(problem);
  }
  if (input.paid_through !== undefined && input.source === 'promotional') {
    throw invalidInput('paid_through: is only for credit that was paid');
  }
  const cash = cashOfPayment(payments?.provider, input);
  // What a customer has paid is credited in any case.
  const isWanted = input.anyway || cash !== undefined;
  const result = await store.topUp({
    topUpId: input.top_up_id,
    to,
    amount: input.amount_usd,
    source: input.source,
    expiresAt: input.expires_at,
    counter: counterOf(input.paid_through) ?? cash,
    withoutUsableKey: isWanted ? 'credit' : 'refuse',
    note: input.note,
    reference: input.reference,
    by,
  });
  switch (result.outcome) {
    case 'unknown':
      throw 'keyId' in to ? unknownKey() : notFound('account_id', 'account');
    case 'account_closed':
      throw accountClosed('keyId' in to ? 'key_id' : 'account_id');
    case 'no_usable_key':
      throw new OperationError(newRefusal('no_usable_key'));
    case 'conflict':
      throw await usedId('top_up_id', `topup:${input.top_up_id}`, store);
    case 'credited':
    case 'replayed':
      return {
        object: 'top_up' as const,
        top_up_id: input.top_up_id,
        account_id: result.accountId,
        key_id: 'keyId' in to ? to.keyId : null,
        amount_usd: formatUsd(input.amount_usd),
        source: input.source,
        expires_at: input.expires_at?.toISOString() ?? null,
        replayed: result.outcome === 'replayed',
        balance_usd: formatUsd(result.balance),
        /** Whether any key of the account can spend it now. */
        is_active: result.activeKeys > 0,
        active_keys: result.activeKeys,
      };
  }
}

/** The operator's account of what is paid this way; `undefined` for the usual one. */
export function counterOf(paidThroughName: string | undefined): string | undefined {
  return paidThroughName === undefined ? undefined : `cash:${paidThroughName}`;
}

/**
 * The error for an id that the ledger has with other contents.
 *
 * @param entryId - The id of the entry that would have been booked.
 */
export async function usedId(
  field: string,
  entryId: string,
  store: Pick<OperationContext['store'], 'findEntries'>,
): Promise<OperationError> {
  const [entry] = await store.findEntries([entryId]);
  return new OperationError(
    entry?.kind === 'charge'
      ? newRefusal('id_of_recorded_charge', { field, id: entryId })
      : newRefusal('id_used', { field }),
  );
}

export async function refusingTakenIds<Result>(
  of: 'account' | 'key',
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    throw error instanceof ExternalIdTakenError ? externalIdTaken('external_id', of) : error;
  }
}

/**
 * The cursor of the page after these records.
 *
 * @returns `undefined` if the page is not full, so that no other can follow
 */
export function cursorAfter(
  records: readonly Parameters<typeof listCursorOf>[1][],
  { limit, order }: { readonly limit: number; readonly order: ListOrder },
): string | undefined {
  const last = records.at(-1);
  return last === undefined || records.length < limit ? undefined : listCursorOf(order, last);
}

export async function found(key: Promise<KeyRecord | undefined>): Promise<KeyRecord> {
  const record = await key;
  if (record === undefined) throw unknownKey();
  return record;
}
