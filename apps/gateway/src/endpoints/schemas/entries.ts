/** Entries of the ledger, as operators and holders see them. */

import { z } from 'zod';
import { costMembers, count, orNull, rates, text, time, tokens, usd } from './basics.js';

const pricing = z
  .strictObject({
    terms: z.record(text, text).meta({
      description:
        'the circumstances that decided the rates: above_prompt_tokens, speed, service_tier, ' +
        'inference_geo',
    }),
    fees: z.array(z.strictObject({ what: text, units: count, unit_usd: usd, amount_usd: usd })),
  })
  .meta({ id: 'Pricing', description: 'absent if the charge is tokens at the usual rates' });

const chargeDetails = {
  written_off_usd: usd,
  model: text,
  endpoint: text,
  streamed: z.boolean(),
  upstream_id: orNull(text),
  usage: tokens,
  rates,
  pricing: pricing.exactOptional(),
  delivered: orNull(
    z.strictObject({
      bytes: count,
      of_bytes: count,
      output_tokens: count.meta({ description: 'estimated by the share of the bytes' }),
    }),
  ).meta({
    description:
      'what was sent to a client that left before the end; null if it is not known to have left',
  }),
};

const bookingDetails = {
  kind: z.enum(['top_up', 'adjustment', 'expiry']),
  source: orNull(z.enum(['paid', 'promotional'])),
  reason: orNull(
    z.enum(['refund', 'chargeback', 'correction', 'goodwill', 'write_off', 'transfer']),
  ),
  reference: orNull(text),
  expires_at: orNull(time),
};

const entryMembers = {
  object: z.literal('ledger_entry'),
  id: text,
  account_id: text,
  seq: text,
  amount_usd: usd,
  balance_after_usd: usd,
  created_at: time,
};

export const chargeEntry = z
  .strictObject({
    ...entryMembers,
    kind: z.literal('charge'),
    key_id: text,
    ...chargeDetails,
    ...costMembers,
    upstream_account: orNull(text),
    over_cap_usd: usd,
    remarks: orNull(text),
  })
  .meta({ id: 'ChargeEntry' });

export const bookingEntry = z
  .strictObject({ ...entryMembers, ...bookingDetails, actor: text, note: orNull(text) })
  .meta({ id: 'BookingEntry' });

export const entry = z.union([chargeEntry, bookingEntry]);

export const usage = z
  .strictObject({
    object: z.literal('usage'),
    kind: z.literal('charge'),
    request_id: text,
    key_id: text,
    created_at: time,
    charge_usd: usd,
    balance_after_usd: usd,
    ...chargeDetails,
  })
  .meta({ id: 'Usage' });

export const credit = z
  .strictObject({
    object: z.literal('credit'),
    id: text,
    created_at: time,
    amount_usd: usd,
    balance_after_usd: usd,
    ...bookingDetails,
  })
  .meta({ id: 'Credit' });

export const holderEntry = z.union([usage, credit]);

/** An entry as its row of CSV, in the order of its columns. Members that it lacks are empty. */
export const entryRow = z
  .strictObject({
    kind: text,
    id: text,
    created_at: time,
    model: text,
    endpoint: text,
    streamed: z.boolean(),
    ...tokens.shape,
    rate_input: usd,
    rate_output: usd,
    rate_cache_read: usd,
    rate_cache_write_5m: usd,
    rate_cache_write_1h: usd,
    amount_usd: usd,
    written_off_usd: usd,
    balance_after_usd: usd,
    source: bookingDetails.source,
    reason: bookingDetails.reason,
    reference: bookingDetails.reference,
    expires_at: bookingDetails.expires_at,
    delivered_output_tokens: count,
    key_id: text,
    /** These two columns are left out of files in which they would be empty. */
    terms: text,
    fees_usd: usd,
  })
  .partial();
