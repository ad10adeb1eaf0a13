/** The errors of operations: refusals that the command line prints too. */

import { ExternalIdTakenError } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';

/** An operation was refused, or failed for a known reason. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
  readonly refusal: Refusal;
  readonly status: number;
  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
    this.status = refusal.status;
  }
}

/** What was typed cannot be used, whatever the ledger has: nothing was asked. */
export class WrongUsageError extends OperationError {
  constructor(problem: string) {
    super(newRefusal('invalid_request', { problem }));
  }
}

/** @param problem - Begins with the field or variable that cannot be used. */
export function invalidInput(problem: string): OperationError {
  return new OperationError(newRefusal('invalid_request', { problem }));
}

export function notFound(field: string, what: string): OperationError {
  return new OperationError(newRefusal('not_found', { field, what }));
}

/** @param field - The one that names the account. */
export function accountClosed(field: string): OperationError {
  return new OperationError(newRefusal('account_closed', { field }));
}

/** What can have an id of the operator's own. */
export type Owner = 'account' | 'key' | 'group' | 'member';

export function externalIdTaken(field: string, owner: Owner): OperationError {
  return new OperationError(newRefusal('external_id_taken', { field, owner }));
}

/** @throws {OperationError} The id of the operator's own belongs to another one. */
export async function refusingTakenIds<Result>(
  of: Owner,
  change: () => Promise<Result>,
): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    throw error instanceof ExternalIdTakenError ? externalIdTaken('external_id', of) : error;
  }
}
