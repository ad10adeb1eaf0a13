/** Operations that close an account for good, or open it again. */

import { z } from 'zod';
import { AccountClosedError } from '@gateway/balance-store';
import type { AccountRecord, ClosingRest } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { accountId, help, idempotencyId, note, paidThrough } from '../../endpoints/fields.js';
import { OperationError, accountClosed, notFound } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { accountView } from '../../endpoints/schemas/accounts.js';
import { cancelAutoTopUp } from '../../payments/stop-auto-top-up.js';
import { counterOf } from './keys.js';
import { operation } from './operation.js';
import type { OperationContext } from './operation.js';
import { reachingProvider } from './reaching-provider.js';

const reason = note.register(help, { says: 'why, for your own records' });

const closing = z.strictObject({
  account_id: accountId,
  closing_id: idempotencyId,
  reason,
  rest: z
    .enum(['refund', 'transfer', 'breakage'])
    .optional()
    .register(help, { says: 'what becomes of paid money that is left' }),
  paid_through: paidThrough.optional(),
  to_account_id: accountId
    .optional()
    .register(help, { says: 'the account that gets the rest of a transfer' }),
  write_off_debt: z
    .boolean()
    .default(false)
    .register(help, { says: 'write off what the account owes' }),
});

export const closeAccount = operation({
  method: 'post',
  path: '/admin/accounts/:account_id/close',
  summary:
    'Ends an account, once per closing_id: revokes its keys, stops allowance, auto top-up and open payments, and books its money. Given money is taken back',
  right: 'change',
  input: closing
    .refine((input) => (input.rest === 'refund') === (input.paid_through !== undefined), {
      path: ['paid_through'],
      error: 'belongs to the rest "refund", which needs it',
    })
    .refine((input) => (input.rest === 'transfer') === (input.to_account_id !== undefined), {
      path: ['to_account_id'],
      error: 'belongs to the rest "transfer", which needs it',
    })
    .refine((input) => input.account_id !== input.to_account_id, {
      path: ['to_account_id'],
      error: 'must be another account',
    }),
  output: schema.closing,
  async run(input, context) {
    const { store, by } = context;
    const { account_id, closing_id } = input;
    const result = await store.closeAccount({
      closingId: closing_id,
      accountId: account_id,
      rest: restOf(input),
      debt: input.write_off_debt ? 'write_off' : 'refuse',
      reason: input.reason,
      by,
    });
    const fieldOf = (id: string) => (id === account_id ? 'account_id' : 'to_account_id');
    switch (result.outcome) {
      case 'unknown_account':
        throw notFound(fieldOf(result.accountId), 'account');
      case 'conflict':
        throw new OperationError(newRefusal('id_used', { field: 'closing_id' }));
      case 'account_closed':
        // The process that closed it may have ended before it reached the payment provider.
        if (result.accountId === account_id) await stopPayments(account_id, context);
        throw accountClosed(fieldOf(result.accountId));
      case 'in_flight':
        throw new OperationError(newRefusal('account_in_flight', { held: formatUsd(result.held) }));
      case 'in_debt':
        throw new OperationError(newRefusal('account_in_debt', { owed: formatUsd(result.owed) }));
      case 'rest_undecided':
        throw new OperationError(
          newRefusal('account_rest_undecided', { rest: formatUsd(result.rest) }),
        );
      case 'closed':
      case 'replayed':
        // An account that was reopened since may have new orders.
        if (result.account.state === 'closed') await stopPayments(account_id, context);
        return {
          object: 'closing' as const,
          closing_id,
          rest: input.rest ?? null,
          rest_usd: formatUsd(result.rest),
          given_back_usd: formatUsd(result.givenBack),
          debt_written_off_usd: formatUsd(result.writtenOff),
          replayed: result.outcome === 'replayed',
          account: accountView(result.account),
        };
    }
  },
});

export const reopenAccount = operation({
  method: 'post',
  path: '/admin/accounts/:account_id/reopen',
  summary: 'Opens a closed account again; its keys stay revoked, and what was booked stays booked',
  right: 'change',
  input: z.strictObject({ account_id: accountId, reason }),
  output: schema.account,
  run: async ({ account_id, reason: why }, { store, by }) =>
    accountView(await found(store.reopenAccount(account_id, { reason: why, by }))),
});

/** Nothing of it is undone if the provider cannot be reached: repeating the operation goes on. */
async function stopPayments(
  id: string,
  { store, payments, by }: Pick<OperationContext, 'store' | 'payments' | 'by'>,
): Promise<void> {
  await cancelAutoTopUp(store, id, by);
  await reachingProvider(async () => payments?.endPages(id));
}

function restOf({
  rest,
  paid_through,
  to_account_id,
}: z.output<typeof closing>): ClosingRest | undefined {
  switch (rest) {
    case 'refund':
      return { as: 'refund', counter: counterOf(paid_through) ?? 'cash:manual' };
    case 'transfer':
      return { as: 'transfer', to: to_account_id ?? '' };
    case 'breakage':
      return { as: 'breakage' };
    case undefined:
      return undefined;
  }
}

export async function found(account: Promise<AccountRecord | undefined>): Promise<AccountRecord> {
  try {
    const record = await account;
    if (record === undefined) throw unknownAccount();
    return record;
  } catch (error) {
    throw error instanceof AccountClosedError ? accountClosed('account_id') : error;
  }
}

export function unknownAccount(): OperationError {
  return notFound('account_id', 'account');
}
