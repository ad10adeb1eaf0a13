/** Holds the highest possible charge of a request; only with `OVERDRAFT=none`. */

import type { KeyRecord, Spender } from '@gateway/balance-store';
import { placeHold } from './admission.js';
import type { FailedHold, RefusedAdmission } from './admission.js';
import { adviceOn, chargeWith, lowerLimit, writeLimit } from './preparation/lowerable-limit.js';
import type { Exchange, Gone, Sendable } from './route.js';

/** The limit that was sent instead of the client's or the model's. */
export const SENT_LIMIT_HEADER = 'x-gateway-max-tokens';

type Holdable = Sendable & { readonly chargeBound: bigint };

interface Held {
  readonly outcome: 'held';
  /** The lower limit for which the charge is held; `undefined` if the limit stays as it was. */
  readonly maxTokens: number | undefined;
}

/**
 * Holds the most that the request can cost. If that is too much and the limit of its answer may be
 * lowered, lowers it to what can be held, down to the least useful one. If other requests hold what
 * is missing, waits for a few seconds until they have ended.
 */
export async function holdCharge(
  { requestId, parts, res }: Exchange,
  key: KeyRecord,
  preparation: Holdable,
  spender: Spender | undefined,
): Promise<Sendable | RefusedAdmission | Gone> {
  const { chargeBound, limit } = preparation;
  const advice = adviceOn(limit);
  const hold = (amount: bigint) => placeHold(key, { requestId, amount, advice, spender }, parts);
  let held = await holdOrLower(preparation, hold);
  if (held.outcome === 'failed' && held.waitsFor !== undefined) {
    const waited = await parts.holdLine.wait<Held, FailedHold>({
      accountId: key.accountId,
      res,
      least: limit === undefined ? chargeBound : chargeWith(limit, limit.leastTokens),
      failed: held,
      attempt: () => holdOrLower(preparation, hold),
      release: () => {
        parts.store.releaseHold(requestId);
      },
    });
    if (waited.outcome === 'gone') return waited;
    held = waited;
  }
  if (held.outcome === 'failed') return held.refuse();
  const { maxTokens } = held;
  return maxTokens === undefined ? preparation : withLimit(preparation, maxTokens, res);
}

/** Tries to hold the whole charge, or that with a lower limit. */
async function holdOrLower(
  { chargeBound, limit }: Holdable,
  hold: (amount: bigint) => Promise<FailedHold | undefined>,
): Promise<Held | FailedHold> {
  let failed = await hold(chargeBound);
  if (failed === undefined) return { outcome: 'held', maxTokens: undefined };
  if (limit === undefined) return failed;
  let { maxTokens } = limit;
  // A second lower limit is needed if the balance allows less than a cap, or changed meanwhile.
  for (let attempt = 0; attempt < 2 && failed?.available !== undefined; attempt += 1) {
    const lower = Math.min(maxTokens, lowerLimit(limit, failed.available));
    if (lower === maxTokens) break;
    maxTokens = lower;
    failed = await hold(chargeWith(limit, maxTokens));
  }
  return failed ?? { outcome: 'held', maxTokens };
}

/** Writes the lower limit into the body that goes upstream, and says so to the client. */
function withLimit(preparation: Holdable, maxTokens: number, res: Exchange['res']): Sendable {
  const { kept, limit } = preparation;
  if (limit === undefined) return preparation;
  writeLimit(preparation.body.peek(), limit.span, maxTokens);
  res.setHeader(SENT_LIMIT_HEADER, String(maxTokens));
  const { translation } = kept;
  if (translation === undefined) return preparation;
  const detail = `sent as ${String(maxTokens)}, which the balance covers`;
  const notes = [...translation.notes, { path: limit.member, reason: 'capped', detail } as const];
  return { ...preparation, kept: { ...kept, translation: { ...translation, notes } } };
}
