/** Prisma's errors as the store's. */

import { Prisma } from '../generated/client.js';
import { isUnavailableState, reachingDatabase } from './query.js';

/** Runs one Prisma operation; its faults surface as `StoreUnavailableError`. */
export function throughPrisma<Result>(work: () => Promise<Result>): Promise<Result> {
  return reachingDatabase(work, isDatabaseFault);
}

/**
 * Codes by which Prisma reports that the database refused the contents of a query, see its error
 * reference. All other errors but those of validation have to do with reaching the database.
 */
const REFUSALS = /^P20(0[0-9]|1[0-9]|2[0-3]|25|33|39)$/;

function isDatabaseFault(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientValidationError) return false;
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return true;
  // Whatever Prisma takes it for, the database's own code tells best.
  const state = originalCodeOf(error.meta);
  return state === undefined ? !REFUSALS.test(error.code) : isUnavailableState(state);
}

/** PostgreSQL's code of the error, which the driver adapter passes on. */
function originalCodeOf(meta: unknown): string | undefined {
  let found = meta;
  for (const member of ['driverAdapterError', 'cause', 'originalCode']) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[member];
  }
  return typeof found === 'string' ? found : undefined;
}
