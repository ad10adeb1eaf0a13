/** Compares the usage that an SDK received with the charges of the ledger. */

import type { Sent } from '../shared/api/gateway-types.js';
import { bareId } from '../shared/money/received-usage.js';
import type { ReceivedUsage, TokenSums } from '../shared/money/received-usage.js';
import { OWN_STYLE } from '../shared/text/numbers.js';

export type Charge = Pick<Sent<'usage'>, 'request_id' | 'upstream_id' | 'usage'>;

export interface Comparison {
  readonly compared: number;
  /** Usage objects that may belong to a charge that was not read. They are not compared. */
  readonly unknown: number;
  readonly differences: readonly {
    readonly id: string;
    readonly received: string;
    readonly charged: string;
  }[];
  /** Charges without a usage object. */
  readonly others: number;
}

/** @param hasAllCharges - Whether `charges` are all charges of the chosen days. */
export function compareUsages(
  usages: readonly ReceivedUsage[],
  charges: readonly Charge[],
  hasAllCharges: boolean,
): Comparison {
  const byId = new Map<string, Charge>();
  for (const charge of charges) {
    byId.set(bareId(charge.request_id), charge);
    if (charge.upstream_id !== null) byId.set(bareId(charge.upstream_id), charge);
  }
  const matched = new Set<Charge>();
  const compared = hasAllCharges ? usages : usages.filter(({ id }) => byId.has(id));
  const differences = compared.flatMap(({ id, tokens }) => {
    const charge = byId.get(id);
    const isRepeated = charge !== undefined && matched.has(charge);
    if (charge !== undefined) matched.add(charge);
    const received = textOf(tokens);
    const charged = charge === undefined ? 'no charge in these days' : textOf(tokensOf(charge));
    if (isRepeated) return [{ id, received, charged: 'the same request as an earlier one' }];
    return charged === received ? [] : [{ id, received, charged }];
  });
  return {
    compared: compared.length,
    unknown: usages.length - compared.length,
    differences,
    others: charges.length - matched.size,
  };
}

function tokensOf({ usage }: Charge): TokenSums {
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    cacheRead: usage.cache_read_input_tokens,
    cacheWrite: usage.cache_creation_input_tokens,
  };
}

function textOf({ input, output, cacheRead, cacheWrite }: TokenSums): string {
  const { whole } = OWN_STYLE;
  return (
    `input ${whole(input)}, output ${whole(output)}, ` +
    `cache read ${whole(cacheRead)}, cache write ${whole(cacheWrite)}`
  );
}
