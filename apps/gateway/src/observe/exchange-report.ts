/** What the exchange with the upstream came to, for logs, metrics and traces. */

import type { SettledPricing, Settlement } from '@gateway/balance-store';
import type { Usage } from '@gateway/translator';
import type { ChargeRemark } from '../ledger/charges-of-response.js';

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

export interface Charge {
  /** The counts of the message. They do not include the tokens listed in `parts`. */
  readonly usage: Usage;
  /** How the rates of the message were chosen, and its fees. */
  readonly pricing: SettledPricing | undefined;
  /** The charge of the key, with all parts, in units of 10^-14 USD, like all amounts here. */
  readonly charge: bigint;
  /** The part of the price that the balance did not cover; only with `OVERDRAFT=none`. */
  readonly writtenOff: bigint;
  /** What it cost the operator, with all parts; `undefined` if that of one is not known. */
  readonly cost: bigint | undefined;
  readonly balance: bigint;
  /** The parts that have a ledger entry of their own. */
  readonly parts: readonly ChargedPart[];
  /** Details of the usage that contradict its counts, and what is unknown to this version. */
  readonly remarks: readonly ChargeRemark[];
  /** How many parts of the usage were set aside for the operator: most have no known price. */
  readonly setAside: number;
}

/**
 * Tokens of another model than the request's own, or work that the counts of the message do not
 * include. The amounts are included in those of the {@link Charge}.
 */
export interface ChargedPart extends Pick<
  Settlement,
  'requestId' | 'model' | 'usage' | 'pricing' | 'cost'
> {
  readonly charge: bigint;
  readonly writtenOff: bigint;
}

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
  /** What the client got instead of a response. */
  readonly error?: ReportedError | undefined;
  /** For the operator: why there was no usable response. Never contains the upstream's message. */
  readonly fault: string | undefined;
  readonly upstreamStatus: number | undefined;
  readonly upstreamRequestId: string | undefined;
  /** From sending the request to the first byte of the response's body. */
  readonly upstreamFirstByteMs: number | undefined;
}
