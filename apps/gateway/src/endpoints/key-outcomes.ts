/** What operators and holders get when a key was created or rotated, or could not be. */

import type { Actor, BalanceStore, CreatedAccount, CreationOutcome } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import { OperationError, accountClosed, externalIdTaken, notFound } from './operation-error.js';
import { accountView } from './schemas/accounts.js';

/**
 * @returns the key, and what its rotation adds to its view
 * @throws {OperationError}
 */
export async function rotated(
  id: string,
  options: { readonly graceMs: number; readonly rotationId: string | undefined },
  { store, by }: { readonly store: Pick<BalanceStore, 'rotateKey'>; readonly by: Actor },
) {
  const result = await store.rotateKey(id, { ...options, by });
  switch (result.outcome) {
    case 'unknown_key':
      throw unknownKey();
    case 'revoked':
      throw new OperationError(newRefusal('key_revoked'));
    case 'conflict':
      throw new OperationError(newRefusal('id_used', { field: 'idempotency_key' }));
    case 'rotated':
      return { key: result.record, rotation: { replayed: false, api_key: result.credential } };
    case 'replayed':
      return { key: result.record, rotation: { replayed: true, api_key: null } };
  }
}

/**
 * @param accountField - The field that held the external id for the new account. The error names it
 * if that id is taken.
 * @throws {OperationError} unless this request or an earlier one created the account or key
 */
export function createdOf(
  created: CreationOutcome,
  accountField: 'account_external_id' | 'external_id',
): Extract<CreationOutcome, { readonly account: unknown }> {
  switch (created.outcome) {
    case 'created':
    case 'replayed':
      return created;
    case 'conflict':
      throw new OperationError(newRefusal('id_used', { field: 'idempotency_key' }));
    case 'unknown_account':
      throw notFound('account_id', 'account');
    case 'account_closed':
      throw accountClosed('account_id');
    case 'unknown_member':
      throw notFound('member_id', 'member');
    case 'too_many_keys':
      throw new OperationError(newRefusal('too_many_keys'));
    case 'external_id_taken':
      throw created.of === 'account'
        ? externalIdTaken(accountField, 'account')
        : externalIdTaken('external_id', 'key');
  }
}

/** Reads the account of a creation again, because a creation does not count its usable keys. */
export async function createdAccountView(
  { id }: CreatedAccount,
  store: Pick<BalanceStore, 'getAccount'>,
) {
  const account = await store.getAccount(id);
  if (account === undefined) throw new Error(`account ${id} was not found after its creation`);
  return accountView(account);
}

/** Why a key can neither belong to the member nor name members in the group that were given. */
export async function unknownMember(
  given: {
    readonly account_id?: string | undefined;
    readonly member_id?: string | null | undefined;
  },
  { store }: { readonly store: Pick<BalanceStore, 'getMember'> },
): Promise<OperationError> {
  const { account_id: accountId, member_id: memberId } = given;
  const member = memberId == null ? undefined : await store.getMember(memberId);
  if (memberId != null && member?.accountId !== accountId) return notFound('member_id', 'member');
  return member?.state === 'ended'
    ? new OperationError(newRefusal('owner_ended'))
    : notFound('names_members.group_id', 'group');
}

export function unknownKey() {
  return notFound('key_id', 'key');
}
