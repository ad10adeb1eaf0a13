/**
 * Credentials are hashed with a pepper. If the pepper were changed without giving the old one as
 * `previousPepper`, no key of the ledger would be found.
 */

import { hashCredential, pepperIdOf } from '../../credential.js';
import { PepperMismatchError } from '../../errors.js';

export interface Peppers {
  readonly pepper: string;
  /** The pepper that `pepper` replaces. Keys issued under it are still found. */
  readonly previousPepper?: string | undefined;
}

/** The hashes that a credential may be stored under. */
export interface CredentialHashes {
  readonly hash: Uint8Array;
  /** Under the previous pepper; `null` if there is none. */
  readonly oldHash: Uint8Array | null;
}

export interface HashRenewal extends CredentialHashes {
  /** The id of the pepper of `hash`. */
  readonly pepperId: string;
}

export interface PepperUse {
  readonly hasKeys: boolean;
  /** Whether any key was issued under one of the given peppers. */
  readonly hasKeysOfPeppers: boolean;
}

/** @throws {RangeError} */
export function assertPeppers({ pepper, previousPepper }: Peppers): void {
  if (pepper === '') throw new RangeError('the pepper is empty');
  if (previousPepper === '') throw new RangeError('the previous pepper is empty');
  if (previousPepper === pepper) throw new RangeError('the previous pepper is the pepper itself');
}

/** The ids of all peppers whose keys can be found. */
export function pepperIdsOf({ pepper, previousPepper }: Peppers): readonly string[] {
  return [pepper, previousPepper].filter((secret) => secret !== undefined).map(pepperIdOf);
}

export function hashesOf(
  credential: string,
  { pepper, previousPepper }: Peppers,
): CredentialHashes {
  return {
    hash: hashCredential(credential, pepper),
    oldHash: previousPepper === undefined ? null : hashCredential(credential, previousPepper),
  };
}

/** @throws {PepperMismatchError} */
export function assertPepperFits({ hasKeys, hasKeysOfPeppers }: PepperUse): void {
  if (!hasKeys || hasKeysOfPeppers) return;
  throw new PepperMismatchError(
    'all keys in this database were issued under another pepper and cannot be found with this one: ' +
      'open the store with the pepper that they were issued under',
  );
}
