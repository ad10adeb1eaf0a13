/** Keys, links to them and sessions. */

import { z } from 'zod';
import { account } from './accounts.js';
import { count, firstCredit, orNull, text, time, usd } from './basics.js';

const capUse = z.strictObject({ cap_usd: orNull(usd), used_usd: usd });

const keyMembers = {
  object: z.literal('api_key'),
  id: text,
  account_id: text,
  name: text,
  metadata: z.record(text, text),
  hint: text.meta({ description: 'the first and last characters of its credential' }),
  state: z.enum(['active', 'suspended', 'revoked']),
  standing: z.enum(['active', 'exhausted', 'suspended', 'revoked', 'expired']).meta({
    description:
      'whether the key works, and if not, why: a suspended account and a used-up balance count too',
  }),
  is_active: z.boolean().meta({
    description: 'whether its standing is active; a cap that is used up does not change this',
  }),
  scope: z.enum(['use', 'manage']),
  models: orNull(z.array(text)).meta({ description: 'null: all' }),
  balance_usd: usd,
  spent_usd: usd,
  credited_usd: usd,
  written_off_usd: usd,
  limits: z.strictObject({ concurrency: count, burst: count, requests_per_minute: count }),
  caps: z.strictObject({ day: capUse, week: capUse, month: capUse, total: capUse }),
  expires_at: orNull(time),
  previous_credential_until: orNull(time),
  created_at: time,
  last_charged_at: orNull(time),
};

/** A key as its holder sees it: without the operator's own id for it. */
export const holderKey = z
  .strictObject({
    ...keyMembers,
    operator_bounds: orNull(
      z.strictObject({
        suspended: z.boolean().meta({ description: 'only the operator can resume the key' }),
        cap_day_usd: orNull(usd),
        cap_week_usd: orNull(usd),
        cap_month_usd: orNull(usd),
        cap_total_usd: orNull(usd),
        concurrency: orNull(count),
        burst: orNull(count),
        requests_per_minute: orNull(count),
        expires_at: orNull(time),
        models: orNull(z.array(text)),
      }),
    ).meta({
      description:
        'what the operator set: keys with the scope manage may make it stricter, but not looser',
    }),
  })
  .meta({ id: 'HolderKey' });

export const newHolderKey = holderKey
  .extend({ api_key: orNull(text) })
  .meta({ id: 'NewHolderKey', description: 'api_key: shown only once' });

export const key = z.strictObject({ ...keyMembers, external_id: orNull(text) }).meta({ id: 'Key' });

const rotation = {
  members: { replayed: z.boolean(), api_key: orNull(text) },
  description: 'api_key: null if this rotation was done before',
};

export const rotatedKey = key
  .extend(rotation.members)
  .meta({ id: 'RotatedKey', description: rotation.description });

export const rotatedHolderKey = holderKey
  .extend(rotation.members)
  .meta({ id: 'RotatedHolderKey', description: rotation.description });

export const newKey = key
  .extend({
    account,
    first_credit: orNull(firstCredit),
    replayed: z.boolean(),
    api_key: orNull(text),
    message: text.exactOptional(),
  })
  .meta({ id: 'NewKey' });

export const link = z
  .strictObject({
    object: z.literal('link'),
    key_id: text,
    link: text,
    path: text.meta({ description: 'below the address that clients use' }),
    expires_at: time,
  })
  .meta({ id: 'Link' });

export const pageSession = z
  .strictObject({
    object: z.literal('page_session'),
    key_id: text,
    reads_only: z.boolean().meta({ description: 'whether it began with a read-only link' }),
  })
  .meta({ id: 'PageSession' });

export const pageSessionEnd = z
  .strictObject({ object: z.literal('page_session'), deleted: z.literal(true) })
  .meta({ id: 'PageSessionEnd' });
