/** What the primary and its workers ask of each other. */

import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { AnthropicTarget } from '../upstream/anthropic.js';
import type { LedgerCalls } from './shared-ledger.js';
import type { LimitCalls } from './shared-limits.js';

/** The first worker's is 1, and whoever replaces it has the same. */
export type Slot = number;

export interface PrimaryCalls extends LedgerCalls, LimitCalls {}

export interface WorkerCalls {
  /** The first call, which says what its environment does not. */
  serve(as: { readonly slot: Slot; readonly upstream: AnthropicTarget }): Promise<ServeOutcome>;
  drain(): Promise<{ readonly abandoned: number }>;
  metrics(): Promise<WorkerMetrics>;
  /** How many clients' connections it has; `undefined` before it serves. */
  connections(): number | undefined;
  /** Ends so many of them, each after an answer. */
  shedConnections(count: number): void;
}

export type ServeOutcome =
  | { readonly outcome: 'serving'; readonly url: string }
  | { readonly outcome: 'failed'; readonly message: string; readonly exitCode: number };

export type WorkerMetrics = readonly MetricObjectWithValues<MetricValue<string>>[];
