/** Holds the highest possible charge of a request; only with `OVERDRAFT=none`. */

import type { KeyRecord } from '@gateway/balance-store';
import { placeHold } from './admission.js';
import type { RefusedAdmission } from './admission.js';
import { adviceOn, chargeWith, lowerLimit, writeLimit } from './preparation/lowerable-limit.js';
import type { Exchange, Sendable } from './route.js';

/** The limit that was sent instead of the client's or the model's. */
export const SENT_LIMIT_HEADER = 'x-gateway-max-tokens';

/**
 * Holds the most that the request can cost. If that is too much and the limit of its answer may be
 * lowered, lowers it to what can be held, down to the least useful one.
 */
export async function holdCharge(
  { requestId, parts, res }: Exchange,
  key: KeyRecord,
  preparation: Sendable & { readonly chargeBound: bigint },
): Promise<Sendable | RefusedAdmission> {
  const { chargeBound, limit, kept } = preparation;
  const advice = adviceOn(limit);
  const hold = (amount: bigint) => placeHold(key, { requestId, amount, advice }, parts);
  let refused = await hold(chargeBound);
  if (refused === undefined) return preparation;
  if (limit === undefined) return refused;
  let { maxTokens } = limit;
  // A second lower limit is needed if the balance allows less than a cap, or changed meanwhile.
  for (let attempt = 0; attempt < 2 && refused?.available !== undefined; attempt += 1) {
    const lower = Math.min(maxTokens, lowerLimit(limit, refused.available));
    if (lower === maxTokens) break;
    maxTokens = lower;
    refused = await hold(chargeWith(limit, maxTokens));
  }
  if (refused !== undefined) return refused;
  writeLimit(preparation.body.peek(), limit.span, maxTokens);
  res.setHeader(SENT_LIMIT_HEADER, String(maxTokens));
  const { translation } = kept;
  if (translation === undefined) return preparation;
  const detail = `sent as ${String(maxTokens)}, which the balance covers`;
  const notes = [...translation.notes, { path: limit.member, reason: 'capped', detail } as const];
  return { ...preparation, kept: { ...kept, translation: { ...translation, notes } } };
}
