/**
 * What recorded answers cost, exactly, with `@gateway/billing` alone: one answer of the Messages API
 * per line.
 *
 *   node costs.ts < answers.jsonl
 */

import { createInterface } from 'node:readline';
import { chargeOf, defaultPriceTable, formatUsd } from '@gateway/billing';

interface Answer {
  readonly model: string;
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cache_read_input_tokens: number | null;
    readonly cache_creation_input_tokens: number | null;
    readonly cache_creation?: { readonly ephemeral_1h_input_tokens: number } | null;
  };
}

const prices = defaultPriceTable();
/** By model, in units of 10^-14 USD: sums of `bigint` are exact. */
const costs = new Map<string, bigint>();

for await (const line of createInterface({ input: process.stdin })) {
  const { model, usage } = JSON.parse(line) as Answer;
  const price = prices.find(model);
  // Unknown is not free.
  if (price === undefined) throw new Error(`${model} has no price`);
  const cost = chargeOf(
    {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
      cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
      cacheCreation1hInputTokens: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    },
    price.rates,
  );
  costs.set(model, (costs.get(model) ?? 0n) + cost);
}
for (const [model, cost] of costs) console.log(`${model} ${formatUsd(cost)} USD`);
