/** Holds the highest possible charge of a request; only with `OVERDRAFT=none`. */

import type { KeyRecord } from '@gateway/balance-store';
import { placeHold } from './admission.js';
import type { RefusedAdmission } from './admission.js';
import { chargeWith, lowerLimit, writeLimit } from './preparation/chosen-limit.js';
import type { Exchange, Sendable } from './route.js';

/**
 * Holds the most that the request can cost. If that is too much and the gateway chose the limit of
 * its tokens, lowers the limit to what can be held, down to the least useful one.
 */
export async function holdCharge(
  { requestId, parts }: Exchange,
  key: KeyRecord,
  preparation: Sendable & { readonly chargeBound: bigint },
): Promise<Sendable | RefusedAdmission> {
  const { chargeBound, chosenLimit, kept } = preparation;
  const { translation } = kept;
  const hold = (amount: bigint) => placeHold(key, { requestId, amount }, parts);
  let refused = await hold(chargeBound);
  if (refused === undefined) return preparation;
  if (chosenLimit === undefined || translation === undefined) return refused;
  let { maxTokens } = chosenLimit;
  // A second lower limit is needed if the balance allows less than a cap, or changed meanwhile.
  for (let attempt = 0; attempt < 2 && refused?.available !== undefined; attempt += 1) {
    maxTokens = Math.min(maxTokens, lowerLimit(chosenLimit, refused.available));
    refused = await hold(chargeWith(chosenLimit, maxTokens));
  }
  if (refused !== undefined) return refused;
  const { member, span } = chosenLimit;
  writeLimit(preparation.body.peek(), span, maxTokens);
  const detail = `sent as ${String(maxTokens)}, which the balance covers`;
  const notes = [...translation.notes, { path: member, reason: 'capped', detail } as const];
  return { ...preparation, kept: { ...kept, translation: { ...translation, notes } } };
}
