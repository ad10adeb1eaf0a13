/** Makes the charge of a finished response durable, or reports why no charge is confirmed. */

import { StoreUnavailableError } from '@gateway/balance-store';
import type { SettleOutcome } from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import { chargesOf } from '../../ledger/charges-of-response.js';
import type { ChargedExchange, FinishedResponse } from '../../ledger/charges-of-response.js';
import { atPricesOfHome } from '../../ledger/cost-at-home.js';
import type { Charged } from '../../ledger/fold-outcomes.js';
import { withinBound } from '../../ledger/usage-bound.js';
import type { UsageBound } from '../../ledger/usage-bound.js';
import type { LossReason } from '../../observe/exchange-report.js';
import type { SettleParts } from './relay-parts.js';

export type SettledResponse =
  Charged | { readonly outcome: 'lost'; readonly loss: LossReason; readonly refusal: Refusal };

export interface SettledExchange extends ChargedExchange {
  readonly usageBound: UsageBound;
}

/** How long a response waits for a database that does not answer. */
const SETTLE_DEADLINE_MS = 90_000;

/**
 * Resolves when the charge is in the ledger, when there will be none, or when the ledger has not
 * confirmed it within the deadline (`ledger_unavailable`): it may still be in the ledger then.
 */
export async function settleCharge(
  response: FinishedResponse,
  admitted: SettledExchange,
  settling: SettleParts,
): Promise<SettledResponse> {
  const exchange = atPricesOfHome(admitted);
  const reading = withinBound(response.usage, exchange.usageBound, exchange.prices.fees);
  if (reading.outcome === 'invalid') {
    await quarantine(reading.reason, exchange, settling);
    return { outcome: 'lost', loss: 'invalid_usage', refusal: RESPONSE_UNUSABLE };
  }
  const { overdraft, costs, homeCosts } = settling;
  const atHome = homeCosts?.(exchange.call.account, Date.now());
  const plan = chargesOf(reading, response, exchange, { overdraft, costs, atHome });
  let outcomes: readonly SettleOutcome[];
  try {
    outcomes = await settling.store.settleTogether(plan.settlements, {
      deadlineMs: SETTLE_DEADLINE_MS,
    });
    await Promise.all(plan.unpriced.map((part) => quarantine(part.reason, part, settling)));
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { outcome: 'lost', loss: 'ledger_unavailable', refusal: LEDGER_UNAVAILABLE };
  }
  return (
    plan.chargedBy(outcomes) ?? {
      outcome: 'lost',
      loss: 'ledger_refused',
      refusal: RESPONSE_UNUSABLE,
    }
  );
}

/** Sets aside, for the operator, usage that cannot be charged. */
export async function quarantine(
  reason: string,
  exchange: Pick<ChargedExchange, 'requestId' | 'keyId' | 'price' | 'spender'>,
  { store }: Pick<SettleParts, 'store'>,
): Promise<void> {
  const { requestId, keyId, price, spender } = exchange;
  const by = spender?.memberId === undefined ? '' : `; spent by ${spender.memberId}`;
  try {
    await store.quarantine({ requestId, keyId, model: price.id, reason: reason + by });
  } catch (error) {
    // The loss is counted and logged in any case. The row only makes it easier to find for the
    // operator.
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

export const RESPONSE_UNUSABLE = newRefusal('upstream_not_chargeable');

const LEDGER_UNAVAILABLE = newRefusal('charge_unconfirmed');
