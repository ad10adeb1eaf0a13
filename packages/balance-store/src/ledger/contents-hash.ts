/**
 * The hash of what an entry records. Using an id again with another hash is a conflict, with the
 * same hash a replay.
 */

import { hash } from 'node:crypto';
import type { Settlement, TopUp } from '../store.js';
import { rateTextsOf } from './rate-texts.js';

/** Covers every recorded field. In hexadecimal. */
export function settlementHash(settlement: Settlement): string {
  const { usage, rates } = settlement;
  return hashOf([
    'charge',
    settlement.keyId,
    settlement.amount.toString(),
    settlement.model,
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
    usage.cacheCreation1hInputTokens,
    ...rateTextsOf(rates).units,
    settlement.endpoint,
    settlement.streamed,
    settlement.upstreamId ?? null,
    ...(settlement.remarks === undefined ? [] : [settlement.remarks]),
  ]);
}

/** Leaves out the actor, so that another operator may replay the same top-up. In hexadecimal. */
export function topUpHash({ keyId, amount }: TopUp): string {
  return hashOf(['top_up', keyId, amount.toString()]);
}

function hashOf(contents: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(contents), 'hex');
}
