import { describe, expect, it } from '@jest/globals';
import {
  PriceTableError,
  defaultPriceTable,
  defaultPriceTableJson,
  parsePriceSchedule,
} from '../src/index.js';

const MODEL = {
  id: 'model',
  display_name: 'Model',
  rate_in: '2',
  rate_out: '10',
  max_output_tokens: 100,
  context_window: 1000,
  traits: {
    sampling: 'accepted',
    forced_tool_choice: 'accepted',
    effort: [],
    thinking_off: 'omit',
  },
};
const NOON = '2026-12-01T12:00:00Z';
const AT_NOON = Date.parse(NOON);
const AT_ONE = AT_NOON + 3_600_000;

function problemsOf(json: unknown): readonly string[] {
  try {
    parsePriceSchedule(json);
  } catch (error) {
    if (error instanceof PriceTableError) return error.problems;
  }
  return [];
}

describe('a price schedule', () => {
  const schedule = parsePriceSchedule({
    models: [
      {
        ...MODEL,
        cache_read: '0.2',
        price_changes: [
          { effective_from: NOON, rate_in: '3', rate_out: '12', cache_write: '2' },
          { effective_from: '2026-12-01T13:00:00Z', rate_in: '1', rate_out: '5' },
        ],
      },
      { ...MODEL, id: 'other' },
    ],
  });
  const ratesAt = (atMs: number, id = 'model') => {
    const { rateIn, rateOut, rates } = schedule.at(atMs).find(id)!;
    return [rateIn, rateOut, rates.cacheReadPerToken, rates.cacheWrite5mPerToken];
  };

  it('changes rates at the millisecond, not before', () => {
    // 1 USD per million tokens is 10^8 units per token.
    expect(ratesAt(0)).toEqual(['2', '10', 40_000_000n, 250_000_000n]);
    expect(ratesAt(AT_NOON - 1)).toEqual(['2', '10', 40_000_000n, 250_000_000n]);
    expect(ratesAt(AT_NOON)).toEqual(['3', '12', 60_000_000n, 600_000_000n]);
  });

  it('keeps the factors of the model, not those of the change before', () => {
    expect(ratesAt(AT_ONE)).toEqual(['1', '5', 20_000_000n, 125_000_000n]);
  });

  it('leaves other models as they are', () => {
    expect(ratesAt(AT_ONE, 'other')).toEqual(ratesAt(0, 'other'));
  });

  it('says when the next change is', () => {
    expect([0, AT_NOON - 1, AT_NOON, AT_ONE].map((at) => schedule.nextChange(at))).toEqual([
      AT_NOON,
      AT_NOON,
      AT_ONE,
      Infinity,
    ]);
  });

  it('can be made of a table without changes', () => {
    const plain = parsePriceSchedule(defaultPriceTableJson);
    expect(plain.at(AT_NOON).list()).toEqual(defaultPriceTable().list());
    expect(plain.nextChange(0)).toBe(Infinity);
  });
});

it.each<[string, unknown, string]>([
  [
    'no time',
    [{ rate_in: '1', rate_out: '1' }],
    'models[0].price_changes[0].effective_from: must be',
  ],
  [
    'the same time as the change before',
    [
      { effective_from: NOON, rate_in: '1', rate_out: '1' },
      { effective_from: NOON, rate_in: '2', rate_out: '2' },
    ],
    'models[0].price_changes[1].effective_from: must be later than that of the change before',
  ],
  [
    'a rate with too many decimals',
    [{ effective_from: NOON, rate_in: '0.0000001', rate_out: '1' }],
    'models[0].price_changes[0].rate_in: has 7 decimals',
  ],
  [
    'a factor whose price per token is not exact',
    [{ effective_from: NOON, rate_in: '0.000001', rate_out: '1', cache_read: '0.000001' }],
    'models[0].price_changes[0].cache_read: multiplied by the input rate',
  ],
  [
    'an unknown field',
    [{ effective_from: NOON, rate_in: '1', rate_out: '1', cache_writ: '1' }],
    'models[0].price_changes[0].cache_writ: unknown field',
  ],
])('a change with %s is refused, and the field is named', (_what, price_changes, problem) => {
  const problems = problemsOf({ models: [{ ...MODEL, price_changes }] });
  expect(problems).toHaveLength(1);
  expect(problems[0]!.slice(0, problem.length)).toBe(problem);
});

it('a table whose problem is not in its changes is refused, and the problem is named', () => {
  expect(problemsOf({ models: [MODEL, MODEL] })).toEqual([
    'models[1].id: "model" is already used by models[0].id',
  ]);
});
