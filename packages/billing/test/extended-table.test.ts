import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable, defaultPriceTableJson } from '../src/default-price-table.js';
import { parsePriceSchedule, wholePriceTable } from '../src/extended-table.js';
import { chargeOfAttempt } from '../src/itemized-charge.js';
import { listPriceTable, listPriceTableJson } from '../src/list-price-table.js';
import { PriceTableError } from '../src/price-table.js';
import { formatUsd } from '../src/usd.js';
import { highestRates, variantFor } from '../src/variants.js';

const NOVEMBER = Date.parse('2026-11-27T00:00:00Z');
const DECEMBER = Date.parse('2026-12-01T00:00:00Z');
const tableOf = (json: unknown, atMs = NOVEMBER) => parsePriceSchedule(json).at(atMs);
const perMillion = (perToken: bigint) => formatUsd(perToken * 1_000_000n);

function problemsOf(json: unknown): readonly string[] {
  try {
    parsePriceSchedule(json);
  } catch (error) {
    if (error instanceof PriceTableError) return error.problems;
    throw error;
  }
  return [];
}

describe('a table that extends another', () => {
  it('is that table if it changes nothing', () => {
    expect(tableOf({ extends: 'specification' }).list()).toEqual(defaultPriceTable().list());
    expect(tableOf({ extends: 'list' })).toEqual({
      ...listPriceTable(NOVEMBER),
      find: expect.anything(),
      list: expect.anything(),
    });
    expect(tableOf({ extends: 'list' }).list()).toEqual(listPriceTable(NOVEMBER).list());
    expect(wholePriceTable({ extends: 'list' })).toEqual(listPriceTableJson);
    expect(wholePriceTable(defaultPriceTableJson)).toBe(defaultPriceTableJson);
  });

  it('multiplies every rate and fee by its factor', () => {
    const [list, dearer] = [listPriceTable(NOVEMBER), tableOf({ extends: 'list', factor: '1.2' })];
    for (const [index, model] of dearer.list().entries()) {
      const before = list.list()[index]!;
      expect(model.variants).toHaveLength(before.variants.length);
      for (const [at, { rates }] of model.variants.entries()) {
        const usual = Object.values(before.variants[at]!.rates) as bigint[];
        expect((Object.values(rates) as bigint[]).map((rate) => rate * 5n)).toEqual(
          usual.map((rate) => rate * 6n),
        );
      }
    }
    expect(dearer.find('claude-opus-5-5')!.rateIn).toBe('4.8');
    expect(dearer.fees.get('web_search_requests')).toBe(1_200_000_000_000n);
  });

  it('has other rates for a model, which replace all of its prices but the factors of cached tokens', () => {
    const own = { id: 'claude-opus-5-5', rate_in: '3.00', rate_out: '9.00' };
    const table = tableOf({ extends: 'list', factor: '2', models: [own] });
    const { variants, rates } = table.find('claude-opus-5-5')!;
    expect(variants).toHaveLength(1);
    expect(Object.values(rates).map(perMillion)).toEqual(['3', '9', '0.15', '3.75', '6']);
    expect(perMillion(table.find('claude-opus-5')!.rates.inputPerToken)).toBe('10');
  });

  it('changes single members of a model, and keeps the others', () => {
    const own = { id: 'claude-opus-5-5', cache_write_1h: '1.25', display_name: 'Opus' };
    const model = tableOf({ extends: 'list', models: [own] }).find('claude-opus-5-5')!;
    expect(model.displayName).toBe('Opus');
    expect(perMillion(model.rates.cacheWrite1hPerToken)).toBe('5');
    expect(model.variants).toHaveLength(
      listPriceTable(NOVEMBER).find('claude-opus-5-5')!.variants.length,
    );
  });

  it('adds models, fees and rules', () => {
    const [model] = defaultPriceTableJson.models;
    const table = tableOf({
      extends: 'specification',
      models: [{ ...model, id: 'own', aliases: [] }],
      billed_refusals: [],
      fallbacks: 'admitted',
      server_tool_use: { web_search_requests: '0.02' },
    });
    expect(table.list().at(-1)?.id).toBe('own');
    expect([table.billedRefusals.size, table.fallbacks]).toEqual([0, 'admitted']);
    expect([...table.fees]).toEqual([['web_search_requests', 2_000_000_000_000n]]);
  });

  describe('of other tables than the own ones', () => {
    const bases = {
      prices: wholePriceTable({
        extends: 'list',
        factor: '1.2',
        models: [{ id: 'claude-opus-5', rate_in: '7.00', rate_out: '21.00', factor: '1.5' }],
      }),
    };
    const rateIn = (json: object, model: string) =>
      parsePriceSchedule({ extends: 'prices', ...json }, bases)
        .at(NOVEMBER)
        .find(model)?.rateIn;

    it('multiplies the factor of each of its models', () => {
      expect(rateIn({ factor: '0.9' }, 'claude-opus-5-5')).toBe('4.32');
      expect(rateIn({ factor: '0.9' }, 'claude-opus-5')).toBe('9.45');
    });

    it('are refused if two factors have a product with too many decimals', () => {
      expect(() => rateIn({ factor: '1.000001' }, 'claude-opus-5')).toThrow(
        /factor: has 7 decimals, but at most 6 are allowed/,
      );
    });

    it('takes rates of its own as they are', () => {
      const models = [{ id: 'claude-opus-5', rate_in: '1.00', rate_out: '2.00' }];
      expect(rateIn({ factor: '0.9', models }, 'claude-opus-5')).toBe('1.00');
    });

    it('are refused under another name', () => {
      for (const name of ['list', 'toString']) {
        expect(() => parsePriceSchedule({ extends: name }, bases)).toThrow(
          'extends: must be one of "prices"',
        );
      }
    });
  });

  it.each<[string, unknown, readonly string[]]>([
    ['an unknown table', { extends: 'lists' }, [expect.stringMatching(/^extends: /) as never]],
    [
      'a factor that is no decimal',
      { extends: 'list', factor: 'two' },
      ['factor: is not a decimal number such as 12.34'],
    ],
    [
      'one of two rates',
      { extends: 'list', models: [{ id: 'claude-opus-5', rate_in: '1' }] },
      ['models[0].rate_out: is needed with rate_in'],
    ],
    [
      'an unknown field of a model',
      { extends: 'list', models: [{ id: 'claude-opus-5', rte: '1' }] },
      ['models[0].rte: unknown field'],
    ],
    ['an unknown field', { extends: 'list', rte: 1 }, ['rte: unknown field']],
    [
      'a model twice',
      { extends: 'list', models: [{ id: 'claude-opus-5' }, { id: 'claude-opus-5' }] },
      expect.arrayContaining([
        expect.stringMatching(/^models\[0\]\.(display_name|rate_in): /),
      ]) as never,
    ],
  ])('with %s is refused, and the place in the file is named', (_what, json, problems) => {
    expect(problemsOf(json)).toEqual(problems);
  });

  it('is refused if the factor gives a price that is not exact', () => {
    const problems = problemsOf({ extends: 'list', factor: '1.000001' });
    expect(problems).toContain(
      'claude-haiku-5-5 of "list".factor: gives a price per token of input with more than 14 decimals',
    );
  });
});

const MODEL = { ...defaultPriceTableJson.models[0]!, id: 'model' };

it.each<[string, object, string]>([
  [
    'a region',
    { rate_in: '0.000001', inference_geo: { us: { factor: '1.001' } } },
    'inference_geo.us.factor: gives a price per token of input with more than 14 decimals',
  ],
  [
    'a band',
    {
      bands: [{ above_prompt_tokens: 9, rate_in: '0.000001', rate_out: '1', cache_read: '0.001' }],
    },
    'bands[0].cache_read: multiplied by the input rate gives a price per token with more than 14 decimals',
  ],
  [
    'a speed',
    { speed: { fast: { rate_in: '1.0000001', rate_out: '1' } } },
    'speed.fast.rate_in: has 7 decimals, but at most 6 are allowed',
  ],
  [
    'a speed with one rate',
    { speed: { fast: { rate_in: '1' } } },
    'speed.fast: must have either a factor, or rate_in and rate_out',
  ],
  [
    'a speed with a factor and rates',
    { speed: { fast: { rate_in: '1', rate_out: '1', factor: '2' } } },
    'speed.fast: must have either a factor, or rate_in and rate_out',
  ],
  [
    'bands in the wrong order',
    {
      bands: [
        { above_prompt_tokens: 9, rate_in: '1', rate_out: '1' },
        { above_prompt_tokens: 9, rate_in: '1', rate_out: '1' },
      ],
    },
    'bands[1].above_prompt_tokens: must be more than that of the band before',
  ],
  [
    'bands and a speed with rates',
    {
      bands: [{ above_prompt_tokens: 9, rate_in: '1', rate_out: '1' }],
      speed: { fast: { rate_in: '1', rate_out: '1' } },
    },
    'speed.fast: must have a factor, because bands already has rates of its own',
  ],
  [
    'a factor with too many decimals',
    { factor: '1.0000001' },
    'factor: has 7 decimals, but at most 6 are allowed',
  ],
  [
    'a price just beyond the bound of the ledger',
    { rate_in: '50000000000000000000.000001', factor: '2' },
    'factor: gives a price that the ledger cannot hold',
  ],
  [
    'a price beyond all bounds',
    { rate_in: '80000000000000000000', factor: '999999999999999999999999' },
    'factor: gives a price that the ledger cannot hold',
  ],
  ...(['rate_in', 'rate_out'] as const).map((rate): [string, object, string] => [
    `a ${rate} beyond the bound of the ledger`,
    { [rate]: '100000000000000000000.000001' },
    `${rate}: gives a price that the ledger cannot hold`,
  ]),
  [
    'a rate of a band beyond the bound of the ledger',
    {
      bands: [{ above_prompt_tokens: 9, rate_in: '1', rate_out: '999999999999999999999999' }],
    },
    'bands[0].rate_out: gives a price that the ledger cannot hold',
  ],
  [
    'cache writes beyond the bound of the ledger',
    { rate_in: '100000000000000000000', cache_write: '1', cache_write_1h: '1.000001' },
    'cache_write_1h: gives a price that the ledger cannot hold',
  ],
  [
    'a change that leaves out the bands',
    {
      bands: [{ above_prompt_tokens: 9, rate_in: '1', rate_out: '1' }],
      price_changes: [{ effective_from: '2026-12-01T00:00:00Z', rate_in: '1', rate_out: '1' }],
    },
    'price_changes[0].bands: is needed, because the model has rates there',
  ],
])('a table whose model has %s is refused: %j', (_what, members, problem) => {
  expect(problemsOf({ models: [{ ...MODEL, ...members }] })).toEqual([`models[0].${problem}`]);
});

it('charges at the highest rates and fees of a table fit into the ledger, NUMERIC(38,14)', () => {
  const [rate, fee] = ['100000000000000000000', '1000000000000'];
  const model = { ...MODEL, rate_in: rate, rate_out: rate, cache_read: '1', cache_write: '1' };
  const names = Array.from({ length: 60 }, (_, index) => `fee_${String(index)}`);
  const table = tableOf({
    models: [{ ...model, cache_write_1h: '1' }],
    server_tool_use: Object.fromEntries(names.map((name) => [name, fee])),
  });
  const most = 2 ** 31 - 1;
  const { total } = chargeOfAttempt(
    {
      usage: {
        inputTokens: most,
        outputTokens: most,
        cacheReadInputTokens: most,
        cacheCreationInputTokens: most,
        cacheCreation1hInputTokens: 0,
      },
      circumstances: {},
      serverToolUse: Object.fromEntries(names.map((name) => [name, most])),
    },
    table.find('model')!,
    table.fees,
  );
  expect(total).toBeLessThan(10n ** 38n);
  expect(
    problemsOf({ models: [model], server_tool_use: { own: `${fee}.00000000000001` } }),
  ).toEqual(['server_tool_use.own: is a fee that the ledger cannot hold']);
});

it('a change of rates keeps circumstances that only multiply', () => {
  const price_changes = [{ effective_from: '2026-12-01T00:00:00Z', rate_in: '2', rate_out: '4' }];
  const model = { ...MODEL, inference_geo: { us: { factor: '1.5' } }, price_changes };
  const { variants } = tableOf({ models: [model] }, DECEMBER).find('model')!;
  const { rates } = variantFor({ variants }, 0, { inferenceGeo: 'us' });
  expect([perMillion(rates.inputPerToken), perMillion(rates.outputPerToken)]).toEqual(['3', '6']);
});

describe('highestRates', () => {
  const always = () => true;

  it('is the usual price of a model with one price', () => {
    const [model] = defaultPriceTable().list();
    expect(highestRates(model!, 1e9, always)).toEqual(model!.rates);
  });

  it('leaves out bands that the prompt cannot reach', () => {
    const haiku = listPriceTable(NOVEMBER).find('claude-haiku-5-5')!;
    const isUsual = (circumstances: object) => Object.keys(circumstances).length === 0;
    const inputAt = (tokens: number) =>
      perMillion(highestRates(haiku, tokens, isUsual).inputPerToken);
    expect([100_000, 100_001].map(inputAt)).toEqual(['0.1', '0.5']);
  });

  it('is at least each price that an attempt can have', () => {
    for (const model of listPriceTable(NOVEMBER).list()) {
      const highest = Object.values(highestRates(model, 1_000_000, always)) as bigint[];
      for (const { rates } of model.variants) {
        const each = Object.values(rates) as bigint[];
        expect(highest.every((rate, index) => rate >= each[index]!)).toBe(true);
      }
    }
  });
});
