/** The calls that the primary and its workers make to each other. */

import type { Settings } from '../../config/settings.js';
import type { WorkerMetrics } from '../../observe/registry.js';
import type { LedgerCalls } from './shared-ledger.js';
import type { LimitCalls } from './shared-limits.js';
import type { ResponseCalls } from './shared-responses.js';

/** Number of a worker, from 1. Its replacement gets the same number. */
export type Slot = number;

export interface PrimaryCalls extends LedgerCalls, LimitCalls, ResponseCalls {}

export interface WorkerCalls {
  /** The first call. It passes the values that the worker's environment does not contain. */
  serve(as: { readonly slot: Slot; readonly settings: Settings }): Promise<ServeOutcome>;
  /** @returns the version that is then in force; `undefined` before the worker serves */
  applySettings(settings: Settings): string | undefined;
  settingsVersion(): string | undefined;
  /** Makes the worker's `/readyz` answer 503. The worker continues to accept requests. */
  announceStop(): void;
  drain(): Promise<{ readonly abandoned: number }>;
  metrics(): Promise<WorkerMetrics>;
  /** How many client connections the worker has; `undefined` before it serves. */
  connections(): number | undefined;
  /** Closes this many connections, each after its next response. */
  shedConnections(count: number): void;
}

export type ServeOutcome =
  | { readonly outcome: 'serving'; readonly url: string }
  | { readonly outcome: 'failed'; readonly message: string; readonly exitCode: number };
