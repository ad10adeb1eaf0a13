/** The most that a request can cost at upstream accounts with prices of their own. */

import type { Fees, ModelPrice } from '@gateway/billing';
import { chargeBoundOf, feeBoundOf } from './charge-bound.js';
import type { ChargeFindings } from './charge-bound.js';
import { linear } from './lowerable-limit.js';
import type { RequestSize } from './token-bound.js';

/** Plain data, because a thread gets it. */
export interface PricesAtHome {
  readonly home: string;
  readonly models: readonly ModelPrice[];
  readonly fees: Fees;
}

export interface BoundAtHome {
  /** As `Preparation.chargeBound`. */
  readonly chargeBound: bigint;
  /** As in `LowerableLimit`. */
  readonly promptCharge: bigint;
  readonly chargePerToken: bigint;
}

export type BoundsAtHomes = ReadonlyMap<string, BoundAtHome>;

/** @param request.models - Those that the request names, by any of their tables. */
export function boundsAtHomes(
  homes: readonly PricesAtHome[],
  request: {
    readonly models: readonly ModelPrice[];
    readonly size: RequestSize;
    readonly findings: ChargeFindings;
  },
): BoundsAtHomes {
  const { size, findings } = request;
  const bounds = homes.flatMap(({ home, models, fees }) => {
    const found = request.models.map(({ id }) => models.find((model) => model.id === id));
    const priced = found.filter((price) => price !== undefined);
    // An account that does not serve a model gets no request that names it.
    if (priced.length < found.length) return [];
    const fee = feeBoundOf(findings, fees);
    const boundWith = (maxTokens: number | undefined): bigint =>
      priced.reduce(
        (sum, price) => sum + chargeBoundOf({ ...size, maxTokens }, findings, price),
        fee.amount,
      );
    return [[home, { chargeBound: boundWith(size.maxTokens), ...linear(boundWith) }] as const];
  });
  return new Map(bounds);
}

/** The path of a tool whose fee has no upper bound at one of these accounts. */
export function unboundedAtHomes(
  homes: readonly PricesAtHome[],
  findings: ChargeFindings,
): string | undefined {
  for (const { fees } of homes) {
    const { unboundedPath } = feeBoundOf(findings, fees);
    if (unboundedPath !== undefined) return unboundedPath;
  }
  return undefined;
}
