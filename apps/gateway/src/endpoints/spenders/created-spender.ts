/** What a creation of a group, a member, a budget or a raise says when nothing was created. */

import type { SpenderOutcome } from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import { OperationError, accountClosed, externalIdTaken, notFound } from '../operation-error.js';

interface Described {
  /** Of whom an external id is. */
  readonly owner?: 'group' | 'member';
  /** The field that names a group. */
  readonly groupField: string;
  /** What `subject` names. */
  readonly subject?: string;
  /** How many of them an account can have. */
  readonly most: number;
  readonly what: string;
}

/**
 * @returns the record, and whether an earlier request created it
 * @throws {OperationError} unless this request or an earlier one created it
 */
export function createdBy<Record>(
  result: SpenderOutcome<Record>,
  { owner = 'member', groupField, subject = 'subject', most, what }: Described,
): { readonly record: Record; readonly replayed: boolean } {
  switch (result.outcome) {
    case 'created':
    case 'replayed':
      return { record: result.record, replayed: result.outcome === 'replayed' };
    case 'conflict':
      throw new OperationError(newRefusal('id_used', { field: 'idempotency_key' }));
    case 'unknown_account':
      throw notFound('account_id', 'account');
    case 'account_closed':
      throw accountClosed('account_id');
    case 'unknown_group':
      throw notFound(groupField, 'group');
    case 'unknown_subject':
      throw notFound('subject', subject);
    case 'unfit_next':
      throw new OperationError(newRefusal('unfit_reserve'));
    case 'external_id_taken':
      throw externalIdTaken('external_id', owner);
    case 'too_many':
      throw new OperationError(newRefusal('account_full', { most, what }));
  }
}
