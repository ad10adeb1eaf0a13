/**
 * What a key may do, under the names that the trail and reports of audits use for it: those of the
 * columns. Every change of a right is in the trail.
 */

import { hash } from 'node:crypto';
import type { KeyChange } from '../../key.js';
import type { StoredDocument } from '../../document.js';
import { columnsOf } from '../tables/tables.js';
import type { Row } from '../tables/tables.js';

export type Rights = Readonly<Record<string, unknown>>;

interface KeyRights {
  readonly limits?: KeyChange['limits'] | undefined;
  readonly caps?: KeyChange['caps'] | undefined;
}

/** The rights that a change or a record of a key names. Others are `undefined`. */
export function rightsOfKey<Named extends KeyRights>({ limits, caps, ...others }: Named): Rights {
  const values: Rights = { ...others, ...limits };
  const rights = Object.entries(columnsOf('ApiKey'))
    .filter(([member, { isRight }]) => isRight && member in values)
    .map(([member, { name }]) => [name, values[member]] as const);
  // Rows of their budgets are what an audit compares; these are for people to read.
  const ofCaps = Object.entries(caps ?? {}).map(([period, cap]) => [`cap_${period}`, cap] as const);
  return Object.fromEntries([...rights, ...ofCaps]);
}

/**
 * Stands for a credential in the trail. It does not show the stored hash, and covers the pepper
 * that the hash was made with.
 */
export function credentialDigest({
  pepperId,
  credentialHmac,
}: Pick<Row<'ApiKey'>, 'pepperId' | 'credentialHmac'>): string {
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
