/** What the admin API sends. Amounts are exact decimal texts. */

import type { BookingFacts, ChargeFacts, Rates, TokenCounts } from '../shared/charge.js';
import type { KeyFacts } from '../shared/key-parts.js';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly external_id: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly balance_usd: string;
  readonly low_balance_usd: string | null;
  readonly spent_usd: string;
  readonly credited_usd: string;
  readonly adjusted_usd: string;
  readonly expired_usd: string;
  readonly written_off_usd: string;
  readonly usable_keys: number;
  readonly created_at: string;
  readonly last_charged_at: string | null;
}

export interface AccountWithLots extends Account {
  readonly unspent: {
    readonly lots: readonly {
      readonly entry_id: string;
      readonly source: string;
      readonly expires_at: string | null;
      readonly remaining_usd: string;
    }[];
    readonly other_usd: string;
  };
}

export interface Key extends KeyFacts {
  readonly account_id: string;
  readonly external_id: string | null;
  readonly balance_usd: string;
  readonly limits: {
    readonly concurrency: number;
    readonly burst: number;
    readonly requests_per_minute: number;
  };
}

export type NewKey = Key & { readonly api_key: string | null };

interface EntryCommon {
  readonly id: string;
  readonly account_id: string;
  readonly amount_usd: string;
}

export interface ChargeEntry extends EntryCommon, ChargeFacts {
  readonly kind: 'charge';
  readonly key_id: string;
  readonly upstream_account: string | null;
  readonly over_cap_usd: string;
}

export interface BookingEntry extends EntryCommon, BookingFacts {
  readonly actor: string | null;
  readonly note: string | null;
}

export type Entry = ChargeEntry | BookingEntry;

export interface UsageSum extends TokenCounts {
  readonly day?: string | undefined;
  readonly model?: string | undefined;
  readonly account_id?: string | undefined;
  readonly requests: number;
  readonly charged_usd: string;
  readonly written_off_usd: string;
}

export interface EventRow {
  readonly seq: string;
  readonly type: string;
  readonly account_id: string | null;
  readonly key_id: string | null;
  readonly data: unknown;
  readonly created_at: string;
  readonly attempts: number;
  readonly delivered_at: string | null;
  readonly last_error: string | null;
}

export interface TrailRow {
  readonly seq: string;
  readonly created_at: string;
  readonly actor: string;
  readonly address: string | null;
  readonly action: string;
  readonly account_id: string | null;
  readonly key_id: string | null;
  readonly details: unknown;
}

interface Spend {
  readonly requests: number;
  readonly charged_usd: string;
  readonly written_off_usd: string;
}

interface Counted {
  readonly status: string;
}

export interface TodaySummary {
  readonly day: string;
  readonly spend: {
    readonly today: Spend;
    readonly last_7_days: Spend;
    readonly last_30_days: Spend;
  };
  readonly ledger: {
    readonly accounts: number;
    readonly unspent_usd: string;
    readonly overdrawn_usd: string;
    readonly written_off_usd: string;
    readonly quarantined: number;
    readonly conflicts: number;
    readonly orphaned_holds: number;
    readonly undelivered_events: number;
    readonly last_seal_at: string | null;
  };
  /** Of the replica that answers. */
  readonly gateway: {
    readonly since: string;
    readonly requests: readonly (Counted & { readonly requests: number })[];
    readonly unbilled: readonly { readonly reason: string; readonly responses: number }[];
    readonly first_byte_ms: { readonly p50: number | null; readonly p95: number | null };
    readonly upstream: {
      readonly responses: readonly (Counted & { readonly responses: number })[];
      readonly account_refused: number;
    };
  } | null;
}

export interface TableModel {
  readonly id: string;
  readonly display_name: string;
  readonly rates: Rates;
  readonly next_change: { readonly effective_from: string; readonly rates: Rates } | null;
  readonly is_deprecated: boolean;
  readonly max_output_tokens: number;
  readonly context_window: number;
}

export interface ModelComparison {
  /** Ids of the table that the upstream does not offer. */
  readonly gone: readonly string[];
  /** Entries for the price table. */
  readonly missing: readonly { readonly id: string }[];
}

export interface AuditReport {
  readonly is_sound: boolean;
  readonly accounts: number;
  readonly keys: number;
  readonly entries: number;
  readonly credited_usd: string;
  readonly adjusted_usd: string;
  readonly expired_usd: string;
  readonly charged_usd: string;
  readonly written_off_usd: string;
  readonly balances_usd: string;
  readonly gap_usd: string;
  readonly head: string | null;
  readonly orphaned_holds: number;
  readonly quarantined: number;
  readonly conflicts: number;
  readonly differences: readonly {
    readonly check: string;
    readonly account_id: string | null;
    readonly key_id: string | null;
    readonly entry_id: string | null;
    readonly expected: string;
    readonly found: string;
  }[];
}

export interface AuditJob {
  readonly id: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly started_at: string;
  readonly finished_at: string | null;
  readonly entries: number;
  readonly expected_entries: number;
  readonly report: AuditReport | null;
  readonly reason: string | null;
}

export interface RequestFacts {
  readonly request_id: string;
  readonly state: 'charged' | 'in_flight' | 'orphaned';
  readonly entry: Entry | null;
  readonly hold: { readonly amount_usd: string; readonly created_at: string } | null;
  readonly key: Key;
  readonly account: Account | null;
}

export interface Payment {
  readonly id: string;
  readonly account_id: string;
  readonly amount_usd: string;
  readonly state: 'open' | 'pending' | 'paid' | 'failed' | 'expired';
  readonly by: 'key' | 'operator' | 'auto_top_up';
  readonly url: string | null;
  readonly url_expires_at: string | null;
  readonly reference: string | null;
  readonly failure_code: string | null;
  readonly created_at: string;
}

export interface PaymentMoney extends Payment {
  readonly started_by: string;
  readonly credited_usd: string;
  readonly taken_back_usd: string;
  readonly refundable_usd: string;
  readonly unspent_usd: string;
}

export interface Refund {
  readonly id: string;
  readonly amount_usd: string;
  readonly payment: PaymentMoney;
}

export interface UnbookedPayment {
  readonly id: string;
  readonly account_id: string | null;
  readonly fact: string;
  readonly reason: string;
  readonly payment_id: string | null;
  readonly reference: string;
  readonly amount_cents: number;
  readonly currency: string;
  readonly created_at: string;
}

export interface Reconciliation {
  readonly compared: number;
  readonly missing: readonly {
    readonly fact: string;
    readonly id: string;
    readonly reference: string;
    readonly account_id: string | null;
    readonly amount_cents: number;
    readonly currency: string;
    /** `missing` unless it was to be booked. */
    readonly outcome: string;
  }[];
}

export interface PromoCode {
  readonly code: string;
  readonly amount_usd: string;
  readonly expires_at: string | null;
  readonly credit_expires_at: string | null;
  readonly max_redemptions: number;
  readonly redemptions: number;
  readonly created_at: string;
}
