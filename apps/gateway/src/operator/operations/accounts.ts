/** Operations on accounts and their money. */

import { z } from 'zod';
import type { AdjustmentOutcome, ReversalOutcome } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { operatorsId } from '../../base/repeat-ids.js';
import {
  accountId,
  after,
  amountUsd,
  idempotencyId,
  externalId,
  help,
  listOrder,
  metadata,
  metadataQuery,
  month,
  NO_MAIL,
  name,
  note,
  pageSize,
  paidThrough,
  partOfName,
  reference,
  signedAmountUsd,
  withExternalId,
} from '../../endpoints/fields.js';
import { changedSettings, newSettings, settingsIn } from '../../endpoints/account-settings.js';
import { createdAccountView, createdOf } from '../../endpoints/key-outcomes.js';
import { cursorAfter } from '../../endpoints/list.js';
import {
  OperationError,
  accountClosed,
  invalidInput,
  notFound,
  refusingTakenIds,
} from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { STATEMENT_FORMATS, statementFormat } from '../../endpoints/statement/statement-formats.js';
import { readStatement } from '../../endpoints/statement/statement.js';
import { accountView, unspentView } from '../../endpoints/schemas/accounts.js';
import { paymentCreditedBy } from '../../payments/implied-entries.js';
import { cancelAutoTopUp, stopBeforeDebit } from '../../payments/stop-auto-top-up.js';
import { closeAccount, found, reopenAccount, unknownAccount } from './close-account.js';
import { firstCreditFields, firstCreditOf, firstCreditView } from './first-credit.js';
import { counterOf, usedId } from './keys.js';
import { scheduleOf } from './models.js';
import { list, operation } from './operation.js';
import type { OperationContext } from './operation.js';

const oneAccount = z.strictObject({ account_id: accountId });

export const accountOperations = {
  createAccount: operation({
    method: 'post',
    path: '/admin/accounts',
    summary: 'A new account without keys',
    right: 'change',
    input: z.strictObject({
      name,
      external_id: externalId.optional(),
      metadata: metadata.optional(),
      ...newSettings,
      ...firstCreditFields,
      idempotency_key: idempotencyId.optional(),
    }),
    output: schema.newAccount,
    async run(input, context) {
      const { store, lowBalance, by } = context;
      assertMailable(input.notice_email, context);
      // Requests of an account are refused while its prices cannot be used.
      scheduleOf(input.prices, context);
      const credit = firstCreditOf(input);
      const created = await store.create({
        creationId: operatorsId(input.idempotency_key),
        account: {
          name: input.name,
          externalId: input.external_id,
          metadata: input.metadata,
          ...settingsIn({ ...input, low_balance_usd: input.low_balance_usd ?? lowBalance }),
        },
        credit,
        by,
      });
      return {
        ...(await createdAccountView(createdOf(created, 'external_id').account, store)),
        first_credit: firstCreditView(credit),
        replayed: created.outcome === 'replayed',
      };
    },
  }),

  listAccounts: operation({
    method: 'get',
    path: '/admin/accounts',
    summary: 'Accounts, in the requested order',
    right: 'read',
    input: z.strictObject({
      limit: pageSize,
      order: listOrder,
      after: after.optional(),
      name: partOfName,
      external_id: withExternalId,
      metadata: metadataQuery.optional(),
    }),
    output: schema.listOf(schema.account),
    async run({ name: part, external_id, metadata: pairs, ...page }, { store }) {
      const accounts = await store.listAccounts({
        ...page,
        name: part,
        externalId: external_id,
        metadata: pairs,
      });
      return list(accounts.map(accountView), cursorAfter(accounts, page));
    },
  }),

  showAccount: operation({
    method: 'get',
    path: '/admin/accounts/:account_id',
    summary: 'One account, with the unspent part of each credit',
    right: 'read',
    input: oneAccount,
    output: schema.accountWithCredits,
    async run({ account_id }, { store }) {
      const account = await found(store.getAccount(account_id));
      const unspent = await store.readUnspent(account_id);
      return {
        ...accountView(account),
        unspent: unspentView(unspent ?? { lots: [], other: account.balance }),
      };
    },
  }),

  updateAccount: operation({
    method: 'patch',
    path: '/admin/accounts/:account_id',
    summary: 'Changes an account',
    right: 'change',
    input: z.strictObject({
      account_id: accountId,
      name: name.optional(),
      external_id: externalId
        .nullable()
        .optional()
        .register(help, { says: 'your own id for the account, or none to remove it' }),
      metadata: metadata.optional(),
      ...changedSettings,
    }),
    output: schema.account,
    async run(input, context) {
      const { store, by } = context;
      assertMailable(input.notice_email, context);
      scheduleOf(input.prices, context);
      const { name, external_id: externalId, metadata } = input;
      const change = { name, externalId, metadata, ...settingsIn(input) };
      return accountView(
        await found(
          refusingTakenIds('account', () => store.updateAccount(input.account_id, change, by)),
        ),
      );
    },
  }),

  adjustBalance: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/adjustments',
    summary: 'Corrects a balance by an entry, once per adjustment_id',
    right: 'change',
    input: z
      .strictObject({
        account_id: accountId,
        adjustment_id: idempotencyId,
        amount_usd: signedAmountUsd,
        reason: z.enum(['refund', 'chargeback', 'correction', 'goodwill', 'write_off']),
        paid_through: paidThrough.optional(),
        note: note.optional(),
        reference: reference.optional(),
      })
      .refine(isPaidOut, {
        path: ['paid_through'],
        error: 'is only for a refund or chargeback',
      })
      .refine(hasSignOfReason, {
        path: ['amount_usd'],
        error:
          'must be below 0 for a refund or chargeback, which was paid out elsewhere, and above 0 ' +
          'for goodwill',
      }),
    output: schema.adjustment,
    async run(input, { store, by }) {
      const { reason } = input;
      if (input.amount_usd < 0n && (reason === 'refund' || reason === 'chargeback')) {
        const entryId = `adjustment:${input.adjustment_id}`;
        await stopBeforeDebit(store, { entryId, accountId: input.account_id, reason });
      }
      const result = await store.adjust({
        adjustmentId: input.adjustment_id,
        accountId: input.account_id,
        amount: input.amount_usd,
        reason: input.reason,
        counter: counterOf(input.paid_through),
        note: input.note,
        reference: input.reference,
        by,
      });
      return {
        object: 'adjustment' as const,
        adjustment_id: input.adjustment_id,
        account_id: input.account_id,
        amount_usd: formatUsd(input.amount_usd),
        reason: input.reason,
        ...(await bookedView(result, ['adjustment_id', input.adjustment_id], store)),
      };
    },
  }),

  reverseEntry: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/reversals',
    summary: 'Undoes a credit or an adjustment exactly, once per reversal_id',
    right: 'change',
    input: z.strictObject({
      account_id: accountId,
      reversal_id: idempotencyId,
      reverses: z
        .string()
        .min(1)
        .max(500)
        .register(help, { says: 'the id of the entry, such as topup:… or adjustment:…' }),
      note: note.optional(),
      reference: reference.optional(),
    }),
    output: schema.reversal,
    async run({ account_id, reversal_id, reverses, note, reference }, { store, payments, by }) {
      const [entry] = await store.findEntries([reverses]);
      const provider = payments?.provider.name ?? 'stripe';
      const isReported = entry !== undefined && entry.kind !== 'charge' && entry.actor === provider;
      if (isReported || paymentCreditedBy(provider, reverses) !== undefined) {
        throw new OperationError(newRefusal('entry_of_payment'));
      }
      const result = await store.reverse({
        adjustmentId: reversal_id,
        accountId: account_id,
        reverses,
        note,
        reference,
        by,
      });
      if (result.outcome === 'not_reversible') {
        const why = NOT_REVERSIBLE[result.why];
        throw new OperationError(newRefusal('entry_not_reversible', { why }));
      }
      return {
        object: 'reversal' as const,
        reversal_id,
        account_id,
        reverses,
        ...(await bookedView(result, ['reversal_id', reversal_id], store)),
      };
    },
  }),

  transfer: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/transfers',
    summary: 'Moves money to another account, once per transfer_id',
    right: 'change',
    input: z
      .strictObject({
        account_id: accountId,
        to_account_id: accountId,
        transfer_id: idempotencyId,
        amount_usd: amountUsd,
        note: note.optional(),
      })
      .refine((input) => input.account_id !== input.to_account_id, {
        path: ['to_account_id'],
        error: 'must be another account',
      }),
    output: schema.transfer,
    async run(input, { store, by }) {
      const result = await store.transfer({
        transferId: input.transfer_id,
        from: input.account_id,
        to: input.to_account_id,
        amount: input.amount_usd,
        note: input.note,
        by,
      });
      switch (result.outcome) {
        case 'unknown_account':
          throw notFound(
            result.accountId === input.account_id ? 'account_id' : 'to_account_id',
            'account',
          );
        case 'account_closed':
          throw accountClosed(
            result.accountId === input.account_id ? 'account_id' : 'to_account_id',
          );
        case 'conflict':
          throw await usedId('transfer_id', `transfer:${input.transfer_id}:out`, store);
        case 'short':
          throw new OperationError(
            newRefusal('transfer_exceeds_balance', { free: formatUsd(result.free) }),
          );
        case 'transferred':
        case 'replayed':
          return {
            object: 'transfer' as const,
            transfer_id: input.transfer_id,
            account_id: input.account_id,
            to_account_id: input.to_account_id,
            amount_usd: formatUsd(input.amount_usd),
            replayed: result.outcome === 'replayed',
            balance_usd: formatUsd(result.fromBalance),
            to_balance_usd: formatUsd(result.toBalance),
          };
      }
    },
  }),

  suspendAccount: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/suspend',
    summary: 'Stops all keys of an account, also new ones, until it is resumed',
    right: 'change',
    input: oneAccount,
    output: schema.account,
    run: async ({ account_id }, { store, by }) =>
      accountView(await found(store.setAccountState(account_id, 'suspended', by))),
  }),

  resumeAccount: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/resume',
    summary: 'Resumes a suspended account; each key is again what it was',
    right: 'change',
    input: oneAccount,
    output: schema.account,
    run: async ({ account_id }, { store, by }) =>
      accountView(await found(store.setAccountState(account_id, 'active', by))),
  }),

  closeAccount,
  reopenAccount,

  eraseAccount: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/erase',
    summary: 'Erases the names, external ids, metadata, notes and mail address of an account',
    right: 'change',
    input: oneAccount,
    output: schema.account,
    async run({ account_id }, { store, by }) {
      if ((await found(store.getAccount(account_id))).state !== 'closed') {
        throw new OperationError(newRefusal('account_not_closed'));
      }
      // An order for auto top-up has the provider's id of the customer.
      await cancelAutoTopUp(store, account_id, by);
      return accountView(await found(store.eraseAccount(account_id, by)));
    },
  }),

  showStatement: operation({
    method: 'get',
    path: '/admin/accounts/:account_id/statement',
    summary: 'The statement of a month',
    right: 'read',
    input: z.strictObject({ account_id: accountId, month, format: statementFormat }),
    output: schema.statement,
    async run({ account_id, month: of }, { store, operator, booksZone }) {
      await found(store.getAccount(account_id));
      return readStatement(store, account_id, { month: of, booksZone, issuer: operator });
    },
    formats: STATEMENT_FORMATS,
  }),
} as const;

/** @throws {OperationError} Nothing was booked. */
async function bookedView(
  result: AdjustmentOutcome,
  [field, id]: readonly [string, string],
  store: OperationContext['store'],
) {
  switch (result.outcome) {
    case 'unknown_account':
      throw unknownAccount();
    case 'account_closed':
      throw accountClosed('account_id');
    case 'conflict':
      throw await usedId(field, `adjustment:${id}`, store);
    case 'adjusted':
    case 'replayed':
      return {
        replayed: result.outcome === 'replayed',
        balance_usd: formatUsd(result.balance),
        active_keys: result.activeKeys,
      };
  }
}

const NOT_REVERSIBLE: Readonly<
  Record<Extract<ReversalOutcome, { readonly outcome: 'not_reversible' }>['why'], string>
> = {
  unknown_entry: 'this account has no credit or adjustment with this id',
  kind: 'expiries, fees and transfers are not reversed',
  reversed: 'this entry was reversed before',
};

/** Only these say that money was paid back. */
function isPaidOut(input: { readonly reason: string; readonly paid_through?: unknown }): boolean {
  return (
    input.paid_through === undefined || input.reason === 'refund' || input.reason === 'chargeback'
  );
}

/**
 * An address is for the gateway's own mail. Who only has a webhook writes mail by another program,
 * which knows the account by its external id or its metadata.
 *
 * @throws {OperationError} An address is to be set, and nothing would ever be sent to it.
 */
function assertMailable(
  address: string | null | undefined,
  { sendsMail }: Pick<OperationContext, 'sendsMail'>,
): void {
  if (address == null || sendsMail) return;
  const message = `notice_email: ${NO_MAIL}: set SMTP_URL and MAIL_FROM first`;
  throw invalidInput(message);
}

/** A refund with the wrong sign would give the customer twice what was paid out. */
function hasSignOfReason(input: { readonly amount_usd: bigint; readonly reason: string }): boolean {
  switch (input.reason) {
    case 'refund':
    case 'chargeback':
      return input.amount_usd < 0n;
    case 'goodwill':
      return input.amount_usd > 0n;
    default:
      return true;
  }
}
