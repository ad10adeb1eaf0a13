/** Tries the mail server for `farthing check-config`, which may not use `observe` itself. */

import type { Config } from '../config/config.js';
import { createMailClient } from '../observe/notifications/mail-client.js';

/**
 * Logs in, and sends nothing.
 *
 * @returns why no mail can be sent; `undefined` if it can
 */
export function tryMailServer(mail: NonNullable<Config['mail']>): Promise<string | undefined> {
  return createMailClient(mail).verify();
}
