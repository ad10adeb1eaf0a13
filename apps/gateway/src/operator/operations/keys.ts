/** Operations on keys. */

import { z } from 'zod';
import { UnknownMemberError } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
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
  ofMember,
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
  unknownMember,
} from '../../endpoints/key-outcomes.js';
import { cursorAfter } from '../../endpoints/list.js';
import {
  accountClosed,
  invalidInput,
  notFound,
  OperationError,
  refusingTakenIds,
} from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { keyView } from '../../endpoints/schemas/keys.js';
import { withUse } from '../../ledger/used-by-keys.js';
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
        if (input.account_id === undefined) {
          if (input.member_id == null) return;
          const message = 'needs account_id, because a new account has no members';
          context.addIssue({ code: 'custom', path: ['member_id'], message });
          return;
        }
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
      if (created.outcome === 'unknown_member') throw await unknownMember(input, { store });
      const { account, key } = createdOf(created, 'account_external_id');
      if (key === undefined) throw new Error('the key was not created');
      return {
        ...keyView(await withUse(key, store)),
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
      member_id: ofMember,
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
    async run({ account_id, member_id, name: part, external_id, ...input }, { store }) {
      const { metadata: pairs, pepper, ...page } = input;
      const keys = await store.listKeys({
        ...page,
        accountId: account_id,
        memberId: member_id,
        name: part,
        externalId: external_id,
        metadata: pairs,
        pepper,
      });
      const shown = await Promise.all(keys.map((key) => withUse(key, store)));
      return list(shown.map(keyView), cursorAfter(keys, page));
    },
  }),

  showKey: operation({
    method: 'get',
    path: '/admin/keys/:key_id',
    summary: 'One key',
    right: 'read',
    input: oneKey,
    output: schema.key,
    run: ({ key_id }, { store }) => viewOf(found(store.getKey(key_id)), store),
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
      return keyView(await withUse(key, store));
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
      const changed = refusingTakenIds('key', () => store.updateKey(input.key_id, change, by));
      try {
        return await viewOf(found(changed), store);
      } catch (error) {
        if (!(error instanceof UnknownMemberError)) throw error;
        const { accountId: account_id } = await found(store.getKey(input.key_id));
        throw await unknownMember({ ...input, account_id }, { store });
      }
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
      return { ...keyView(await withUse(key, context.store)), ...rotation };
    },
  }),

  suspendKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/suspend',
    summary: 'Stops a key until it is resumed',
    right: 'change',
    input: oneKey,
    output: schema.key,
    run: ({ key_id }, { store, by }) => viewOf(found(store.suspendKey(key_id, by)), store),
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
      return keyView(await withUse(key, store));
    },
  }),

  revokeKey: operation({
    method: 'post',
    path: '/admin/keys/:key_id/revoke',
    summary: 'Stops a key for good',
    right: 'change',
    input: oneKey,
    output: schema.key,
    run: ({ key_id }, { store, by }) => viewOf(found(store.revokeKey(key_id, by)), store),
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

async function viewOf(key: Promise<KeyRecord>, store: Parameters<typeof withUse>[1]) {
  return keyView(await withUse(await key, store));
}

export async function found(key: Promise<KeyRecord | undefined>): Promise<KeyRecord> {
  const record = await key;
  if (record === undefined) throw unknownKey();
  return record;
}
