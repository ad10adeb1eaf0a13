/** The common error for a database that cannot be reached or cannot do its work. */

import { types } from 'node:util';
import { StoreUnavailableError } from '../../store.js';

/**
 * Runs database work. Rethrows a fault of the database as {@link StoreUnavailableError} and all
 * other errors unchanged.
 *
 * @param isUnavailable - Whether an error is a fault of the database, not a mistake in the
 * statement.
 */
export async function reachingDatabase<Result>(
  work: () => Result | Promise<Result>,
  isUnavailable: (error: unknown) => boolean,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailableError || !isUnavailable(error)) throw error;
    throw unavailable(error);
  }
}

/** @param reason - The error of the database, or its text. */
export function unavailable(reason: unknown): StoreUnavailableError {
  const text = types.isNativeError(reason) ? reason.message : String(reason);
  return new StoreUnavailableError(`the ledger's database is unavailable: ${text}`, {
    ...(typeof reason === 'string' ? {} : { cause: reason }),
  });
}
