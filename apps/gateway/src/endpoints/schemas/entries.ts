/** Entries of the ledger, as operators and holders see them. */

import { z } from 'zod';
import type { ChargeEntry, LedgerEntry } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { TERMS, pricingView } from '../../base/pricing.js';
import { readDelivery, sentTokens } from '../../ledger/delivery.js';
import type { csvOf } from '../csv.js';
import type { ResultOf } from '../endpoint.js';
import { linesOf, membersFrom, viewFor } from '../resource.js';
import {
  costMembers,
  count,
  groupsIn,
  isoOf,
  orNull,
  rates,
  recordNames,
  text,
  time,
  tokens,
  usd,
} from './basics.js';
import { ratesView } from './models.js';

/** An entry that is not a charge. */
type Booking = Exclude<LedgerEntry, { readonly kind: 'charge' }>;

const ofEntry = membersFrom<LedgerEntry>();
const ofCharge = membersFrom<ChargeEntry>();
const ofBooking = membersFrom<Booking>();

const pricing = z
  .strictObject({
    terms: z
      .record(text, text)
      .meta({ description: `the circumstances that decided the rates: ${TERMS.join(', ')}` })
      .register(recordNames, { names: TERMS }),
    fees: z.array(z.strictObject({ what: text, units: count, unit_usd: usd, amount_usd: usd })),
  })
  .meta({ id: 'Pricing', description: 'absent if the charge is tokens at the usual rates' });

/** Who spent it, besides the key. A member is absent where the request named nobody. */
const spenderDetails = {
  member_id: ofCharge.everyone(text.exactOptional(), ({ spender }) => spender?.memberId, 'member'),
  groups: ofCharge.everyone(
    z.array(text).exactOptional().meta({
      description: "the member's group at that time, last, after the groups above it",
    }),
    ({ spender }) => (spender?.groups === undefined ? undefined : groupsIn(spender.groups)),
    'groups',
  ),
  tag: ofCharge.everyone(text.exactOptional(), ({ spender }) => spender?.tag, 'tag'),
  run: ofCharge.everyone(text.exactOptional(), ({ spender }) => spender?.run, 'run'),
};

/** The request, its usage and its price. */
const chargeDetails = {
  written_off_usd: ofCharge.everyone(usd, (of) => formatUsd(of.writtenOff), 'written off'),
  model: ofCharge.everyone(text, ({ model }) => model, 'model'),
  endpoint: ofCharge.everyone(text, ({ endpoint }) => endpoint, 'endpoint'),
  streamed: ofCharge.everyone(z.boolean(), ({ streamed }) => streamed),
  upstream_id: ofCharge.everyone(
    orNull(text),
    ({ upstreamId }) => upstreamId ?? null,
    'upstream id',
    'none',
  ),
  usage: ofCharge.everyone(tokens, ({ usage }) => ({
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_input_tokens: usage.cacheReadInputTokens,
    cache_creation_input_tokens: usage.cacheCreationInputTokens,
    cache_creation_1h_input_tokens: usage.cacheCreation1hInputTokens,
  })),
  rates: ofCharge.everyone(rates, (of) => ratesView(of.rates)),
  pricing: ofCharge.everyone(pricing.exactOptional(), (of) =>
    of.pricing === undefined ? undefined : pricingView(of.pricing),
  ),
  delivered: ofCharge.everyone(
    orNull(
      z.strictObject({
        bytes: count,
        of_bytes: count,
        output_tokens: count.meta({ description: 'estimated by the share of the bytes' }),
      }),
    ).meta({
      description:
        'what was sent to a client that left before the end; null if it is not known to have left',
    }),
    deliveredView,
    'sent before the client left',
  ),
  ...spenderDetails,
};

/** What a client that left before the end of its response got of it. */
function deliveredView({ remarks, usage }: ChargeEntry) {
  const delivery = readDelivery(remarks);
  if (delivery === undefined) return null;
  return {
    bytes: delivery.sentBytes,
    of_bytes: delivery.bytes,
    output_tokens: sentTokens(delivery, usage.outputTokens),
  };
}

const paidBy = z
  .array(z.strictObject({ budget_id: text, counted_by: text, amount_usd: usd }))
  .meta({
    description:
      'of each budget that counted the charge but had too little left: what it paid itself, and ' +
      'what the reserves of its chain paid; absent if no reserve paid',
  });

function paidText(paid: ResultOf<typeof paidBy>): string {
  return paid.map(({ budget_id: id, amount_usd: amount }) => `${id} ${amount} USD`).join(', ');
}

function paidByView({ parts, delta, writtenOff }: ChargeEntry) {
  if (parts.length === 0) return undefined;
  return [...new Set(parts.map(({ budgetId }) => budgetId))].flatMap((counted) => {
    const paid = parts.filter(({ budgetId }) => budgetId === counted);
    const own = paid.reduce((rest, { amount }) => rest - amount, writtenOff - delta);
    return [{ paidBy: counted, amount: own }, ...paid]
      .filter(({ amount }) => amount !== 0n)
      .map(({ paidBy: budget, amount }) => ({
        budget_id: budget,
        counted_by: counted,
        amount_usd: formatUsd(amount),
      }));
  });
}

const entryMembers = {
  object: ofEntry.operators(z.literal('ledger_entry'), () => 'ledger_entry' as const),
  id: ofEntry.operators(text, ({ id }) => id, 'id'),
  account_id: ofEntry.operators(text, ({ accountId }) => accountId, 'account'),
  seq: ofEntry.operators(text, ({ seq }) => seq.toString(), 'number in its account'),
  amount_usd: ofEntry.operators(usd, ({ delta }) => formatUsd(delta), 'amount'),
  balance_after_usd: ofEntry.operators(
    usd,
    ({ balanceAfter }) => formatUsd(balanceAfter),
    'balance after it',
  ),
  created_at: ofEntry.operators(time, ({ createdAt }) => createdAt.toISOString(), 'time'),
};

export const chargeMembers = {
  ...entryMembers,
  kind: ofCharge.operators(z.literal('charge'), ({ kind }) => kind, 'kind'),
  key_id: ofCharge.operators(text, ({ keyId }) => keyId, 'key'),
  ...chargeDetails,
  cost_usd: ofCharge.operators(
    costMembers.cost_usd,
    ({ cost }) => (cost === undefined ? undefined : formatUsd(cost)),
    'cost',
  ),
  margin_usd: ofCharge.operators(
    costMembers.margin_usd,
    ({ cost, delta }) => (cost === undefined ? undefined : formatUsd(-delta - cost)),
    'margin',
  ),
  given_usd: ofCharge.operators(
    usd.meta({ description: 'the part of the amount that is given money, not paid' }),
    ({ given }) => formatUsd(given),
    'paid from given money',
  ),
  upstream_account: ofCharge.operators(
    orNull(text),
    ({ upstreamAccount }) => upstreamAccount ?? null,
    'upstream account',
    'none',
  ),
  paid_by: ofCharge.operators(paidBy.exactOptional(), paidByView, 'paid by'),
  over_cap_usd: ofCharge.operators(usd, ({ overCap }) => formatUsd(overCap)),
  remarks: ofCharge.operators(orNull(text), ({ remarks }) => remarks ?? null, 'remarks', 'none'),
};

/** A charge as its holder sees it, who knows it by its request. */
export const usageMembers = {
  object: ofCharge.holders(z.literal('usage'), () => 'usage' as const),
  kind: ofCharge.holders(z.literal('charge'), ({ kind }) => kind),
  request_id: ofCharge.holders(text, ({ id }) => id),
  key_id: ofCharge.holders(text, ({ keyId }) => keyId),
  created_at: ofCharge.holders(time, ({ createdAt }) => createdAt.toISOString()),
  charge_usd: ofCharge.holders(usd, ({ delta }) => formatUsd(-delta)),
  balance_after_usd: ofCharge.holders(usd, ({ balanceAfter }) => formatUsd(balanceAfter)),
  ...chargeDetails,
};

const REASONS = [
  'refund',
  'chargeback',
  'correction',
  'goodwill',
  'write_off',
  'transfer',
] as const;

/** All but the reference, of which holders may not see all. */
const bookingDetails = {
  kind: ofBooking.everyone(z.enum(['top_up', 'adjustment', 'expiry']), ({ kind }) => kind, 'kind'),
  source: ofBooking.everyone(
    orNull(z.enum(['paid', 'promotional'])),
    (of) => (of.kind === 'top_up' ? of.source : null),
    'source',
  ),
  reason: ofBooking.everyone(
    orNull(z.enum([...REASONS, 'fee', 'opening'])),
    (of) => (of.kind === 'adjustment' ? of.reason : null),
    'reason',
  ),
};
const reference = (of: Booking) => of.reference ?? null;
const expires_at = ofBooking.everyone(
  orNull(time),
  (of) => isoOf(of.kind === 'top_up' ? of.expiresAt : undefined),
  'expires',
);

export const bookingMembers = {
  ...entryMembers,
  ...bookingDetails,
  reference: ofBooking.operators(orNull(text), reference, 'reference', 'none'),
  expires_at,
  given_usd: ofBooking.operators(
    orNull(usd).meta({
      description:
        'the part of the amount that is given money, not paid; of the entry that opens an account, ' +
        'the part of the balance; null in entries of earlier versions',
    }),
    ({ given }) => (given === undefined ? null : formatUsd(given)),
    'given money',
    'unknown',
  ),
  counter: ofBooking.operators(
    orNull(text).meta({
      description:
        "the operator's account on the other side: cash:<provider>, given, breakage, refunds, " +
        'corrections, bad_debt, transfers or unknown; null in entries of earlier versions',
    }),
    ({ counter }) => counter ?? null,
    'other side',
    'unknown',
  ),
  tax_usd: ofBooking.operators(
    usd.meta({ description: 'what was paid beside the amount, and is owed as tax' }),
    ({ tax }) => formatUsd(tax),
    'tax',
  ),
  fee_usd: ofBooking.operators(
    usd.meta({ description: 'what the provider of the payment kept' }),
    ({ fee }) => formatUsd(fee),
    'fee',
  ),
  reverses: ofBooking.operators(
    orNull(text),
    ({ reverses }) => reverses ?? null,
    'reverses',
    'none',
  ),
  actor: ofBooking.operators(text, ({ actor }) => actor, 'by'),
  note: ofBooking.operators(
    orNull(text),
    ({ note }) => (note === 'erased' ? '(erased)' : (note?.text ?? null)),
    'note',
    'none',
  ),
};

/** A credit, a correction or an expiry as holders see it. */
export const creditMembers = {
  object: ofBooking.holders(z.literal('credit'), () => 'credit' as const),
  id: ofBooking.holders(text, ({ id }) => id),
  created_at: ofBooking.holders(time, ({ createdAt }) => createdAt.toISOString()),
  amount_usd: ofBooking.holders(usd, ({ delta }) => formatUsd(delta)),
  balance_after_usd: ofBooking.holders(usd, ({ balanceAfter }) => formatUsd(balanceAfter)),
  ...bookingDetails,
  /** That of a transfer is the id of the other account, which may be another customer's. */
  reference: ofBooking.holders(orNull(text), (of) =>
    of.kind === 'adjustment' && of.reason === 'transfer' ? 'another account' : reference(of),
  ),
  expires_at,
  tax_usd: ofBooking.holders(
    usd.meta({ description: 'what was paid, or paid back, beside the amount' }),
    ({ tax }) => formatUsd(tax),
  ),
};

const ofOperators = {
  charge: viewFor('operators', chargeMembers, { id: 'ChargeEntry' }),
  booking: viewFor('operators', bookingMembers, { id: 'BookingEntry' }),
};
export const chargeEntry = ofOperators.charge.schema;
export const bookingEntry = ofOperators.booking.schema;
export const entry = z.union([chargeEntry, bookingEntry]);

export function entryView(of: LedgerEntry) {
  return of.kind === 'charge' ? ofOperators.charge.view(of) : ofOperators.booking.view(of);
}

const ofHolders = {
  charge: viewFor('holders', usageMembers, { id: 'Usage' }),
  booking: viewFor('holders', creditMembers, { id: 'Credit' }),
};
export const usage = ofHolders.charge.schema;
export const credit = ofHolders.booking.schema;
export const holderEntry = z.union([usage, credit]);

export function usageView(of: ChargeEntry) {
  return ofHolders.charge.view(of);
}

export function creditView(of: Booking) {
  return ofHolders.booking.view(of);
}

export function holderEntryView(of: LedgerEntry) {
  return of.kind === 'charge' ? usageView(of) : creditView(of);
}

const COMMON_LINES = [
  'id',
  'kind',
  'created_at',
  'account_id',
  'seq',
  'amount_usd',
  'balance_after_usd',
] as const;

/** A charge in the command line. */
export const chargeLines = linesOf(chargeMembers, [
  ...COMMON_LINES,
  'key_id',
  'member_id',
  'groups',
  'tag',
  'run',
  'model',
  ['endpoint', ({ endpoint, streamed }) => endpoint + (streamed ? ', streamed' : '')],
  ['input tokens', ({ usage: of, rates: at }) => priced(of.input_tokens, at.input)],
  ['output tokens', ({ usage: of, rates: at }) => priced(of.output_tokens, at.output)],
  [
    'cache read tokens',
    ({ usage: of, rates: at }) => priced(of.cache_read_input_tokens, at.cache_read),
  ],
  [
    'cache write tokens (5 min)',
    ({ usage: of, rates: at }) =>
      priced(of.cache_creation_input_tokens - of.cache_creation_1h_input_tokens, at.cache_write_5m),
  ],
  [
    'cache write tokens (1 h)',
    ({ usage: of, rates: at }) => priced(of.cache_creation_1h_input_tokens, at.cache_write_1h),
  ],
  'written_off_usd',
  ['paid_by', ({ paid_by: paid }) => (paid === undefined ? undefined : paidText(paid))],
  'cost_usd',
  'margin_usd',
  'upstream_id',
  'upstream_account',
  ['delivered', ({ delivered: of }) => (of === null ? undefined : deliveredText(of))],
  'remarks',
]);

/** An entry that is not a charge, in the command line. */
export const bookingLines = linesOf(bookingMembers, [
  ...COMMON_LINES,
  'source',
  'reason',
  'counter',
  'given_usd',
  'tax_usd',
  'fee_usd',
  'reverses',
  ['expires_at', (of) => (of.kind === 'top_up' ? (of.expires_at ?? 'never') : undefined)],
  'actor',
  'reference',
  'note',
]);

function priced(of: number, rate: string): string {
  return `${String(of)} at ${rate} USD/M`;
}

function deliveredText(of: NonNullable<ReturnType<typeof deliveredView>>): string {
  const { bytes, of_bytes, output_tokens } = of;
  return `${String(bytes)} of ${String(of_bytes)} bytes, about ${String(output_tokens)} output tokens`;
}

/** The columns of entries as CSV. */
const CSV_COLUMNS = [
  'kind',
  'id',
  'created_at',
  'model',
  'endpoint',
  'streamed',
  ...Object.keys(tokens.shape),
  'rate_input',
  'rate_output',
  'rate_cache_read',
  'rate_cache_write_5m',
  'rate_cache_write_1h',
  'amount_usd',
  'written_off_usd',
  'balance_after_usd',
  'source',
  'reason',
  'reference',
  'expires_at',
  'delivered_output_tokens',
  'key_id',
  'terms',
  'fees_usd',
  ...Object.keys(spenderDetails),
];

/**
 * Entries as the holder of a key sees them.
 *
 * @param write - With or without the names of the columns.
 */
export function entriesCsv(entries: readonly LedgerEntry[], write: typeof csvOf): string {
  const rows = entries.map((of) => (of.kind === 'charge' ? chargeRow(of) : creditView(of)));
  return write(CSV_COLUMNS, rows);
}

function chargeRow(of: ChargeEntry) {
  const { usage: counts, rates: at, pricing: by, delivered, groups, ...details } = usageView(of);
  return {
    ...details,
    groups: groups?.join(' '),
    id: of.id,
    amount_usd: formatUsd(of.delta),
    ...counts,
    rate_input: at.input,
    rate_output: at.output,
    rate_cache_read: at.cache_read,
    rate_cache_write_5m: at.cache_write_5m,
    rate_cache_write_1h: at.cache_write_1h,
    delivered_output_tokens: delivered?.output_tokens,
    terms:
      by &&
      Object.entries(by.terms)
        .map(([name, value]) => `${name}=${value}`)
        .join(' '),
    fees_usd:
      of.pricing &&
      formatUsd(
        of.pricing.fees.reduce((sum, { units, perUnit }) => sum + BigInt(units) * perUnit, 0n),
      ),
  };
}
