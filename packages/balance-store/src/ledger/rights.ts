/**
 * What an account or a key may do, under the names that the trail and reports of audits use for it:
 * those of the columns. Every change of a right is in the trail.
 */

import { hash } from 'node:crypto';
import { CAP_PERIODS } from '../key.js';
import type { KeyChange } from '../key.js';
import type { StoredDocument } from '../document.js';
import type { KeyCredential } from './books/transaction.js';

export type Rights = Readonly<Record<string, unknown>>;

type KeyRights = {
  readonly [Name in 'scope' | 'models' | 'expiresAt' | 'caps' | 'limits']?:
    KeyChange[Name] | undefined;
};

/** The rights that a change or a record of a key names. Others are `undefined`. */
export function rightsOfKey({ scope, models, expiresAt, limits, caps }: KeyRights): Rights {
  return {
    scope,
    models,
    expires_at: expiresAt,
    concurrency: limits?.concurrency,
    burst: limits?.burst,
    requests_per_minute: limits?.requestsPerMinute,
    ...Object.fromEntries(CAP_PERIODS.map((period) => [`cap_${period}`, caps?.[period]])),
  };
}

/**
 * Stands for a credential in the trail. It does not show the stored hash, and covers the pepper
 * that the hash was made with.
 */
export function credentialDigest({
  pepperId,
  credentialHmac,
}: Pick<KeyCredential, 'pepperId' | 'credentialHmac'>): string {
  const text = `${pepperId}:${Buffer.from(credentialHmac).toString('hex')}`;
  return hash('sha256', text, 'hex').slice(0, 32);
}

/** Stands for the contents of a document in the trail. */
export function documentDigest({
  accountId,
  version,
  data,
}: Pick<StoredDocument, 'accountId' | 'version' | 'data'>): string {
  return hash('sha256', stable([accountId, version, data]), 'hex').slice(0, 32);
}

/** The same text for equal values, whatever the order of their members. */
export function stable(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
