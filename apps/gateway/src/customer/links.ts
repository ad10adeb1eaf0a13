/** `POST /v1/dashboard/links`: a link with which others may read the dashboard of the key. */

import { z } from 'zod';
import { MINUTE_MS } from '../base/times.js';
import { keyId, linkSeconds } from '../endpoints/fields.js';
import * as schema from '../endpoints/schemas.js';
import { readJson } from '../http/json-body.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import { linkView } from '../ledger/read-links.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { ReadAnswer } from './key-route.js';
import { needsManage, refusalOfStopped, unknownKeyOfAccount } from './scope.js';

const POLICY = { limit: 60, windowMs: MINUTE_MS } as const;

const linkInput = z.strictObject({
  /** Another key of the account, if the key of the request may manage keys. */
  key_id: keyId.optional(),
  expires_in_seconds: linkSeconds,
});

export const createLink = keyEndpoint(
  {
    method: 'post',
    path: '/v1/dashboard/links',
    id: 'createLink',
    summary: 'A link with which others may read the dashboard of a key',
    credential: 'bearer',
    body: linkInput,
    result: schema.link,
    name: 'links',
    limit: POLICY,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const stopped = await refusalOfStopped('links', key, parts);
      if (stopped !== undefined) return { refusal: stopped };
      const unreadable = await readJson(req);
      if (unreadable !== undefined) return { refusal: unreadable };
      const input = linkInput.safeParse(req.body);
      if (!input.success) return { refusal: refusalOfQuery(input.error) };
      const { key_id = key.id, expires_in_seconds } = input.data;
      if (key_id !== key.id && key.scope !== 'manage') return { refusal: needsManage('key_id') };
      const target = await parts.store.getKey(key_id);
      if (target?.accountId !== key.accountId || target.state === 'revoked') {
        return { refusal: unknownKeyOfAccount() };
      }
      const expiresAt = new Date(parts.now() + expires_in_seconds * 1_000);
      const by = holderOf(key, req);
      await parts.store.recordLink(target.id, { expiresAt, by });
      const link = parts.readLinks.create(target, expiresAt);
      return { json: linkView(link, target.id, expiresAt) };
    },
);
