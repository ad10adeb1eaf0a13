/** Which rates of a table that extends another one are multiplied by its factor. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultPriceTableJson } from '../src/default-price-table.js';
import { parsePriceSchedule, wholePriceTable } from '../src/extended-table.js';
import { PriceTableError } from '../src/price-table.js';
import type { PriceScheduleJson } from '../src/price-schemas.js';
import { formatUsd } from '../src/usd.js';
import { variantFor } from '../src/variants.js';

type Entry = PriceScheduleJson['models'][number];
type Rates = Pick<Entry, 'rate_in' | 'rate_out'>;
type Change = NonNullable<Entry['price_changes']>[number];

const FROM = '2026-12-15T00:00:00Z';
const [BEFORE, AFTER] = [Date.parse('2026-12-14T23:59:59Z'), Date.parse(FROM)];
const [BAND, SHORT, LONG] = [1_000, 10, 2_000];
const perMillion = (perToken: bigint) => formatUsd(perToken * 1_000_000n);

const priceAt = (
  json: unknown,
  atMs: number,
  { id = 'claude-sonnet-4-6', prompt = SHORT, circumstances = {} } = {},
): readonly string[] => {
  const model = parsePriceSchedule(json).at(atMs).find(id)!;
  const { rates } = variantFor(model, prompt, circumstances);
  return [perMillion(rates.inputPerToken), perMillion(rates.outputPerToken)];
};

describe('an entry of a table with a factor', () => {
  // F308: an operator writes rates for a model below the top of its entry, such as a change of
  // prices, in a table that extends another by a factor: his rates are charged as he wrote them,
  // the inherited ones are multiplied.
  it('has its own rates in a change of prices, in bands and for a speed as they are written', () => {
    const own = { rate_in: '2', rate_out: '10' };
    const extended = (members: object) => ({
      extends: 'list',
      factor: '0.8',
      models: [{ id: 'claude-sonnet-4-6', ...members }],
    });
    const changed = extended({ price_changes: [{ effective_from: FROM, ...own }] });
    expect([BEFORE, AFTER].map((at) => priceAt(changed, at))).toEqual([
      ['2.4', '12'],
      ['2', '10'],
    ]);
    const inBands = extended({ bands: [{ above_prompt_tokens: BAND, ...own }] });
    expect([SHORT, LONG].map((prompt) => priceAt(inBands, BEFORE, { prompt }))).toEqual([
      ['2.4', '12'],
      ['2', '10'],
    ]);
    const fast = { circumstances: { speed: 'fast' } };
    expect(priceAt(extended({ speed: { fast: own } }), BEFORE, fast)).toEqual(['2', '10']);
    // A factor of a circumstance multiplies what it multiplied before.
    const us = { circumstances: { inferenceGeo: 'us' } };
    expect(priceAt(changed, AFTER, us)).toEqual(['2.2', '11']);
    expect(priceAt(changed, BEFORE, us)).toEqual(['2.64', '13.2']);
  });

  it('has its own rates as they are written if only the extended table has a factor', () => {
    const bases = { prices: wholePriceTable({ extends: 'list', factor: '1.5' }) };
    const price_changes = [{ effective_from: FROM, rate_in: '2', rate_out: '10' }];
    const models = [{ id: 'claude-sonnet-4-6', price_changes }];
    const table = parsePriceSchedule({ extends: 'prices', models }, bases);
    const rateIn = (at: number) => table.at(at).find('claude-sonnet-4-6')?.rateIn;
    expect([rateIn(BEFORE), rateIn(AFTER)]).toEqual(['4.5', '2']);
  });

  it('is refused if an inherited rate beside its own would need more than six decimals', () => {
    const model = { ...defaultPriceTableJson.models[0]!, id: 'model', rate_in: '0.10' };
    const speed = { fast: { rate_in: '2', rate_out: '10' } };
    const parse = (factor: string) =>
      parsePriceSchedule(
        { extends: 'base', factor, models: [{ id: 'model', speed }] },
        { base: { models: [{ ...model, aliases: [] }] } },
      );
    expect(parse('1.00001').at(BEFORE).find('model')?.rateIn).toBe('0.100001');
    expect(() => parse('1.000001')).toThrow(
      new PriceTableError([
        'factor: gives rates of model with more than 6 decimals, so models[0] needs its own rate_in and rate_out',
      ]),
    );
  });
});

// --- The rule, stated again ---------------------------------------------------------------------

/** The only member of a model that has rates beside its own. */
const WITH_RATES = ['bands', 'speed', 'service_tier', 'inference_geo'] as const;
type WithRates = (typeof WITH_RATES)[number];

interface Case {
  readonly base: Entry;
  readonly own: { readonly id: string } & Partial<Entry>;
  readonly factor: string;
}
interface Question {
  readonly atMs: number;
  readonly prompt: number;
  readonly chosen: Readonly<Partial<Record<WithRates, string>>>;
}

/**
 * The numbers whose product is the price of input tokens: the rate that applies, the factors of the
 * circumstances, and the factors of both tables if the author of the entry did not write this rate.
 */
function expectedFactors(
  { base, own, factor }: Case,
  { atMs, prompt, chosen }: Question,
): readonly string[] {
  const hasTopRates = 'rate_in' in own;
  const find = <Name extends keyof Entry>(name: Name) => {
    if (name in own) return { value: own[name], isOwn: true };
    return { value: hasTopRates ? undefined : base[name], isOwn: false };
  };
  const changes = find('price_changes');
  const change = changes.value?.find(({ effective_from: from }) => Date.parse(from) <= atMs);
  const special = (name: WithRates) =>
    change?.[name] === undefined
      ? find(name)
      : { value: change[name] as Entry[WithRates], isOwn: changes.isOwn };
  let rates: { readonly rate: string; readonly isOwn: boolean } =
    change === undefined
      ? { rate: find('rate_in').value!, isOwn: hasTopRates }
      : { rate: change.rate_in, isOwn: changes.isOwn };
  const multipliers: string[] = [];
  for (const name of WITH_RATES) {
    const { value, isOwn } = special(name);
    if (Array.isArray(value)) {
      const band = value.findLast(({ above_prompt_tokens: above }) => prompt > above);
      if (band !== undefined) rates = { rate: band.rate_in, isOwn };
      continue;
    }
    const modifier = value?.[chosen[name] ?? ''];
    if (modifier?.rate_in !== undefined) rates = { rate: modifier.rate_in, isOwn };
    if (modifier?.factor !== undefined) multipliers.push(modifier.factor);
  }
  const inherited = rates.isOwn ? [] : [base.factor ?? '1', factor];
  return [rates.rate, ...multipliers, ...(own.factor === undefined ? inherited : [own.factor])];
}

const factors = fc.constantFrom('0.5', '0.8', '1', '1.2', '2');
const rates: fc.Arbitrary<Rates> = fc.integer({ min: 1, max: 90 }).map((rate) => ({
  rate_in: `${String(rate)}.00`,
  rate_out: `${String(5 * rate)}.00`,
}));
const withFactor = factors.map((factor) => ({ factor }));

/** What a member may have, if `kind` is the one whose values may be rates. */
const memberOf = (name: WithRates, kind: WithRates) => {
  if (name === 'bands') {
    const band = rates.map((each) => [{ above_prompt_tokens: BAND, ...each }]);
    return kind === 'bands' ? fc.oneof(band, fc.constant([])) : fc.constant([]);
  }
  const value = kind === name ? fc.oneof<fc.Arbitrary<object>[]>(rates, withFactor) : withFactor;
  return fc.oneof(
    value.map((each) => ({ odd: each })),
    fc.constant({}),
  );
};
const specialsOf = (kind: WithRates, required: readonly WithRates[]) =>
  fc.record(
    {
      bands: memberOf('bands', kind),
      speed: memberOf('speed', kind),
      service_tier: memberOf('service_tier', kind),
      inference_geo: memberOf('inference_geo', kind),
    },
    { requiredKeys: [...required] },
  );

const cases: fc.Arbitrary<Case> = fc.constantFrom(...WITH_RATES).chain((kind) => {
  // A change has to state again what has rates.
  const change = fc
    .tuple(rates, specialsOf(kind, [kind]))
    .map(([each, special]): Change[] => [{ effective_from: FROM, ...each, ...special } as Change]);
  const priceChanges = fc.oneof(change, fc.constant<Change[]>([]));
  const members = fc
    .tuple(
      specialsOf(kind, []),
      fc.record({ price_changes: priceChanges, factor: factors }, { requiredKeys: [] }),
    )
    .map(([special, more]) => ({ ...special, ...more }) as Partial<Entry>);
  const [model] = defaultPriceTableJson.models;
  return fc.record({
    base: fc
      .tuple(rates, members)
      .map(([each, more]) => ({ ...model!, id: 'model', aliases: [], ...each, ...more })),
    own: fc
      .tuple(fc.option(rates), members)
      .map(([each, more]) => ({ id: 'model', ...more, ...(each ?? {}) })),
    factor: factors,
  });
});

const questions: fc.Arbitrary<Question> = fc.record({
  atMs: fc.constantFrom(BEFORE, AFTER),
  prompt: fc.constantFrom(SHORT, LONG),
  chosen: fc.record(
    {
      speed: fc.constant('odd'),
      service_tier: fc.constant('odd'),
      inference_geo: fc.constant('odd'),
    },
    { requiredKeys: [] },
  ),
});

// F308
it('every rate of an entry is multiplied exactly if it is inherited', () => {
  fc.assert(
    fc.property(cases, questions, (given, question) => {
      const bases = { base: { models: [given.base] } };
      const json = { extends: 'base', factor: given.factor, models: [given.own] };
      const model = parsePriceSchedule(json, bases).at(question.atMs).find('model')!;
      const { speed, service_tier: serviceTier, inference_geo: inferenceGeo } = question.chosen;
      const { rates: found } = variantFor(model, question.prompt, {
        speed,
        serviceTier,
        inferenceGeo,
      });
      // All numbers have at most one decimal. A USD per million tokens is 10^8 units per token.
      const tenths = expectedFactors(given, question).map((each) => BigInt(Number(each) * 10));
      const expected = tenths.reduce((product, each) => product * each, 10n ** 8n);
      const scale = 10n ** BigInt(tenths.length);
      expect(found.inputPerToken * scale).toBe(expected);
      expect(found.outputPerToken * scale).toBe(5n * expected);
    }),
    { numRuns: 1_000 },
  );
});
