/** The operation that makes a link which shows a key once. */

import { z } from 'zod';
import { newRefusal } from '../../base/errors/refusal.js';
import { help, keyId, keyLinkSeconds, NO_MAIL } from '../../endpoints/fields.js';
import { OperationError, invalidInput } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { keyLinkPath } from '../../ledger/key-links.js';
import { found } from './keys.js';
import { operation } from './operation.js';
import type { OperationContext } from './operation.js';

export const keyLinkOperations = {
  createKeyLink: operation({
    method: 'post',
    path: '/admin/keys/:key_id/key-links',
    summary:
      'A link that shows a new credential of a key, once. Until it is opened, the key keeps the one that it has',
    right: 'change',
    input: z.strictObject({
      key_id: keyId,
      expires_in_seconds: keyLinkSeconds,
      mail: z
        .boolean()
        .default(false)
        .register(help, { says: 'also send it to the member whose key it is' }),
    }),
    output: schema.keyLink,
    async run({ key_id, expires_in_seconds, mail }, context) {
      const { store, keyLinks, publicUrl, now, by } = context;
      const key = await found(store.getKey(key_id));
      if (key.state === 'revoked') throw new OperationError(newRefusal('key_revoked'));
      const address = mail ? await addressOf(key.memberId, context) : undefined;
      // A link says the time in whole seconds.
      const expiresAt = new Date(Math.floor(now() / 1_000 + expires_in_seconds) * 1_000);
      await store.recordLink(key_id, { expiresAt, isOnce: true, by });
      const link = keyLinks.create(key, expiresAt);
      const path = keyLinkPath(link);
      const url = publicUrl === undefined ? undefined : `${publicUrl}${path}`;
      const problem =
        address === undefined || url === undefined
          ? undefined
          : await context.mailKeyLink?.({ to: address, url, link, expiresAt });
      return {
        object: 'key_link' as const,
        key_id,
        link,
        path,
        url: url ?? null,
        expires_at: expiresAt.toISOString(),
        mailed_to: problem === undefined ? (address ?? null) : null,
        mail_problem: problem ?? null,
      };
    },
  }),
} as const;

/** @throws {OperationError} Nothing can be sent to the owner of the key. */
async function addressOf(
  memberId: string | null,
  { store, mailKeyLink, publicUrl }: OperationContext,
): Promise<string> {
  if (mailKeyLink === undefined) {
    throw invalidInput(`mail: ${NO_MAIL}: set SMTP_URL and MAIL_FROM first`);
  }
  if (publicUrl === undefined) {
    throw invalidInput('mail: needs PUBLIC_URL, the address that the link begins with');
  }
  const member = memberId === null ? undefined : await store.getMember(memberId);
  if (member?.email != null) return member.email;
  throw invalidInput('mail: the key belongs to no member with a mail address');
}
