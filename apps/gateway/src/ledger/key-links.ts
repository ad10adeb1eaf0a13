/**
 * Links that show a key once. No credential waits to be shown: opening the link gives the key a new
 * one. Such a link is stored nowhere either. It is signed, and ends with the credential that the
 * key had when it was made, so by being opened. When it is opened, its digest is the id of the
 * rotation, which the ledger admits once, however many people open it at the same moment.
 */

import { createHash } from 'node:crypto';
import { CUSTOMER_PAGE } from '../http/pages/addresses.js';
import { createKeyTokens } from './key-tokens.js';
import type { KeyTokens } from './key-tokens.js';
import type { Peppers } from './open-store.js';

export function createKeyLinks(peppers: Peppers): KeyTokens {
  return createKeyTokens(
    { prefix: 'gk_', purpose: 'gateway links that show a key once, version 1' },
    peppers,
  );
}

/** The path below the address that clients use. Browsers never send the part after # to servers. */
export function keyLinkPath(link: string): string {
  return `${CUSTOMER_PAGE}/#key=${link}`;
}

/** What the ledger knows of a link that was opened. */
export function keyLinkDigest(link: string): string {
  return createHash('sha256').update(link).digest('base64url');
}
