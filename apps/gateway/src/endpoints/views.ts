/**
 * Keys, entries and audits as JSON: snake case, exact decimal strings for money, ISO 8601 for time.
 */

import type {
  AccountRecord,
  AuditReport,
  ChargeEntry,
  HoldRecord,
  KeyRecord,
  LedgerEntry,
  OperatorBounds,
  SealHead,
  SettledRates,
  StoredEvent,
  TrailEntry,
  UnspentCredit,
  UsageDimension,
  UsageSum,
} from '@gateway/balance-store';
import type { z } from 'zod';
import { formatUsd } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import { pricingView } from '../base/pricing.js';
import { readDelivery, sentTokens } from '../ledger/delivery.js';
import { eventDetails } from '../observe/notifications/event-details.js';
import { settingsView } from './account-settings.js';
import { csvOf } from './csv.js';
import { entryRow, usageFigures } from './schemas.js';

export function keyView(key: KeyRecord) {
  const { caps, used } = key;
  return {
    object: 'api_key' as const,
    id: key.id,
    account_id: key.accountId,
    name: key.name,
    external_id: key.externalId,
    metadata: key.metadata,
    hint: key.hint,
    state: key.state,
    standing: key.standing,
    is_active: key.isActive,
    scope: key.scope,
    models: key.models,
    /** The balance of its account, which other keys may share. */
    balance_usd: formatUsd(key.balance),
    spent_usd: formatUsd(key.spent),
    credited_usd: formatUsd(key.credited),
    written_off_usd: formatUsd(key.writtenOff),
    limits: {
      concurrency: key.limits.concurrency,
      burst: key.limits.burst,
      requests_per_minute: key.limits.requestsPerMinute,
    },
    caps: {
      day: capView(caps.day, used.day),
      week: capView(caps.week, used.week),
      month: capView(caps.month, used.month),
      total: capView(caps.total, used.total),
    },
    expires_at: key.expiresAt?.toISOString() ?? null,
    previous_credential_until: key.previousUntil?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    last_charged_at: key.lastChargedAt?.toISOString() ?? null,
  };
}

export function operatorBoundsView({
  isSuspended,
  caps,
  limits,
  expiresAt,
  models,
}: OperatorBounds) {
  const capOf = (cap: bigint | undefined) => (cap === undefined ? null : formatUsd(cap));
  return {
    suspended: isSuspended,
    cap_day_usd: capOf(caps.day),
    cap_week_usd: capOf(caps.week),
    cap_month_usd: capOf(caps.month),
    cap_total_usd: capOf(caps.total),
    concurrency: limits.concurrency ?? null,
    burst: limits.burst ?? null,
    requests_per_minute: limits.requestsPerMinute ?? null,
    expires_at: expiresAt?.toISOString() ?? null,
    models,
  };
}

/** The amount used is reported even if there is no cap. */
function capView(cap: bigint | null, used: bigint) {
  return { cap_usd: cap === null ? null : formatUsd(cap), used_usd: formatUsd(used) };
}

export function accountView(account: AccountRecord) {
  return {
    object: 'account' as const,
    id: account.id,
    name: account.name,
    external_id: account.externalId,
    metadata: account.metadata,
    state: account.state,
    balance_usd: formatUsd(account.balance),
    ...settingsView(account),
    spent_usd: formatUsd(account.spent),
    credited_usd: formatUsd(account.credited),
    adjusted_usd: formatUsd(account.adjusted),
    expired_usd: formatUsd(account.expired),
    written_off_usd: formatUsd(account.writtenOff),
    /** Keys that are neither suspended, alone or with the account, nor revoked nor expired. */
    usable_keys: account.usableKeys,
    created_at: account.createdAt.toISOString(),
    last_charged_at: account.lastChargedAt?.toISOString() ?? null,
  };
}

export function unspentView({ lots, other }: UnspentCredit) {
  return {
    lots: lots.map((lot) => ({
      entry_id: lot.entryId,
      source: lot.source,
      expires_at: lot.expiresAt?.toISOString() ?? null,
      remaining_usd: formatUsd(lot.remaining),
    })),
    other_usd: formatUsd(other),
  };
}

export function entryView(entry: LedgerEntry) {
  const common = {
    object: 'ledger_entry' as const,
    id: entry.id,
    account_id: entry.accountId,
    seq: entry.seq.toString(),
    amount_usd: formatUsd(entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
    created_at: entry.createdAt.toISOString(),
  };
  if (entry.kind === 'charge') {
    return {
      ...common,
      kind: entry.kind,
      key_id: entry.keyId,
      ...chargeDetails(entry),
      ...(entry.cost === undefined ? {} : costView(-entry.delta, entry.cost)),
      upstream_account: entry.upstreamAccount ?? null,
      over_cap_usd: formatUsd(entry.overCap),
      remarks: entry.remarks ?? null,
    };
  }
  return { ...common, ...bookingDetails(entry), actor: entry.actor, note: noteView(entry.note) };
}

/** An entry that is not a charge. */
export type Booking = Exclude<LedgerEntry, { readonly kind: 'charge' }>;

function bookingDetails(entry: Booking) {
  return {
    kind: entry.kind,
    source: entry.kind === 'top_up' ? entry.source : null,
    reason: entry.kind === 'adjustment' ? entry.reason : null,
    reference: entry.reference ?? null,
    expires_at: (entry.kind === 'top_up' ? entry.expiresAt?.toISOString() : undefined) ?? null,
  };
}

function noteView(note: Booking['note']): string | null {
  if (note === undefined) return null;
  return note === 'erased' ? '(erased)' : note.text;
}

/** A charge as the holder of the key sees it: the request, its usage, its price. */
export function usageView(entry: ChargeEntry) {
  return {
    object: 'usage' as const,
    kind: entry.kind,
    request_id: entry.id,
    key_id: entry.keyId,
    created_at: entry.createdAt.toISOString(),
    charge_usd: formatUsd(-entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
    ...chargeDetails(entry),
  };
}

/** Any entry as the holder of a key sees it: without the operator's notes and names. */
export function holderEntryView(entry: LedgerEntry) {
  return entry.kind === 'charge' ? usageView(entry) : holderBookingView(entry);
}

export function holderBookingView(entry: Booking) {
  return {
    object: 'credit' as const,
    id: entry.id,
    created_at: entry.createdAt.toISOString(),
    amount_usd: formatUsd(entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
    ...holderBookingDetails(entry),
  };
}

/** The reference of a transfer is the id of the other account, which may be another customer's. */
function holderBookingDetails(entry: Booking) {
  const isTransfer = entry.kind === 'adjustment' && entry.reason === 'transfer';
  const details = bookingDetails(entry);
  return isTransfer ? { ...details, reference: 'another account' } : details;
}

function chargeDetails(entry: ChargeEntry) {
  const { usage } = entry;
  return {
    written_off_usd: formatUsd(entry.writtenOff),
    model: entry.model,
    endpoint: entry.endpoint,
    streamed: entry.streamed,
    upstream_id: entry.upstreamId ?? null,
    usage: {
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cache_read_input_tokens: usage.cacheReadInputTokens,
      cache_creation_input_tokens: usage.cacheCreationInputTokens,
      cache_creation_1h_input_tokens: usage.cacheCreation1hInputTokens,
    },
    rates: ratesView(entry.rates),
    delivered: deliveredView(entry),
    ...(entry.pricing === undefined ? {} : { pricing: pricingView(entry.pricing) }),
  };
}

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

/**
 * The prices of a model beyond its usual rates: those of a band or of one circumstance, and fees.
 * Several circumstances multiply. Empty for a model with one price and a table without fees.
 */
export function specialPricesView({ variants }: ModelPrice, fees: Fees) {
  const single = variants.filter(
    ({ abovePromptTokens, circumstances }) =>
      Object.keys(circumstances).length + Number(abovePromptTokens !== undefined) === 1,
  );
  const special = single.map(({ abovePromptTokens, circumstances, rates }) => ({
    ...(abovePromptTokens === undefined ? {} : { above_prompt_tokens: abovePromptTokens }),
    ...(circumstances.speed === undefined ? {} : { speed: circumstances.speed }),
    ...(circumstances.serviceTier === undefined ? {} : { service_tier: circumstances.serviceTier }),
    ...(circumstances.inferenceGeo === undefined
      ? {}
      : { inference_geo: circumstances.inferenceGeo }),
    rates: ratesView(rates),
  }));
  const paid = [...fees].filter(([, fee]) => fee > 0n);
  return {
    ...(special.length === 0 ? {} : { special_rates: special }),
    ...(paid.length === 0
      ? {}
      : { fees_usd: Object.fromEntries(paid.map(([what, fee]) => [what, formatUsd(fee)])) }),
  };
}

const TOKENS_PER_MILLION = 1_000_000n;

/** In USD per million tokens. */
export function ratesView(rates: SettledRates) {
  const perMillion = (rate: bigint) => formatUsd(rate * TOKENS_PER_MILLION);
  return {
    input: perMillion(rates.inputPerToken),
    output: perMillion(rates.outputPerToken),
    cache_read: perMillion(rates.cacheReadPerToken),
    cache_write_5m: perMillion(rates.cacheWrite5mPerToken),
    cache_write_1h: perMillion(rates.cacheWrite1hPerToken),
  };
}

/** @param by - The dimensions that were asked for. */
export function usageSumView(sum: UsageSum, by: readonly UsageDimension[]) {
  const { usage } = sum;
  const start = sum.start?.toISOString();
  return {
    object: 'usage_sum' as const,
    ...(start !== undefined && by.includes('day') ? { day: start.slice(0, 10) } : {}),
    ...(start !== undefined && by.includes('hour') ? { hour: start } : {}),
    ...(sum.model === undefined ? {} : { model: sum.model }),
    ...(sum.accountId === undefined ? {} : { account_id: sum.accountId }),
    ...(sum.keyId === undefined ? {} : { key_id: sum.keyId }),
    ...(sum.endpoint === undefined ? {} : { endpoint: sum.endpoint }),
    ...(sum.upstreamAccount === undefined
      ? {}
      : { upstream_account: sum.upstreamAccount === '' ? null : sum.upstreamAccount }),
    requests: sum.requests,
    input_tokens: Number(usage.inputTokens),
    output_tokens: Number(usage.outputTokens),
    cache_read_input_tokens: Number(usage.cacheReadInputTokens),
    cache_creation_input_tokens: Number(usage.cacheCreationInputTokens),
    cache_creation_1h_input_tokens: Number(usage.cacheCreation1hInputTokens),
    charged_usd: formatUsd(sum.listPrice - sum.writtenOff),
    written_off_usd: formatUsd(sum.writtenOff),
  };
}

/** A sum as operators see it: with the cost of its requests, as far as that is recorded. */
export function costedUsageSumView(sum: UsageSum, by: readonly UsageDimension[]) {
  return {
    ...usageSumView(sum, by),
    ...costFigures({ ...sum, charged: sum.listPrice - sum.writtenOff }),
  };
}

/** @returns no figure if no cost is known, and no margin if some are not */
export function costFigures({
  charged,
  cost,
  requests,
  costed,
}: Pick<UsageSum, 'cost' | 'requests' | 'costed'> & { readonly charged: bigint }) {
  if (costed === 0) return {};
  const known = costView(charged, cost);
  return costed === requests
    ? known
    : { cost_usd: known.cost_usd, requests_without_cost: requests - costed };
}

function costView(charged: bigint, cost: bigint) {
  return { cost_usd: formatUsd(cost), margin_usd: formatUsd(charged - cost) };
}

const DIMENSION_MEMBERS: Readonly<Record<UsageDimension, string>> = {
  day: 'day',
  hour: 'hour',
  model: 'model',
  account: 'account_id',
  key: 'key_id',
  endpoint: 'endpoint',
  upstream: 'upstream_account',
};

export function usageSumsCsv(
  sums: readonly ReturnType<typeof usageSumView>[],
  by: readonly UsageDimension[],
): string {
  const dimensions = by.map((dimension) => DIMENSION_MEMBERS[dimension]);
  return csvOf([...dimensions, ...Object.keys(usageFigures.shape)], sums);
}

export function eventView(event: StoredEvent) {
  return {
    object: 'event' as const,
    seq: event.seq.toString(),
    id: event.id,
    type: event.type,
    account_id: event.accountId === '' ? null : event.accountId,
    key_id: event.keyId ?? null,
    data: eventDetails(event.data),
    created_at: event.createdAt.toISOString(),
    attempts: event.attempts,
    delivered_at: event.deliveredAt?.toISOString() ?? null,
    last_error: event.lastError,
    mail: event.mail ?? null,
    mail_error: event.mailError,
  };
}

export function trailView(entry: TrailEntry) {
  return {
    object: 'trail_entry' as const,
    seq: entry.seq.toString(),
    created_at: entry.createdAt.toISOString(),
    actor: entry.actor,
    address: entry.address,
    action: entry.action,
    account_id: entry.accountId,
    key_id: entry.keyId,
    details: entry.details,
    personal: entry.personal === 'erased' ? '(erased)' : (entry.personal ?? null),
  };
}

export function auditView(report: AuditReport) {
  return {
    object: 'audit' as const,
    is_sound: report.isSound,
    accounts: report.accounts,
    keys: report.keys,
    entries: report.entries,
    archived: report.archived,
    credited_usd: formatUsd(report.credited),
    adjusted_usd: formatUsd(report.adjusted),
    expired_usd: formatUsd(report.expired),
    charged_usd: formatUsd(report.charged),
    written_off_usd: formatUsd(report.writtenOff),
    balances_usd: formatUsd(report.balances),
    gap_usd: formatUsd(report.gap),
    sealed: report.sealed,
    trail: report.trail,
    sealed_trail: report.sealedTrail,
    head: report.head === undefined ? null : sealText(report.head),
    orphaned_holds: report.orphanedHolds,
    quarantined: report.quarantined,
    conflicts: report.conflicts,
    differences: report.differences.map((difference) => ({
      check: difference.check,
      account_id: difference.accountId ?? null,
      key_id: difference.keyId ?? null,
      entry_id: difference.entryId ?? null,
      expected: difference.expected,
      found: difference.found,
    })),
  };
}

/** `<block>:<hash>`, the form in which people store it and pass it to an audit. */
function sealText({ block, hash }: SealHead): string {
  return `${block.toString()}:${hash}`;
}

export function holdView(hold: HoldRecord) {
  return {
    object: 'hold' as const,
    request_id: hold.requestId,
    account_id: hold.accountId,
    key_id: hold.keyId,
    amount_usd: formatUsd(hold.amount),
    created_at: hold.createdAt.toISOString(),
    orphaned_at: hold.orphanedAt?.toISOString() ?? null,
  };
}

/** Entries as the holder of a key sees them. */
export function entriesCsv(entries: readonly LedgerEntry[]): string {
  const rows = entries.map(entryRowOf);
  const isPlain = rows.every(
    ({ terms, fees_usd }) => terms === undefined && fees_usd === undefined,
  );
  const columns = Object.keys(entryRow.shape).filter(
    (name) => !isPlain || (name !== 'terms' && name !== 'fees_usd'),
  );
  return csvOf(columns, rows);
}

function entryRowOf(entry: LedgerEntry): z.output<typeof entryRow> {
  const common = {
    kind: entry.kind,
    id: entry.id,
    created_at: entry.createdAt.toISOString(),
    amount_usd: formatUsd(entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
  };
  if (entry.kind !== 'charge') return { ...common, ...holderBookingDetails(entry) };
  const { usage, rates, pricing, delivered, upstream_id: _, ...details } = chargeDetails(entry);
  return {
    ...common,
    ...details,
    ...usage,
    rate_input: rates.input,
    rate_output: rates.output,
    rate_cache_read: rates.cache_read,
    rate_cache_write_5m: rates.cache_write_5m,
    rate_cache_write_1h: rates.cache_write_1h,
    key_id: entry.keyId,
    ...(pricing === undefined
      ? {}
      : {
          terms: Object.entries(pricing.terms)
            .map(([name, value]) => `${name}=${value}`)
            .join(' '),
          fees_usd: formatUsd(
            (entry.pricing?.fees ?? []).reduce(
              (sum, { units, perUnit }) => sum + BigInt(units) * perUnit,
              0n,
            ),
          ),
        }),
    ...(delivered === null ? {} : { delivered_output_tokens: delivered.output_tokens }),
  };
}
