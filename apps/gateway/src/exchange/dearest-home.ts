/** What a request must hold if upstream accounts have prices of their own. */

import type { Sendable } from './route.js';

type Bounds = Pick<Sendable, 'chargeBound' | 'limit' | 'homeBounds'>;

/**
 * @param homes - The accounts that may answer.
 * @returns the request with the bounds of the dearest of them
 */
export function atDearest<Request extends Bounds>(
  request: Request,
  homes: readonly string[],
): Request {
  const { chargeBound, limit, homeBounds } = request;
  if (chargeBound === undefined || homeBounds === undefined || homes.length === 0) return request;
  const usual = {
    chargeBound,
    promptCharge: limit?.promptCharge ?? 0n,
    chargePerToken: limit?.chargePerToken ?? 0n,
  };
  const bounds = homes.map((home) => homeBounds.get(home) ?? usual);
  const largest = (name: keyof typeof usual): bigint =>
    bounds.map((bound) => bound[name]).reduce((one, other) => (one > other ? one : other));
  return {
    ...request,
    chargeBound: largest('chargeBound'),
    // An account may be the dearest for prompts, and another one for output.
    limit: limit && {
      ...limit,
      promptCharge: largest('promptCharge'),
      chargePerToken: largest('chargePerToken'),
    },
  };
}
