/** Reads on the calling thread, and throws the same errors as the store. */

import { reachingDatabase } from '../ledger/base/reaching-database.js';
import { isUnavailable } from './sqlite/faults.js';

/** @throws {StoreUnavailableError} */
export function readHere<Result>(work: () => Result): Promise<Result> {
  return reachingDatabase(work, isUnavailable);
}
