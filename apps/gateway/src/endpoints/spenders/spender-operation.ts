/**
 * Operations on groups, members and budgets. Operators run them for each account, and holders of
 * keys, through `customer/spenders.ts`, for their own.
 */

import type { Actor, BalanceStore, Budgets, Members } from '@gateway/balance-store';
import type { z } from 'zod';
import type { Right } from '../../config/admin-tokens.js';
import type { Method, ResultOf } from '../endpoint.js';

export interface SpenderContext {
  readonly store: Members & Budgets & Pick<BalanceStore, 'getAccount' | 'getKey' | 'listKeys'>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** An operator, or a holder of a key of the account. */
  readonly by: Actor;
}

type Way = Extract<Method, 'get' | 'post' | 'patch'>;

/** As `Operation` of the operators, with as much of its context as holders have. */
export interface SpenderOperation<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  By extends Way = Way,
  Path extends string = string,
> {
  readonly method: By;
  readonly path: Path;
  readonly right: Right;
  readonly input: Input;
  readonly output: Output;
  readonly summary: string;
  readonly run: (input: z.output<Input>, context: SpenderContext) => Promise<ResultOf<Output>>;
}

export function operation<
  Input extends z.ZodType,
  Output extends z.ZodType,
  By extends Way,
  Path extends string,
>(
  definition: SpenderOperation<Input, Output, By, Path>,
): SpenderOperation<Input, Output, By, Path> {
  return definition;
}
