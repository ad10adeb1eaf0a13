/** The errors of operations, with the status and the type that a client gets. */

/** An operation was refused, or failed for a known reason. */
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

/** @param field - Names the field or variable that is in conflict. */
export function conflict(field: string, message: string): OperationError {
  return new OperationError(409, 'conflict_error', `${field}: ${message}`);
}

export function notFound(field: string, what: string): OperationError {
  return new OperationError(404, 'not_found_error', `${field}: there is no such ${what}`);
}

export function externalIdTaken(field: string, owner: 'account' | 'key'): OperationError {
  return conflict(field, `already belongs to another ${owner}`);
}
