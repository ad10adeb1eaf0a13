/** Translates Prisma's errors into the store's. */

import { Prisma } from '../generated/client.js';
import { isUnavailableState, reachingDatabase } from './query.js';

/** Runs one Prisma operation. Rethrows faults of the database as `StoreUnavailableError`. */
export function throughPrisma<Result>(work: () => Promise<Result>): Promise<Result> {
  return reachingDatabase(work, isDatabaseFault);
}

/**
 * Prisma's codes for a query whose contents the database refused, see Prisma's error reference. An
 * error without PostgreSQL's own code counts as an unavailable database, unless it has one of these
 * codes or is an error of validation.
 */
const REFUSALS = /^P20(0[0-9]|1[0-9]|2[0-3]|25|33|39)$/;

function isDatabaseFault(error: unknown): boolean {
  if (error instanceof Prisma.PrismaClientValidationError) return false;
  if (!(error instanceof Prisma.PrismaClientKnownRequestError)) return true;
  // PostgreSQL's own code is more reliable than Prisma's.
  const state = originalCodeOf(error.meta);
  return state === undefined ? !REFUSALS.test(error.code) : isUnavailableState(state);
}

/** PostgreSQL's error code (SQLSTATE), which the driver adapter passes on. */
function originalCodeOf(meta: unknown): string | undefined {
  let found = meta;
  for (const member of ['driverAdapterError', 'cause', 'originalCode']) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[member];
  }
  return typeof found === 'string' ? found : undefined;
}
