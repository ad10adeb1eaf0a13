/** What operators do with the ledger, and find in it. */

import { z } from 'zod';
import { EVENT_TYPES } from '@gateway/balance-store';
import { account } from './accounts.js';
import { entry } from './entries.js';
import { key } from './keys.js';
import { count, orNull, text, time, tokenLine, usd } from './basics.js';

export const topUp = z
  .strictObject({
    object: z.literal('top_up'),
    top_up_id: text,
    account_id: text,
    key_id: orNull(text),
    amount_usd: usd,
    source: z.enum(['paid', 'promotional']),
    expires_at: orNull(time),
    replayed: z.boolean(),
    balance_usd: usd,
    is_active: z.boolean(),
    active_keys: count,
  })
  .meta({ id: 'TopUp' });

export const adjustment = z
  .strictObject({
    object: z.literal('adjustment'),
    adjustment_id: text,
    account_id: text,
    amount_usd: usd,
    reason: z.enum(['refund', 'chargeback', 'correction', 'goodwill', 'write_off']),
    replayed: z.boolean(),
    balance_usd: usd,
    active_keys: count,
  })
  .meta({ id: 'Adjustment' });

export const transfer = z
  .strictObject({
    object: z.literal('transfer'),
    transfer_id: text,
    account_id: text,
    to_account_id: text,
    amount_usd: usd,
    replayed: z.boolean(),
    balance_usd: usd,
    to_balance_usd: usd,
  })
  .meta({ id: 'Transfer' });

export const audit = z
  .strictObject({
    object: z.literal('audit'),
    is_sound: z.boolean(),
    accounts: count,
    keys: count,
    entries: count,
    archived: count,
    credited_usd: usd,
    adjusted_usd: usd,
    expired_usd: usd,
    charged_usd: usd,
    written_off_usd: usd,
    balances_usd: usd,
    gap_usd: usd,
    sealed: count,
    trail: count,
    sealed_trail: count,
    head: orNull(text),
    orphaned_holds: count,
    quarantined: count,
    conflicts: count,
    differences: z.array(
      z.strictObject({
        check: z.enum([
          ...(['amount', 'sequence', 'running_balance', 'balance', 'account_totals'] as const),
          ...(['key_totals', 'total', 'expiry', 'credit_left', 'usage', 'archive'] as const),
          ...(['cap_window', 'rights', 'seal', 'block'] as const),
        ]),
        account_id: orNull(text),
        key_id: orNull(text),
        entry_id: orNull(text),
        expected: text,
        found: text,
      }),
    ),
  })
  .meta({ id: 'Audit' });

export const auditJob = z
  .strictObject({
    object: z.literal('audit_job'),
    id: text,
    state: z.enum(['running', 'done', 'failed']),
    started_at: time,
    finished_at: orNull(time),
    entries: count,
    expected_entries: count,
    report: orNull(audit),
    reason: orNull(text),
  })
  .meta({ id: 'AuditJob' });

export const hold = z
  .strictObject({
    object: z.literal('hold'),
    request_id: text,
    account_id: text,
    key_id: text,
    amount_usd: usd,
    created_at: time,
    orphaned_at: orNull(time),
  })
  .meta({ id: 'Hold' });

export const event = z
  .strictObject({
    object: z.literal('event'),
    seq: text,
    id: text,
    type: z.enum(EVENT_TYPES),
    account_id: orNull(text),
    key_id: orNull(text),
    data: z.record(text, orNull(text)),
    created_at: time,
    attempts: count,
    delivered_at: orNull(time),
    last_error: orNull(text),
    mail: orNull(z.enum(['pending', 'delivered', 'undelivered'])).meta({
      description: 'null: not sent by mail',
    }),
    mail_error: orNull(text),
  })
  .meta({ id: 'Event' });

export const trailEntry = z
  .strictObject({
    object: z.literal('trail_entry'),
    seq: text,
    created_at: time,
    actor: text,
    address: orNull(text),
    action: text,
    account_id: orNull(text),
    account_name: orNull(text).exactOptional(),
    key_id: orNull(text),
    key_name: orNull(text).exactOptional(),
    details: z.record(text, z.unknown()),
    personal: z.union([z.record(text, z.unknown()), text, z.null()]),
  })
  .meta({ id: 'TrailEntry' });

export const request = z
  .strictObject({
    object: z.literal('request'),
    request_id: text,
    state: z.enum(['charged', 'in_flight', 'orphaned']),
    entry: orNull(entry),
    lines: z.array(tokenLine),
    list_price_usd: orNull(usd),
    hold: orNull(hold),
    key,
    account: orNull(account),
  })
  .meta({ id: 'Request' });

export const witnessComparison = z
  .strictObject({
    object: z.literal('witness_comparison'),
    compared: count,
    archived_until: orNull(time),
    differences: z.array(z.strictObject({ request_id: text, expected: text, found: text })),
  })
  .meta({ id: 'WitnessComparison' });

export const recharge = z
  .strictObject({
    object: z.literal('recharge'),
    booked: count,
    charged_usd: usd,
    already_charged: count,
    refused: z.array(z.strictObject({ request_id: text, reason: text })),
  })
  .meta({ id: 'Recharge' });
