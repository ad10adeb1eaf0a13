/**
 * Keys, entries and audits as JSON: snake case, exact decimal strings for money, ISO 8601 for time.
 */

import type {
  AuditReport,
  HoldRecord,
  KeyRecord,
  LedgerEntry,
  SealHead,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';

export function keyView(key: KeyRecord) {
  return {
    object: 'api_key' as const,
    id: key.id,
    name: key.name,
    hint: key.hint,
    state: key.state,
    is_active: key.isActive,
    balance_usd: formatUsd(key.balance),
    spent_usd: formatUsd(key.spent),
    credited_usd: formatUsd(key.credited),
    written_off_usd: formatUsd(key.writtenOff),
    limits: {
      concurrency: key.limits.concurrency,
      burst: key.limits.burst,
      requests_per_minute: key.limits.requestsPerMinute,
    },
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    last_charged_at: key.lastChargedAt?.toISOString() ?? null,
  };
}

export function entryView(entry: LedgerEntry) {
  const common = {
    object: 'ledger_entry' as const,
    kind: entry.kind,
    id: entry.id,
    key_id: entry.keyId,
    seq: entry.seq.toString(),
    amount_usd: formatUsd(entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
    created_at: entry.createdAt.toISOString(),
  };
  return entry.kind === 'top_up'
    ? { ...common, kind: entry.kind, actor: entry.actor }
    : {
        ...common,
        kind: entry.kind,
        ...chargeDetails(entry),
        remarks: entry.remarks ?? null,
      };
}

/** A charge as the holder of the key sees it: the request, its usage, its price. */
export function usageView(entry: LedgerEntry & { readonly kind: 'charge' }) {
  return {
    object: 'usage' as const,
    request_id: entry.id,
    created_at: entry.createdAt.toISOString(),
    charge_usd: formatUsd(-entry.delta),
    balance_after_usd: formatUsd(entry.balanceAfter),
    ...chargeDetails(entry),
  };
}

function chargeDetails(entry: LedgerEntry & { readonly kind: 'charge' }) {
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
  };
}

export function auditView(report: AuditReport) {
  return {
    object: 'audit' as const,
    is_sound: report.isSound,
    keys: report.keys,
    entries: report.entries,
    credited_usd: formatUsd(report.credited),
    charged_usd: formatUsd(report.charged),
    written_off_usd: formatUsd(report.writtenOff),
    balances_usd: formatUsd(report.balances),
    gap_usd: formatUsd(report.gap),
    sealed: report.sealed,
    head: report.head === undefined ? null : sealText(report.head),
    orphaned_holds: report.orphanedHolds,
    quarantined: report.quarantined,
    conflicts: report.conflicts,
    differences: report.differences.map((difference) => ({
      check: difference.check,
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
    key_id: hold.keyId,
    amount_usd: formatUsd(hold.amount),
    created_at: hold.createdAt.toISOString(),
    orphaned_at: hold.orphanedAt?.toISOString() ?? null,
  };
}

const CSV_COLUMNS = [
  'request_id',
  'created_at',
  'model',
  'endpoint',
  'streamed',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cache_creation_1h_input_tokens',
  'charge_usd',
  'written_off_usd',
  'balance_after_usd',
] as const;

/**
 * RFC 4180. No value can hold a comma, a quote or a line break: ids, model names, numbers and
 * dates.
 */
export function usageCsv(entries: readonly (LedgerEntry & { readonly kind: 'charge' })[]): string {
  const rows = entries.map((entry) => {
    const { usage, ...rest } = usageView(entry);
    const cells: Record<string, unknown> = { ...rest, ...usage };
    return CSV_COLUMNS.map((column) => String(cells[column])).join(',');
  });
  return [CSV_COLUMNS.join(','), ...rows].map((line) => `${line}\r\n`).join('');
}
