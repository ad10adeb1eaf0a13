/**
 * What a finished response costs, made durable: or why it costs nobody anything.
 */

import { StoreUnavailableError } from '@gateway/balance-store';
import type { SettleOutcome } from '@gateway/balance-store';
import { chargeOf } from '@gateway/billing';
import type { ModelPrice } from '@gateway/billing';
import type { Usage, UsageReading } from '@gateway/translator';
import type { RequestLedger } from '../ledger.js';
import type { Refusal } from '../refusal.js';
import type { ResponseFormat } from './format.js';

/** Why a request that may have cost the operator was charged nothing. */
export type LossReason =
  | 'error_event'
  | 'truncated'
  | 'malformed'
  | 'too_large'
  | 'invalid_usage'
  | 'ledger_unavailable'
  | 'ledger_refused'
  | 'overdrawn';

export type Bill =
  | {
      readonly outcome: 'charged';
      readonly usage: Usage;
      /** Units of 10^-14 USD, as is the balance after it. */
      readonly charge: bigint;
      readonly balance: bigint;
    }
  | { readonly outcome: 'lost'; readonly loss: LossReason; readonly refusal: Refusal };

interface BilledExchange {
  readonly requestId: string;
  readonly keyId: string;
  readonly price: ModelPrice;
  readonly format: Pick<ResponseFormat, 'dialect'>;
}

interface Ledger {
  readonly store: RequestLedger;
}

/** A running stream waits this long for a database that is away. */
const SETTLE_DEADLINE_MS = 90_000;

/** Resolves when the charge is in the ledger, or it is certain that there will be none. */
export async function settle(
  response: {
    readonly usage: UsageReading;
    readonly messageId: string | undefined;
    readonly streamed: boolean;
  },
  exchange: BilledExchange,
  { store }: Ledger,
): Promise<Bill> {
  if (response.usage.outcome === 'invalid') {
    await quarantine(response.usage.reason, exchange, { store });
    return { outcome: 'lost', loss: 'invalid_usage', refusal: RESPONSE_UNUSABLE };
  }
  const { usage } = response.usage;
  const { price, keyId, requestId, format } = exchange;
  const charge = chargeOf(usage, price.rates);
  let settled: SettleOutcome;
  try {
    settled = await store.settle(
      {
        requestId,
        keyId,
        amount: charge,
        model: price.id,
        usage,
        rates: price.rates,
        endpoint: format.dialect,
        streamed: response.streamed,
        upstreamId: response.messageId,
      },
      { deadlineMs: SETTLE_DEADLINE_MS },
    );
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { outcome: 'lost', loss: 'ledger_unavailable', refusal: LEDGER_UNAVAILABLE };
  }
  switch (settled.outcome) {
    case 'settled':
    case 'replayed':
      return { outcome: 'charged', usage, charge, balance: settled.balance };
    case 'overdrawn':
      return { outcome: 'lost', loss: 'overdrawn', refusal: OVERDRAWN };
    case 'conflict':
    case 'quarantined':
      return { outcome: 'lost', loss: 'ledger_refused', refusal: RESPONSE_UNUSABLE };
  }
}

/** Sets aside, for the operator, what cannot be billed. */
export async function quarantine(
  reason: string,
  { requestId, keyId, price }: BilledExchange,
  { store }: Ledger,
): Promise<void> {
  try {
    await store.quarantine({ requestId, keyId, model: price.id, reason });
  } catch (error) {
    // The loss is counted and logged all the same; the row was for the operator's convenience.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

export const RESPONSE_UNUSABLE: Refusal = {
  status: 502,
  type: 'api_error',
  message: 'the upstream answered with something that cannot be billed; nothing was charged',
  shouldRetry: false,
};

/** Only with `OVERDRAFT=none`, and only if the upstream used more than its request allowed for. */
const OVERDRAWN: Refusal = {
  status: 402,
  type: 'billing_error',
  message:
    'this response costs more than was set aside for it and than is left; nothing was charged',
  code: 'insufficient_quota',
  shouldRetry: false,
};

const LEDGER_UNAVAILABLE: Refusal = {
  status: 503,
  type: 'api_error',
  message: 'the charge of this response could not be recorded; nothing was charged',
  shouldRetry: false,
};
