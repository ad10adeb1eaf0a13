/** The comparison of the provider's reports with the ledger, without either of them. */

import { expect, it } from '@jest/globals';
import { UNBILLED_RATES, defaultPriceTable } from '@gateway/billing';
import { compareUsage } from '../src/upstream/reconciliation/compare-usage.js';

const { id: model, rates } = defaultPriceTable().find('claude-opus-5')!;
const NONE = { cache_read: 0n, cache_write_5m: 0n, cache_write_1h: 0n };

function differences(reported: bigint, paid = 1_000n): readonly string[] {
  const sum = (inputTokens: bigint) => ({
    start: new Date('2026-11-26T00:00:00Z'),
    model,
    requests: 1,
    listPrice: 0n,
    writtenOff: 0n,
    fees: 0n,
    cost: 0n,
    costed: 0,
    usage: {
      inputTokens,
      outputTokens: 0n,
      cacheReadInputTokens: 0n,
      cacheCreationInputTokens: 0n,
      cacheCreation1hInputTokens: 0n,
    },
  });
  const day = '2026-11-26';
  const amount = paid * rates.inputPerToken;
  const { models } = compareUsage({
    usage: [{ day, model, tokens: { ...NONE, input: reported, output: 0n } }],
    costs: [{ day, model, item: 'input', amount }],
    ledger: [
      { ...sum(1_000n), rates },
      { ...sum(100_000n), rates: UNBILLED_RATES },
    ],
    nameOf: (name) => name,
    ratesOf: () => rates,
  });
  return models.flatMap((each) => each.differences.map(({ item }) => item));
}

// F201
it('a refusal that costs nothing is no difference, whether or not the report counts it', () => {
  expect([differences(1_000n), differences(101_000n)]).toEqual([[], []]);
  expect([differences(999n), differences(50_000n), differences(1_000n, 101_000n)]).toEqual([
    ['input'],
    ['input'],
    ['input'],
  ]);
});

it('compares recorded costs with the bill of a day, not what was charged', () => {
  const day = '2026-11-26';
  const sum = {
    start: new Date(`${day}T00:00:00Z`),
    model,
    requests: 1,
    listPrice: 900n,
    writtenOff: 0n,
    fees: 40n,
    cost: 700n,
    costed: 1,
    rates,
    usage: {
      inputTokens: 10n,
      outputTokens: 0n,
      cacheReadInputTokens: 0n,
      cacheCreationInputTokens: 0n,
      cacheCreation1hInputTokens: 0n,
    },
  };
  const differencesWith = (searches: bigint, costed: number) =>
    compareUsage({
      usage: [{ day, model, tokens: { ...NONE, input: 10n, output: 0n } }],
      costs: [
        { day, model, item: 'input', amount: 600n },
        { day, model: null, item: 'web_search', amount: searches },
      ],
      ledger: [{ ...sum, costed }],
      nameOf: (name) => name,
      ratesOf: () => rates,
    }).models.flatMap((each) => each.differences.map(({ item, worth }) => [item, worth]));
  expect(differencesWith(100n, 1)).toEqual([]);
  expect(differencesWith(103n, 1)).toEqual([['cost', 3n]]);
  // Without all costs, charges are compared.
  expect(differencesWith(100n, 0).map(([item]) => item)).toEqual(['web_search', 'input']);
});
