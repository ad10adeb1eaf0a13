/** What the gateway sends to the holder of a key. Amounts are exact decimal texts. */

import type { Rates, TokenCounts } from '../shared/charge.js';

export interface Balance {
  readonly balance_usd: number;
  readonly expires_at: string | null;
  readonly is_active: boolean;
  readonly last_synced_at: string;
}

export interface Charge {
  readonly object: 'usage';
  readonly kind: 'charge';
  readonly request_id: string;
  readonly created_at: string;
  readonly charge_usd: string;
  readonly balance_after_usd: string;
  readonly written_off_usd: string;
  readonly model: string;
  readonly endpoint: string;
  readonly streamed: boolean;
  readonly upstream_id: string | null;
  readonly usage: TokenCounts;
  readonly rates: Rates;
}

export interface Credit {
  readonly object: 'credit';
  readonly kind: 'top_up' | 'adjustment' | 'expiry';
  readonly id: string;
  readonly created_at: string;
  readonly amount_usd: string;
  readonly balance_after_usd: string;
  readonly source: string | null;
  readonly reason: string | null;
  readonly reference: string | null;
  readonly expires_at: string | null;
}

export type Entry = Charge | Credit;

export interface UsageSum extends TokenCounts {
  readonly day?: string | undefined;
  readonly model?: string | undefined;
  readonly requests: number;
  readonly charged_usd: string;
  readonly written_off_usd: string;
}

export interface Statement {
  readonly month: string;
  readonly opening_balance_usd: string;
  readonly closing_balance_usd: string;
  readonly charged_usd: string;
  readonly bookings: readonly Entry[];
  readonly charges: readonly {
    readonly day: string;
    readonly model: string;
    readonly requests: number;
    readonly lines: readonly {
      readonly class: string;
      readonly tokens: number;
      readonly rate_usd_per_million: string;
      readonly amount_usd: string;
    }[];
    readonly written_off_usd: string;
    readonly amount_usd: string;
  }[];
}

export interface Cap {
  readonly cap_usd: string | null;
  readonly used_usd: string;
}

export interface Key {
  readonly id: string;
  readonly name: string;
  readonly hint: string;
  readonly state: 'active' | 'suspended' | 'revoked';
  readonly is_active: boolean;
  readonly scope: 'use' | 'manage';
  readonly models: readonly string[] | null;
  readonly spent_usd: string;
  readonly caps: {
    readonly day: Cap;
    readonly week: Cap;
    readonly month: Cap;
    readonly total: Cap;
  };
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly last_charged_at: string | null;
}

export interface Payment {
  readonly id: string;
  readonly amount_usd: string;
  readonly state: 'open' | 'pending' | 'paid' | 'failed' | 'expired';
  readonly by: 'key' | 'operator' | 'auto_top_up';
  readonly url: string | null;
  /** The provider's id, once it is paid. The credit has the same. */
  readonly reference: string | null;
  readonly failure_code: string | null;
  readonly created_at: string;
}

export interface AutoTopUp {
  readonly state: 'off' | 'needs_method' | 'on' | 'stopped';
  readonly threshold_usd: string | null;
  readonly amount_usd: string | null;
  readonly max_per_day: number | null;
  readonly max_per_month_usd: string | null;
  readonly stopped_code: string | null;
}
