/** The facts of a finished request that logs and metrics report. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Spender } from '@gateway/balance-store';
import type { TraceIds } from '../base/trace-ids.js';
import type { ExchangeReport, ReportedError } from './exchange-report.js';

/** The endpoints that call the upstream. */
export const EXCHANGES = [
  'messages',
  'count_tokens',
  'chat.completions',
  'responses',
  'input_tokens',
] as const;
export type ExchangeEndpoint = (typeof EXCHANGES)[number];

/** The endpoints whose requests are counted: those that need a key, and Stripe's webhook. */
export const ENDPOINTS = [
  ...EXCHANGES,
  'kept_responses',
  'models',
  'session',
  'account',
  'balance',
  'usage',
  'requests',
  'statement',
  'keys',
  'members',
  'links',
  'key_link',
  'notices',
  'prices',
  'promo_codes',
  'top_ups',
  'top_up_starts',
  'auto_top_up',
  'stripe_webhook',
] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** The limits that can refuse an authenticated request: of its key, of its account, of money. */
export const LIMIT_NAMES = [
  'concurrency',
  'rate',
  'account_concurrency',
  'account_rate',
  'balance',
  'cap',
  'budget',
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

export interface FinishedRequest {
  readonly requestId: string;
  readonly endpoint: Endpoint;
  readonly status: number;
  readonly durationMs: number;
  readonly keyId?: string;
  /** The account of the key. */
  readonly accountId?: string;
  readonly model?: string;
  /** Who spends, once that was decided. */
  readonly spender?: Spender | undefined;
  readonly limited?: LimitName | undefined;
  /** The gateway's own refusal, before anything was sent upstream. */
  readonly error?: ReportedError | undefined;
  /** The client's headers. Only the record of requests reads them, and few of them. */
  readonly headers?: IncomingHttpHeaders;
  /** Why the gateway itself could not serve it. */
  readonly fault?: string | undefined;
  readonly report?: ExchangeReport;
  /** The upstream account that answered, if there are several. */
  readonly account?: string | undefined;
  /** The span of the request, if it has one. */
  readonly trace?: TraceIds | undefined;
}
