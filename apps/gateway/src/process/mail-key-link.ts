/**
 * Sends a link that shows a key, for operations in a gateway and in the command line, which may not
 * use `observe` itself.
 */

import type { Config } from '../config/config.js';
import { keyLinkDigest } from '../ledger/key-links.js';
import type { MailKeyLink } from '../operator/operations/operation.js';

export function keyLinkMailer({
  mail,
  publicUrl,
  customer: { operator },
}: Pick<Config, 'mail' | 'publicUrl' | 'customer'>): MailKeyLink | undefined {
  if (mail === undefined) return undefined;
  const origin = { from: mail.from, publicUrl, operator: operator?.name };
  return async ({ to, url, link, expiresAt }) => {
    // Loaded only if such a mail is sent.
    const [{ createMailClient }, { letter }] = await Promise.all([
      import('../observe/notifications/mail-client.js'),
      import('../observe/notifications/mail-message.js'),
    ]);
    const lines = [
      'A key of this gateway was made for you. This page shows it to you, once:',
      '',
      url,
      '',
      `Open it before ${expiresAt.toISOString()}. Whoever opens it first has the key, so send it to`,
      'nobody. If it says that it was opened before, ask for another one.',
    ];
    const id = `key-link-${keyLinkDigest(link)}`;
    const sent = await createMailClient(mail).send(
      to,
      letter({ id, date: new Date(), subject: 'Your API key', lines }, origin),
      new AbortController().signal,
    );
    return 'reason' in sent ? sent.reason : undefined;
  };
}
