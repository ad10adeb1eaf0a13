/** What the exchange with the upstream came to, for logs, metrics and traces. */

import type { Charge } from '../ledger/fold-outcomes.js';

/** Why no charge was confirmed for a request that may have cost the operator money. */
export const LOSS_REASONS = [
  'error_event',
  'truncated',
  'malformed',
  'too_large',
  'invalid_usage',
  'ledger_unavailable',
  'ledger_refused',
] as const;

export type LossReason = (typeof LOSS_REASONS)[number];

/** An error as the client got it. */
export interface ReportedError {
  readonly type: string;
  /** May quote the request, so it is never logged: see `requests/error-words.ts`. */
  readonly message: string;
  /** Who wrote the message. */
  readonly source: 'gateway' | 'upstream';
}

export interface ExchangeReport {
  /** The status that was sent, or that would have been sent if the client had not left. */
  readonly status: number;
  readonly streamed: boolean;
  readonly clientLeft: boolean;
  /** `undefined` if no charge was confirmed. */
  readonly charged: Charge | undefined;
  readonly loss: LossReason | undefined;
  /** The upstream refuses the operator's credential, bill or account, and not only this request. */
  readonly operatorMustAct: boolean;
  /**
   * The limits of the upstream refused this request, and not only because of this customer: for how
   * long.
   */
  readonly limitedForSeconds?: number | undefined;
  /** What the client got instead of a response. */
  readonly error?: ReportedError | undefined;
  /** For the operator: why there was no usable response. Never contains the upstream's message. */
  readonly fault: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamRequestId: string | undefined;
  /** Who serves the models of the home that answered, as OpenTelemetry names them. */
  readonly upstreamProvider: string;
  /** From sending the request to the first byte of the response's body. */
  readonly upstreamFirstByteMs: number | undefined;
}
