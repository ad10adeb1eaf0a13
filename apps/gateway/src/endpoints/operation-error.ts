/** The errors of operations: refusals that the command line prints too. */

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

export function externalIdTaken(field: string, owner: 'account' | 'key'): OperationError {
  return new OperationError(newRefusal('external_id_taken', { field, owner }));
}
