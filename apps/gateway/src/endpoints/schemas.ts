/**
 * The shapes of responses, for the OpenAPI document. `outputs.ts` and the tests compare them with
 * what the gateway sends.
 */

import { z } from 'zod';
import { EVENT_TYPES } from '@gateway/balance-store';
import { TOKEN_RIGHTS } from '../config/admin-tokens.js';
import { FACT_OUTCOMES } from '../payments/book-facts.js';
import { CAUSES } from '../upstream/reconciliation/explain-difference.js';

/** The kinds of facts that the payment provider reports, as `PaymentFact` names them. */
const FACT_KINDS = [
  'paid',
  'pending',
  'failed',
  'expired',
  'method_saved',
  'refund',
  'dispute',
] as const;

const usd = z
  .string()
  .regex(/^-?\d+(\.\d{1,14})?$/)
  .meta({ id: 'Usd', description: 'USD, exact to 14 decimals', examples: ['12.5'] });
export const time = z.string().meta({ id: 'Time', format: 'date-time', description: 'UTC' });
const text = z.string();
const count = z.int().min(0);
const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: orNull(text),
  });
}

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

export const account = z
  .strictObject({
    object: z.literal('account'),
    id: text,
    name: text,
    external_id: orNull(text),
    metadata: z.record(text, text),
    state: z.enum(['active', 'suspended']).meta({
      description: 'suspended: none of its keys works, also those that are created meanwhile',
    }),
    balance_usd: usd,
    low_balance_usd: orNull(usd),
    prices: orNull(text).meta({
      description: 'its own prices: a factor, or the name of a table of CUSTOMER_PRICES',
    }),
    allowance_usd: orNull(usd).meta({
      description: 'promotional credit of each month (UTC), which expires at its end',
    }),
    notice_shares: z
      .array(z.int())
      .meta({ description: 'percent of the balance or a cap at which an event is written' }),
    spent_usd: usd,
    credited_usd: usd,
    adjusted_usd: usd,
    expired_usd: usd,
    written_off_usd: usd,
    usable_keys: count,
    created_at: time,
    last_charged_at: orNull(time),
  })
  .meta({ id: 'Account' });

export const accountWithCredits = account
  .extend({
    unspent: z.strictObject({
      lots: z.array(
        z.strictObject({
          entry_id: text,
          source: z.enum(['paid', 'promotional']),
          expires_at: orNull(time),
          remaining_usd: usd,
        }),
      ),
      other_usd: usd,
    }),
  })
  .meta({ id: 'AccountWithCredits' });

export const accountOverview = z
  .strictObject({
    object: z.literal('account_overview'),
    operator: orNull(z.strictObject({ name: text, contact: orNull(text) })).meta({
      description: 'contact: an address of mail, or one that begins with https:// or http://',
    }),
    account_name: text,
    balance_usd: usd,
    is_shared: z.boolean().meta({ description: 'other keys spend the same balance' }),
    may_see_account: z.boolean().meta({
      description: 'the key may read the charges of all keys, and the statement',
    }),
    key: z.strictObject({
      id: text,
      name: text,
      hint: text,
      scope: z.enum(['use', 'manage']),
      is_active: z.boolean(),
      expires_at: orNull(time),
      last_charged_at: orNull(time),
    }),
    allowance: orNull(z.strictObject({ amount_usd: usd, left_usd: usd, renews_at: time })).meta({
      description: 'credit of each month, which is used first and is not carried over',
    }),
    expiring: z.array(z.strictObject({ remaining_usd: usd, expires_at: time })).meta({
      description: 'the unspent part of each credit that expires, the next one first',
    }),
    pace: z
      .strictObject({ days: count, spent_usd: usd, spent_by_key_usd: usd })
      .meta({ description: 'what all keys of the account spent in these days, today included' }),
    lasts_until: orNull(time).meta({
      description:
        'when the balance is used up at this pace, without credit that expires before it can be ' +
        'spent; null if nothing was spent',
    }),
  })
  .meta({ id: 'AccountOverview' });

const firstCredit = z
  .strictObject({
    amount_usd: usd,
    source: z.enum(['paid', 'promotional']),
    expires_at: orNull(time),
  })
  .meta({ id: 'FirstCredit' });
export const newAccount = account
  .extend({ first_credit: orNull(firstCredit), replayed: z.boolean() })
  .meta({ id: 'NewAccount' });
export const newKey = key
  .extend({
    account,
    first_credit: orNull(firstCredit),
    replayed: z.boolean(),
    api_key: orNull(text),
    message: text.exactOptional(),
  })
  .meta({ id: 'NewKey' });

const tokens = z
  .strictObject({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    cache_creation_1h_input_tokens: count,
  })
  .meta({ id: 'Tokens' });

const rates = z
  .strictObject({
    input: usd,
    output: usd,
    cache_read: usd,
    cache_write_5m: usd,
    cache_write_1h: usd,
  })
  .meta({ id: 'Rates', description: 'USD per million tokens' });

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

/** Prices beyond the usual rates of a model. Absent if there are none. */
const specialPrices = {
  special_rates: z
    .array(
      z.strictObject({
        above_prompt_tokens: count.exactOptional(),
        speed: text.exactOptional(),
        service_tier: text.exactOptional(),
        inference_geo: text.exactOptional(),
        rates,
      }),
    )
    .exactOptional()
    .meta({ description: 'the rates that apply to long prompts or in these circumstances' }),
  fees_usd: z
    .record(text, usd)
    .exactOptional()
    .meta({ description: 'per unit of what `usage.server_tool_use` counts' }),
};

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

/** Absent where the cost was not recorded. */
const costMembers = {
  cost_usd: usd.exactOptional().meta({ description: 'what it cost the operator, by COSTS' }),
  margin_usd: usd.exactOptional().meta({ description: 'what was charged, minus the cost' }),
};

/** Of sums. */
const costFigures = {
  ...costMembers,
  requests_without_cost: count
    .exactOptional()
    .meta({ description: 'present if only some have a cost; there is no margin then' }),
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

/** The part of a sum that does not depend on what it is grouped by. */
export const usageFigures = z.strictObject({
  requests: count,
  ...tokens.shape,
  charged_usd: usd,
  written_off_usd: usd,
});
export const usageSum = z
  .strictObject({
    object: z.literal('usage_sum'),
    day: text.exactOptional(),
    hour: text.exactOptional(),
    model: text.exactOptional(),
    account_id: text.exactOptional(),
    key_id: text.exactOptional(),
    endpoint: text.exactOptional(),
    upstream_account: orNull(text).exactOptional(),
    ...usageFigures.shape,
  })
  .meta({ id: 'UsageSum' });
/** Sums, with the range that they cover. */
export const usageSums = listOf(usageSum).extend({
  from: time,
  until: time.meta({ description: 'not included' }),
});

/** Sums as operators see them. */
export const costedUsageSum = usageSum.extend(costFigures).meta({ id: 'CostedUsageSum' });

export const costedUsageSums = listOf(costedUsageSum).extend(
  usageSums.pick({ from: true, until: true }).shape,
);

const requestMembers = {
  object: z.literal('recorded_request'),
  id: text,
  ended_at: time,
  account_id: orNull(text),
  key_id: orNull(text),
  model: orNull(text),
  endpoint: text,
  status: z.int(),
  error_type: orNull(text),
  error_message: orNull(text).meta({ description: 'without what it quoted' }),
  streamed: z.boolean(),
  client_left: z.boolean(),
  count: count.meta({ description: 'how many equal refusals it stands for; otherwise 1' }),
  duration_ms: count,
  first_byte_ms: orNull(count),
  input_tokens: orNull(count),
  output_tokens: orNull(count),
  cache_read_input_tokens: orNull(count),
  cache_creation_input_tokens: orNull(count),
  charged_usd: orNull(usd),
  upstream_request_id: orNull(text),
  trace_id: orNull(text),
  client: orNull(text),
  session: orNull(text),
  tag: orNull(text),
};
/** A recorded request, as its customer sees it. */
export const recordedRequest = z.strictObject(requestMembers).meta({ id: 'RecordedRequest' });
export const operatorRecordedRequest = z
  .strictObject({
    ...requestMembers,
    upstream_account: orNull(text),
    upstream_status: orNull(z.int()),
    fault: orNull(text),
  })
  .meta({ id: 'OperatorRecordedRequest' });

export const requestSums = listOf(
  z
    .strictObject({
      object: z.literal('request_sum'),
      start: time.exactOptional(),
      account_id: orNull(text).exactOptional(),
      key_id: orNull(text).exactOptional(),
      model: orNull(text).exactOptional(),
      endpoint: orNull(text).exactOptional(),
      upstream_account: orNull(text).exactOptional(),
      status: orNull(z.int()).exactOptional(),
      error_type: orNull(text).exactOptional(),
      client: orNull(text).exactOptional(),
      session: orNull(text).exactOptional(),
      tag: orNull(text).exactOptional(),
      requests: count,
      failed: count,
      mean_duration_ms: count,
      mean_first_byte_ms: orNull(count),
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
      charged_usd: usd,
    })
    .meta({ id: 'RequestSum' }),
).extend({ from: time, until: time.meta({ description: 'not included' }) });

const brokenDownFigures = z.strictObject({
  charged_usd: usd,
  charges: count,
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  requests: count.meta({ description: 'recorded requests, failed ones too' }),
  failed: count,
  mean_duration_ms: orNull(count),
  mean_first_byte_ms: orNull(count),
});

function breakdownOf<Figures extends z.ZodType>(figures: Figures) {
  return z.strictObject({
    object: z.literal('breakdown'),
    by: text,
    every: z.enum(['hour', 'day']),
    zone: text,
    from: time,
    until: time.meta({ description: 'not included' }),
    before: z
      .strictObject({ from: time, until: time })
      .meta({ description: 'the period that is compared, as long as has passed of the range' }),
    starts: z.array(time).meta({ description: 'of the spans' }),
    groups: z.array(
      z.strictObject({
        value: orNull(text).meta({ description: 'null: none, or all other groups' }),
        others: count.meta({ description: 'how many groups it stands for, if it is the rest' }),
        total: figures,
        before: figures,
        spans: z.array(orNull(figures)).meta({ description: 'null: nothing happened' }),
      }),
    ),
    total: figures,
    total_before: figures,
  });
}

export const breakdown = breakdownOf(brokenDownFigures).meta({ id: 'Breakdown' });
/** With what the charges cost the operator, if that is known of all of them. */
export const costedBreakdown = breakdownOf(brokenDownFigures.extend(costFigures)).meta({
  id: 'CostedBreakdown',
});

const statementTotal = { requests: count, amount_usd: usd };

const tokenLine = z
  .strictObject({
    class: z.enum(['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h']),
    tokens: count,
    rate_usd_per_million: usd,
    amount_usd: usd,
  })
  .meta({ id: 'TokenLine', description: 'tokens x rate = amount' });

const bookFigures = z.strictObject({
  opening_balance_usd: usd,
  paid_usd: usd,
  promotional_usd: usd,
  adjusted_usd: z.strictObject({
    refund: usd,
    chargeback: usd,
    correction: usd,
    goodwill: usd,
    write_off: usd,
    transfer: usd,
  }),
  expired_usd: usd,
  charged_usd: usd,
  closing_balance_usd: usd,
  written_off_usd: usd,
  ...costFigures,
});

export const books = z
  .strictObject({
    object: z.literal('books'),
    month: text,
    from: time,
    until: time,
    total: bookFigures,
    data: z.array(
      z.strictObject({
        account_id: text,
        name: text,
        external_id: orNull(text),
        ...bookFigures.shape,
      }),
    ),
    has_more: z.boolean(),
    next_cursor: orNull(text),
  })
  .meta({ id: 'Books' });

export const statementLine = z.strictObject({
  line: text,
  /** A day, or the time of a booking. In UTC. */
  date: text,
  description: text,
  /** What the line is, in words for people. */
  text,
  requests: count.exactOptional(),
  tokens: count.exactOptional(),
  rate_usd_per_million: usd.exactOptional(),
  /** What the line adds to the balance; in the last line, the closing balance. */
  amount_usd: usd,
});

export const statement = z
  .strictObject({
    object: z.literal('statement'),
    number: text,
    account_id: text,
    account_name: text,
    issuer: orNull(
      z.strictObject({
        name: text,
        contact: orNull(text),
        address: z.array(text).meta({ description: 'its lines' }),
        note: orNull(text).meta({ description: 'such as what applies to taxes' }),
      }),
    ),
    month: text,
    from: time,
    until: time,
    opening_balance_usd: usd,
    bookings: z.array(credit),
    charges: z.array(
      z.strictObject({
        day: text,
        model: text,
        requests: count,
        lines: z.array(tokenLine),
        fees_usd: usd.exactOptional(),
        written_off_usd: usd,
        amount_usd: usd,
      }),
    ),
    booked_usd: usd,
    charged_usd: usd,
    closing_balance_usd: usd,
    by_model: z.array(z.strictObject({ model: text, ...statementTotal })),
    by_key: z.array(z.strictObject({ key_id: text, name: text, ...statementTotal })),
    lines: z
      .array(statementLine)
      .meta({ description: 'oldest first; the last is the sum of all others' }),
  })
  .meta({ id: 'Statement' });

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
    key_id: orNull(text),
    details: z.record(text, z.unknown()),
    personal: z.union([z.record(text, z.unknown()), text, z.null()]),
  })
  .meta({ id: 'TrailEntry' });

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

export const offeredModel = z
  .strictObject({
    object: z.literal('model'),
    id: text,
    display_name: text,
    rate_in: text,
    rate_out: text,
    rates,
    ...specialPrices,
    next_change: orNull(z.strictObject({ effective_from: time, rates })).meta({
      description: 'the next scheduled change of these rates',
    }),
    is_deprecated: z.boolean(),
    retires_at: orNull(time),
    max_output_tokens: count,
    context_window: count,
  })
  .meta({ id: 'OfferedModel' });

const priceEntry = z
  .strictObject({
    id: text,
    display_name: text,
    created_at: text.optional(),
    rate_in: z.null(),
    rate_out: z.null(),
    max_output_tokens: orNull(z.int()),
    context_window: orNull(z.int()),
    traits: z.strictObject({
      sampling: orNull(text),
      forced_tool_choice: orNull(text),
      effort: orNull(z.array(text)),
      thinking_off: orNull(text),
      thinking_on: orNull(text),
      system_messages: orNull(text),
      structured_outputs: orNull(text),
      binds_thinking: orNull(z.boolean()),
    }),
  })
  .meta({
    id: 'PriceEntry',
    description: 'an entry for the price table, once each null is replaced',
  });

export const modelComparison = z
  .strictObject({
    object: z.literal('model_comparison'),
    offered: z.array(text),
    gone: z.array(text),
    missing: z.array(priceEntry),
  })
  .meta({ id: 'ModelComparison' });

export const price = z
  .strictObject({
    object: z.literal('price'),
    model: text,
    display_name: text,
    rates,
    ...specialPrices,
    is_deprecated: z.boolean(),
    max_input_tokens: count,
    max_output_tokens: count,
  })
  .meta({ id: 'Price' });

export const prices = listOf(price).extend({
  are_agreed: z.boolean().meta({ description: 'whether they were agreed with this account only' }),
});

const spend = { requests: count, charged_usd: usd, written_off_usd: usd, ...costFigures };
const spendByModel = z
  .strictObject({ ...spend, by_model: z.array(z.strictObject({ model: text, ...spend })) })
  .meta({ id: 'Spend' });

export const today = z
  .strictObject({
    object: z.literal('today'),
    day: text,
    spend: z.strictObject({
      today: spendByModel,
      last_7_days: spendByModel,
      last_30_days: spendByModel,
    }),
    sends_events: z.boolean().meta({ description: 'whether a receiver of events is configured' }),
    ledger: z.strictObject({
      accounts: count,
      keys: z.strictObject({
        active: count,
        exhausted: count,
        suspended: count,
        revoked: count,
        expired: count,
      }),
      unspent_usd: usd,
      overdrawn_usd: usd,
      expired_usd: usd,
      written_off_usd: usd,
      quarantined: count,
      conflicts: count,
      orphaned_holds: count,
      undelivered_events: count,
      last_seal_at: orNull(time),
    }),
    gateway: orNull(
      z.strictObject({
        since: time,
        requests: z.array(z.strictObject({ status: text, requests: count })),
        unbilled: z.array(z.strictObject({ reason: text, responses: count })),
        first_byte_ms: z.strictObject({ p50: orNull(z.number()), p95: orNull(z.number()) }),
        upstream: z.strictObject({
          responses: z.array(z.strictObject({ status: text, responses: count })),
          account_refused: count,
          credentials: z
            .array(
              z.strictObject({
                account: orNull(text),
                outcome: z.enum(['accepted', 'refused', 'unclear']),
                reason: orNull(text),
                checked_at: time,
              }),
            )
            .meta({
              description:
                'whether the upstream accepts the credential of each of its accounts, as asked at ' +
                'the start and after a change; empty until it has answered',
            }),
        }),
      }),
    ).meta({ description: 'traffic of the replica that answers' }),
  })
  .meta({ id: 'Today' });

const spendOfTime = z.strictObject({
  from: time,
  until: time.meta({ description: 'not included' }),
  requests: count,
  charged_usd: usd,
  written_off_usd: usd,
  ...costFigures,
});
const namedAccount = { account_id: text, name: text };

export const home = z
  .strictObject({
    object: z.literal('home'),
    version: text,
    spend: z
      .strictObject({
        today: spendOfTime,
        yesterday: spendOfTime,
        this_month: spendOfTime,
        last_month_so_far: spendOfTime,
        last_month: spendOfTime,
      })
      .meta({ description: 'days and months in UTC' }),
    last_hour: z.strictObject({
      from: time,
      requests: count,
      failed: count,
      upstreams: z
        .array(
          z.strictObject({
            upstream_account: orNull(text),
            requests: count,
            failed: count.meta({ description: 'with a status of 500 or above' }),
            mean_first_byte_ms: orNull(count),
          }),
        )
        .meta({ description: 'each account that was asked in the last day' }),
    }),
    running_out: z
      .array(z.strictObject({ ...namedAccount, balance_usd: usd, lasts_until: time }))
      .meta({ description: 'within three days, of those that spend most; the first one first' }),
    unusual: z.array(
      z.strictObject({
        ...namedAccount,
        reason: z.enum(['spend', 'failures']),
        charged_usd: usd.meta({ description: 'in the last 24 hours' }),
        usual_usd: usd.meta({ description: 'of a day, in the 7 days before' }),
        failed: count.meta({ description: 'in the last hour' }),
        requests: count.meta({ description: 'in the last hour' }),
      }),
    ),
    new_accounts: z
      .array(z.strictObject({ ...namedAccount, created_at: time, balance_usd: usd }))
      .meta({ description: 'of the last 7 days, the newest first, at most 10' }),
  })
  .meta({ id: 'Home' });

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

export const settings = z
  .strictObject({
    object: z.literal('settings'),
    version: text.nullable(),
    loaded_at: time.nullable(),
    workers: z.array(z.strictObject({ worker: count, version: text })),
    needs_restart: z.array(text),
    variables: z.array(
      z.strictObject({
        name: text,
        about: text,
        value: text.nullable(),
        is_set: z.boolean(),
        is_secret: z.boolean(),
        is_json: z.boolean(),
        default: text.nullable(),
        set_in: z.enum(['gateway', 'environment', 'file', 'default']),
        changes_by: z.enum(['gateway', 'reload', 'restart']),
      }),
    ),
  })
  .meta({ id: 'Settings' });

export const consoleSession = z
  .strictObject({
    object: z.literal('console_session'),
    name: text,
    right: z.enum(TOKEN_RIGHTS),
    may: z.array(z.enum(['read', 'credit', 'change'])),
    idle_expires_at: time,
    expires_at: time,
    simulated: z.boolean(),
  })
  .meta({ id: 'ConsoleSession' });

export const consoleLink = z
  .strictObject({
    object: z.literal('console_link'),
    path: text.meta({ description: 'below the address of the admin port; it has a secret' }),
    expires_at: time,
  })
  .meta({ id: 'ConsoleLink' });

export const balance = z
  .strictObject({
    object: z.literal('balance'),
    balance_usd: z.number(),
    expires_at: orNull(time),
    is_active: z.boolean(),
    last_synced_at: time,
  })
  .meta({ id: 'Balance' });

export const model = z
  .looseObject({
    id: text,
    object: z.literal('model'),
    type: z.literal('model'),
    display_name: text,
    created: z.int(),
    created_at: time,
    owned_by: text,
    rate_in: text,
    rate_out: text,
  })
  .meta({ id: 'Model' });

export const models = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(model),
    has_more: z.boolean(),
    first_id: orNull(text),
    last_id: orNull(text),
  })
  .meta({ id: 'Models' });

export const codexModels = z
  .strictObject({
    models: z.array(z.looseObject({ slug: text, display_name: text, context_window: count })),
  })
  .meta({ id: 'CodexModels', description: 'the models, as Codex reads them' });

const paymentMembers = {
  object: z.literal('payment'),
  id: text,
  account_id: text,
  amount_usd: usd,
  state: z.enum(['open', 'pending', 'paid', 'failed', 'expired']),
  by: z.enum(['key', 'operator', 'auto_top_up']),
  url: orNull(text).meta({ description: 'where to pay, while that is possible' }),
  url_expires_at: orNull(time),
  reference: orNull(text).meta({ description: "the provider's id, once it is paid" }),
  failure_code: orNull(text),
  created_at: time,
  updated_at: time,
};
export const payment = z.strictObject(paymentMembers).meta({ id: 'Payment' });

export const payments = listOf(payment).extend({ min_usd: usd, max_usd: usd });

export const paymentMoney = z
  .strictObject({
    ...paymentMembers,
    started_by: text,
    credited_usd: usd,
    taken_back_usd: usd,
    refundable_usd: usd,
    unspent_usd: usd,
  })
  .meta({ id: 'PaymentMoney' });

export const unbookedPayment = z
  .strictObject({
    object: z.literal('unbooked_payment'),
    id: text,
    account_id: orNull(text),
    fact: text,
    reason: text,
    payment_id: orNull(text),
    reference: text,
    amount_cents: z.int(),
    currency: text,
    created_at: time,
  })
  .meta({ id: 'UnbookedPayment' });

export const reconciliation = z
  .strictObject({
    object: z.literal('reconciliation'),
    compared: count,
    missing: z.array(
      z.strictObject({
        fact: z.enum(FACT_KINDS),
        id: text,
        reference: text,
        account_id: orNull(text),
        amount_cents: z.int(),
        currency: text,
        outcome: z.enum([...FACT_OUTCOMES, 'missing']),
      }),
    ),
  })
  .meta({ id: 'Reconciliation' });

const day = z.string().meta({ format: 'date', description: 'UTC' });

export const providerReconciliation = z
  .strictObject({
    object: z.literal('provider_reconciliation'),
    from: day,
    until: day,
    upstreams: orNull(z.array(text)).meta({
      description: 'the upstream accounts of this bill, with upstream; otherwise all charges',
    }),
    tolerance_usd: usd,
    is_within_tolerance: z.boolean(),
    compared: count,
    provider_usd: usd,
    ledger_usd: usd.meta({
      description: 'the recorded costs; on days without them, what was charged',
    }),
    days_without_costs: count.meta({
      description: 'on which a charge has no recorded cost: a markup is a difference then',
    }),
    charged_usd: usd.meta({ description: 'what customers paid' }),
    margin_usd: usd.meta({ description: 'what customers paid, minus what the provider bills' }),
    difference_usd: usd,
    differences: z.array(
      z.strictObject({
        day,
        model: orNull(text),
        difference_usd: usd,
        items: z.array(
          z.strictObject({
            item: text.meta({
              description:
                'a class of tokens, written_off, cost (all costs of a day on which they are ' +
                'recorded), or another cost of the provider',
            }),
            provider_tokens: orNull(count),
            ledger_tokens: orNull(count),
            provider_usd: orNull(usd).meta({ description: 'null: it is a part of cost' }),
            ledger_usd: orNull(usd),
            difference_usd: orNull(usd),
          }),
        ),
        requests: z
          .array(
            z.strictObject({
              cause: z.enum(CAUSES),
              request_id: text,
              key_id: text,
              at: time,
              detail: text,
            }),
          )
          .meta({ description: 'requests that may explain the difference' }),
        has_more: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'ProviderReconciliation' });

export const refund = z
  .strictObject({ object: z.literal('refund'), id: text, amount_usd: usd, payment: paymentMoney })
  .meta({ id: 'Refund' });

export const receipt = z
  .strictObject({ object: z.literal('receipt'), payment_id: text, url: text })
  .meta({ id: 'Receipt' });

export const notices = z
  .strictObject({
    object: z.literal('notices'),
    shares: z.array(z.int()).meta({ description: 'in percent, ascending' }),
    full_usd: usd.meta({
      description: 'the balance after the last credit, of which a share is used',
    }),
  })
  .meta({ id: 'Notices' });

const autoTopUpMembers = {
  object: z.literal('auto_top_up'),
  state: z.enum(['off', 'needs_method', 'on', 'stopped']),
  threshold_usd: orNull(usd),
  amount_usd: orNull(usd),
  target_usd: orNull(usd).meta({ description: 'the balance up to which each charge pays' }),
  max_per_day: orNull(count),
  max_per_month_usd: orNull(usd),
  stopped_code: orNull(text),
};
export const autoTopUp = z.strictObject(autoTopUpMembers).meta({ id: 'AutoTopUp' });
export const orderedAutoTopUp = z.strictObject({
  ...autoTopUpMembers,
  setup_url: orNull(text).meta({ description: 'where to save a payment method' }),
});

export const promoCode = z
  .strictObject({
    object: z.literal('promo_code'),
    code: text,
    amount_usd: usd,
    expires_at: orNull(time),
    credit_expires_at: orNull(time),
    max_redemptions: count,
    redemptions: count,
    created_at: time,
  })
  .meta({ id: 'PromoCode' });

export const redemption = z
  .strictObject({
    object: z.literal('redemption'),
    amount_usd: usd,
    balance_usd: usd,
    credit_expires_at: orNull(time),
    replayed: z.boolean(),
  })
  .meta({ id: 'Redemption' });

/**
 * The error body of all endpoints. It has `param` and `code`, except on `/v1/messages`, in the
 * admin API and on the webhook of the payment provider.
 */
export const error = z
  .looseObject({
    error: z.looseObject({
      type: text,
      message: text,
      param: orNull(text).optional(),
      code: orNull(text).optional(),
    }),
  })
  .meta({ id: 'Error' });
