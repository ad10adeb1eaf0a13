/**
 * Read-only links: a text that is accepted in place of a key, but only for reading the dashboard. A
 * link never shows more than the key itself may see, and it cannot spend.
 */

import { CUSTOMER_PAGE } from '../http/pages/addresses.js';
import { createKeyTokens } from './key-tokens.js';
import type { KeyTokens } from './key-tokens.js';
import type { Peppers } from './open-store.js';

const PREFIX = 'gl_';

/** Whether a credential has the form of a link, valid or not. */
export function isReadLink(credential: string): boolean {
  return credential.startsWith(PREFIX);
}

export function createReadLinks(peppers: Peppers): KeyTokens {
  return createKeyTokens(
    { prefix: PREFIX, purpose: 'gateway links for reading, version 1' },
    peppers,
  );
}

/** @param link - A link that was just made for this key. */
export function linkView(link: string, keyId: string, expiresAt: Date) {
  return {
    object: 'link' as const,
    key_id: keyId,
    link,
    /**
     * The path below the address that clients use. Browsers never send the part after # to servers.
     */
    path: `${CUSTOMER_PAGE}/#link=${link}`,
    expires_at: new Date(Math.floor(expiresAt.getTime() / 1000) * 1000).toISOString(),
  };
}
