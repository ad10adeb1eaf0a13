/** What operators do with the ledger, and find in it. */

import { z } from 'zod';
import { EVENT_TYPES } from '@gateway/balance-store';
import type { HoldRecord, StoredEvent, TrailEntry } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { eventDetails } from '../../observe/notifications/event-details.js';
import { cellsOf, membersFrom, pageColumnsOf, viewFor } from '../resource.js';
import { account } from './accounts.js';
import { entry } from './entries.js';
import { key } from './keys.js';
import { addedName, count, isoOf, orNull, text, time, tokenLine, usd } from './basics.js';

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

export const reversal = z
  .strictObject({
    object: z.literal('reversal'),
    reversal_id: text,
    account_id: text,
    reverses: text,
    replayed: z.boolean(),
    balance_usd: usd,
    active_keys: count,
  })
  .meta({ id: 'Reversal' });

export const closing = z
  .strictObject({
    object: z.literal('closing'),
    closing_id: text,
    rest: orNull(z.enum(['refund', 'transfer', 'breakage'])),
    rest_usd: usd.meta({ description: 'paid money that was left, and went where rest says' }),
    given_back_usd: usd.meta({ description: 'given money that was left, and was taken back' }),
    debt_written_off_usd: usd,
    replayed: z.boolean(),
    account,
  })
  .meta({ id: 'Closing' });

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
    sides: z.array(z.strictObject({ side: text, amount_usd: usd })).meta({
      description:
        'what each side of the books has; they sum to 0. Charges are in balance:paid and ' +
        'balance:given only as far as they were redeemed from given money',
    }),
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
          ...([
            'rights',
            'sides',
            'closing',
            'statement',
            'budget',
            'spender',
            'spender_usage',
          ] as const),
          ...(['origin', 'seal', 'block', 'time'] as const),
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

const ofHold = membersFrom<HoldRecord>();

const holdMembers = {
  object: ofHold.operators(z.literal('hold'), () => 'hold' as const),
  request_id: ofHold.operators(text, ({ requestId }) => requestId, 'request'),
  account_id: ofHold.operators(text, ({ accountId }) => accountId, 'account'),
  key_id: ofHold.operators(text, ({ keyId }) => keyId, 'key'),
  amount_usd: ofHold.operators(usd, ({ amount }) => formatUsd(amount), 'amount'),
  created_at: ofHold.operators(time, ({ createdAt }) => createdAt.toISOString(), 'placed'),
  orphaned_at: ofHold.operators(orNull(time), ({ orphanedAt }) => isoOf(orphanedAt), 'orphaned'),
};

export const { schema: hold, view: holdView } = viewFor('operators', holdMembers, { id: 'Hold' });

/** A list of holds in the command line. */
export const holdCells = cellsOf(
  holdMembers,
  ['created_at', 'request_id', 'key_id', 'amount_usd', 'orphaned_at'],
  ['orphaned_at', 'created_at', 'key_id'],
);

const ofEvent = membersFrom<StoredEvent>();

export const eventMembers = {
  object: ofEvent.operators(z.literal('event'), () => 'event' as const),
  seq: ofEvent.operators(text, ({ seq }) => seq.toString()),
  id: ofEvent.operators(text, ({ id }) => id),
  type: ofEvent.operators(z.enum(EVENT_TYPES), ({ type }) => type, 'event'),
  account_id: ofEvent.operators(
    orNull(text),
    ({ accountId }) => (accountId === '' ? null : accountId),
    'account',
  ),
  key_id: ofEvent.operators(orNull(text), ({ keyId }) => keyId ?? null),
  data: ofEvent.operators(z.record(text, orNull(text)), ({ data }) => eventDetails(data), 'data'),
  created_at: ofEvent.operators(time, ({ createdAt }) => createdAt.toISOString(), 'time'),
  attempts: ofEvent.operators(count, ({ attempts }) => attempts, 'attempts'),
  delivered_at: ofEvent.operators(
    orNull(time),
    ({ deliveredAt }) => isoOf(deliveredAt),
    'delivery',
  ),
  last_error: ofEvent.operators(orNull(text), ({ lastError }) => lastError, 'last error'),
  mail: ofEvent.operators(
    orNull(z.enum(['pending', 'delivered', 'undelivered'])).meta({
      description: 'null: not sent by mail',
    }),
    ({ mail }) => mail ?? null,
  ),
  mail_error: ofEvent.operators(orNull(text), ({ mailError }) => mailError),
};

export const { schema: event, view: eventView } = viewFor('operators', eventMembers, {
  id: 'Event',
});

/** A list of events in the command line. */
export const eventCells = cellsOf(
  eventMembers,
  [
    'created_at',
    'type',
    'account_id',
    [
      'attempts',
      ({ delivered_at, attempts }) => (delivered_at === null ? String(attempts) : 'delivered'),
    ],
    'last_error',
  ],
  ['last_error', 'attempts', 'account_id'],
);

/** A list of events in the console. */
export const eventColumns = pageColumnsOf(eventMembers, [
  'created_at',
  'type',
  'account_id',
  'delivered_at',
  'data',
]);

const ofTrail = membersFrom<TrailEntry>();

const trailMembers = {
  object: ofTrail.operators(z.literal('trail_entry'), () => 'trail_entry' as const),
  seq: ofTrail.operators(text, ({ seq }) => seq.toString()),
  created_at: ofTrail.operators(time, ({ createdAt }) => createdAt.toISOString()),
  actor: ofTrail.operators(text, ({ actor }) => actor),
  address: ofTrail.operators(orNull(text), ({ address }) => address),
  action: ofTrail.operators(text, ({ action }) => action),
  account_id: ofTrail.operators(orNull(text), ({ accountId }) => accountId),
  account_name: ofTrail.operators(addedName, () => undefined),
  key_id: ofTrail.operators(orNull(text), ({ keyId }) => keyId),
  key_name: ofTrail.operators(addedName, () => undefined),
  details: ofTrail.operators(z.record(text, z.unknown()), ({ details }) => details),
  personal: ofTrail.operators(
    z.union([z.record(text, z.unknown()), text, z.null()]),
    ({ personal }) => (personal === 'erased' ? '(erased)' : (personal ?? null)),
  ),
};

export const { schema: trailEntry, view: trailView } = viewFor('operators', trailMembers, {
  id: 'TrailEntry',
});

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
