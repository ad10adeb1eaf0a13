/**
 * Sessions of the customer's page: the value of a cookie that a browser gets for a key, and sends
 * with the page's own requests in place of the key.
 */

import { createKeyTokens } from './key-tokens.js';
import type { KeyTokens } from './key-tokens.js';
import type { Peppers } from './open-store.js';

export function createPageSessions(peppers: Peppers): KeyTokens {
  return createKeyTokens(
    { prefix: 'gs_', purpose: 'gateway sessions of the customer page, version 1' },
    peppers,
  );
}
