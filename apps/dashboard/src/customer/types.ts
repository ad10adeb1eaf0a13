/** What the gateway sends to the holder of a key. Amounts are exact decimal texts. */

import type { BookingFacts, ChargeFacts, TokenCounts } from '../shared/charge.js';
import type { KeyFacts } from '../shared/key-parts.js';

export interface Balance {
  readonly balance_usd: number;
  readonly expires_at: string | null;
  readonly is_active: boolean;
  readonly last_synced_at: string;
}

export interface Charge extends ChargeFacts {
  readonly object: 'usage';
  readonly kind: 'charge';
  readonly request_id: string;
  readonly charge_usd: string;
}

export interface Credit extends BookingFacts {
  readonly object: 'credit';
  readonly id: string;
  readonly amount_usd: string;
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

export type Key = KeyFacts;

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
