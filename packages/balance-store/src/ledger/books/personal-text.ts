/**
 * Texts that may be about a person. A sealed row contains only the digest of such a text and of a
 * random salt. Once the text and the salt are erased, the text cannot be recovered from the digest.
 */

import { hash, randomBytes } from 'node:crypto';
import type { LedgerTransaction, PersonalText } from './transaction.js';

/** @returns the digest to record, or `null` for no text */
export async function recordPersonalText(
  transaction: LedgerTransaction,
  accountId: string | null,
  text: string | undefined,
): Promise<string | null> {
  if (text === undefined) return null;
  const row = personalText(accountId, text);
  await transaction.insertPersonalTexts([row]);
  return row.id;
}

/** The row to insert. Its id is the digest to record. */
export function personalText(accountId: string | null, text: string): PersonalText {
  const salt = randomBytes(16).toString('hex');
  return { id: digestOf(salt, text), accountId, salt, text };
}

/** In hexadecimal. */
export function digestOf(salt: string, text: string): string {
  return hash('sha256', `${salt}\n${text}`, 'hex');
}
