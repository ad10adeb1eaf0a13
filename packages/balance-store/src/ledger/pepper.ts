/**
 * Credentials are hashed with a pepper. If the pepper were changed, no key of the ledger would be
 * found.
 */

import { PepperMismatchError } from '../errors.js';

export interface PepperUse {
  readonly hasKeys: boolean;
  /** Whether any key was issued under the given pepper. */
  readonly hasOwnKeys: boolean;
}

/** @throws {RangeError} */
export function assertPepper(pepper: string): void {
  if (pepper === '') throw new RangeError('the pepper is empty');
}

/** @throws {PepperMismatchError} */
export function assertPepperFits({ hasKeys, hasOwnKeys }: PepperUse): void {
  if (!hasKeys || hasOwnKeys) return;
  throw new PepperMismatchError(
    'all keys in this database were issued under another pepper and cannot be found with this one: ' +
      'open the store with the pepper that they were issued under',
  );
}
