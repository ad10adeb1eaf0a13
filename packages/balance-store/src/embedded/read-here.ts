/** Reads on the calling thread, with the store's errors. */

import { StoreUnavailableError } from '../store.js';
import { faultOf } from './sqlite/faults.js';

/** @throws {StoreUnavailableError} */
export function readHere<Result>(work: () => Result): Promise<Result> {
  return new Promise((resolve) => {
    try {
      resolve(work());
    } catch (error) {
      if (faultOf(error) !== 'unavailable') throw error;
      const reason = error instanceof Error ? error.message : String(error);
      throw new StoreUnavailableError(`the ledger's database is unavailable: ${reason}`, {
        cause: error,
      });
    }
  });
}
