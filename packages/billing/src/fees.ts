/** Fees for work that is not counted in tokens, such as searches of the web. */

import { readDecimal } from './decimal.js';
import { MAX_TOKENS } from './charge.js';
import { MAX_PER_TOKEN } from './rates.js';
import { USD_DECIMALS } from './usd.js';

/** By member of `usage.server_tool_use`: the price of one unit, in units of 10^-14 USD. */
export type Fees = ReadonlyMap<string, bigint>;

/** Counts by member of `usage.server_tool_use`. */
export type ServerToolUse = Readonly<Record<string, number>>;

/** One fee of a charge. */
export interface ChargedFee {
  /** The member of `usage.server_tool_use`. */
  readonly what: string;
  readonly units: number;
  /** In units of 10^-14 USD. */
  readonly perUnit: bigint;
}

/** The ledger can hold the most units of sixty such fees beside the dearest tokens. */
export const MAX_PER_UNIT = MAX_PER_TOKEN / 100n;

/** @param record - Decimal strings, checked. */
export function readFees(record: Readonly<Record<string, string>>): Fees {
  return new Map(
    Object.entries(record).flatMap(([what, text]) => {
      const reading = readDecimal(text, { decimals: USD_DECIMALS, sign: 'unsigned' });
      return reading.outcome === 'read' ? [[what, reading.scaled] as const] : [];
    }),
  );
}

/**
 * The fees of one response, in the order of the table. Units without a fee cost nothing.
 *
 * @throws {RangeError} when a count with a fee is not an integer from 0 to 2^31-1.
 */
export function feesOf(used: ServerToolUse, fees: Fees): readonly ChargedFee[] {
  return [...fees].flatMap(([what, perUnit]) => {
    const units = used[what] ?? 0;
    if (!Number.isInteger(units) || units < 0 || units > MAX_TOKENS) {
      throw new RangeError(`${what} is ${units}, not an integer from 0 to ${MAX_TOKENS}`);
    }
    return units === 0 || perUnit === 0n ? [] : [{ what, units, perUnit }];
  });
}

export function sumOfFees(charged: readonly ChargedFee[]): bigint {
  return charged.reduce((sum, { units, perUnit }) => sum + BigInt(units) * perUnit, 0n);
}
