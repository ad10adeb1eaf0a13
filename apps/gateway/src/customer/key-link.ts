/** `POST /v1/dashboard/key-link`: shows the key of a link, once. */

import { keyLinksId } from '../base/repeat-ids.js';
import { MINUTE_MS } from '../base/times.js';
import * as schema from '../endpoints/schemas.js';
import { keyLinkDigest } from '../ledger/key-links.js';
import { ENDED_KEY_LINK, OPENED_KEY_LINK } from './authenticate-key-link.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';

export const openKeyLink = keyEndpoint(
  {
    // Not GET: programs that check mail for dangerous links open each address that they find.
    method: 'post',
    path: '/v1/dashboard/key-link',
    id: 'openKeyLink',
    summary: 'Gives the key of a link a new credential, and shows it, once',
    credential: 'bearer',
    takesKeyLink: true,
    result: schema.openedKeyLink,
    name: 'key_link',
    // As signing in is.
    limit: { limit: 60, windowMs: MINUTE_MS },
  },
  ({ store }) =>
    async (key, req): Promise<ReadAnswer> => {
      const link = (req.headers.authorization ?? '').replace(/^\S+ +/, '');
      const rotationId = keyLinksId(keyLinkDigest(link));
      const by = holderOf(key, req);
      const result = await store.rotateKey(key.id, { graceMs: 0, rotationId, by });
      switch (result.outcome) {
        case 'rotated': {
          const { id: key_id, name } = result.record;
          const api_key = result.credential;
          return { json: { object: 'opened_key_link' as const, key_id, name, api_key } };
        }
        case 'replayed':
        case 'conflict':
          return { refusal: OPENED_KEY_LINK };
        case 'unknown_key':
        case 'revoked':
          return { refusal: ENDED_KEY_LINK };
      }
    },
);
