/** The comparison of the provider's reports with the ledger, without either of them. */

import { describe, expect, it } from '@jest/globals';
import { UNBILLED_RATES, defaultPriceTable } from '@gateway/billing';
import { compareUsage } from '../../src/upstream/reconciliation/compare-usage.js';

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

describe('the bill of days with recorded costs', () => {
  const NO_COUNTS = {
    outputTokens: 0n,
    cacheReadInputTokens: 0n,
    cacheCreationInputTokens: 0n,
    cacheCreation1hInputTokens: 0n,
  };
  /** One charge of 10 tokens: 900 for the customer, 40 of it a fee, and 700 for the operator. */
  const chargeOf = (day: string, costed = 1) => ({
    start: new Date(`${day}T00:00:00Z`),
    model,
    requests: 1,
    listPrice: 900n,
    writtenOff: 0n,
    fees: 40n,
    cost: 700n,
    costed,
    rates: { ...rates, inputPerToken: 86n },
    usage: { inputTokens: 10n, ...NO_COUNTS },
  });
  const billOf = (day: string, searches = 100n) => [
    { day, model, item: 'input', amount: 600n },
    { day, model: null, item: 'web_search', amount: searches },
  ];
  const [MONDAY, TUESDAY] = ['2026-11-23', '2026-11-24'] as const;
  const compared = (
    ledger: readonly ReturnType<typeof chargeOf>[],
    costs: ReturnType<typeof billOf>,
    tokens: readonly (readonly [day: string, input: bigint])[],
  ) =>
    compareUsage({
      usage: tokens.map(([day, input]) => ({
        day,
        model,
        tokens: { ...NONE, input, output: 0n },
      })),
      costs,
      ledger,
      nameOf: (name) => name,
      ratesOf: (_model, _day, isAtCost) => ({ ...rates, inputPerToken: isAtCost ? 60n : 86n }),
    });
  const worths = ({ models }: ReturnType<typeof compared>) =>
    models.flatMap(({ day, differences }) =>
      differences.map(({ item, worth }) => [day, item, worth]),
    );

  // F243: customers pay more than the list: the bill is compared with the recorded costs, so that a
  // markup is no difference, on each day of which every charge has one.
  it('is compared with the costs of each such day, not with what was charged', () => {
    const same = compared([chargeOf(MONDAY)], billOf(MONDAY), [[MONDAY, 10n]]);
    expect(worths(same)).toEqual([]);
    expect(same).toMatchObject({ providerCost: 700n, ledgerCost: 700n, charged: 900n });
    expect(same.daysWithoutCosts).toBe(0);
    const dearer = compared([chargeOf(MONDAY)], billOf(MONDAY, 103n), [[MONDAY, 10n]]);
    expect(worths(dearer)).toEqual([[MONDAY, 'cost', 3n]]);
  });

  // F243
  it('is compared with charges on another day only, if costs are recorded since then', () => {
    const both = compared(
      [chargeOf(MONDAY, 0), chargeOf(TUESDAY)],
      [...billOf(MONDAY), ...billOf(TUESDAY)],
      [
        [MONDAY, 10n],
        [TUESDAY, 10n],
      ],
    );
    expect(worths(both)).toEqual([
      [MONDAY, 'web_search', 60n],
      [MONDAY, 'input', 260n],
    ]);
    expect(both).toMatchObject({ daysWithoutCosts: 1, ledgerCost: 1_600n, charged: 1_800n });
  });

  // F243
  it('counts the worth of a missing request once, by its tokens or by its cost', () => {
    const dayOf = (tokens: bigint, costs: ReturnType<typeof billOf>) =>
      worths(compared([chargeOf(MONDAY)], costs, [[MONDAY, tokens]]));
    // Five tokens more at 60 each, and a bill that is higher by as much, or by 50 more.
    const [input, searches] = billOf(MONDAY);
    expect(dayOf(15n, [{ ...input!, amount: 900n }, searches!])).toEqual([
      [MONDAY, 'cost', 0n],
      [MONDAY, 'input', 300n],
    ]);
    expect(dayOf(15n, [{ ...input!, amount: 950n }, searches!])).toEqual([
      [MONDAY, 'cost', 50n],
      [MONDAY, 'input', 300n],
    ]);
  });
});
