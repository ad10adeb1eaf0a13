import { describe, expect, it } from '@jest/globals';
import { defaultPriceTable, defaultPriceTableJson } from '../src/default-price-table.js';
import { isDeprecated, parsePriceTable, PriceTableError } from '../src/price-table.js';
import { readRates, SPECIFIED_FACTORS } from '../src/rates.js';

const MODEL = {
  id: 'model-a',
  display_name: 'Model A',
  rate_in: '3',
  rate_out: '15',
  max_output_tokens: 64_000,
  context_window: 200_000,
  traits: {
    sampling: 'accepted',
    forced_tool_choice: 'accepted',
    effort: [],
    thinking_off: 'omit',
  },
};

function problemsOf(...models: unknown[]): readonly string[] {
  try {
    parsePriceTable({ models });
  } catch (error) {
    if (error instanceof PriceTableError) return error.problems;
    throw error;
  }
  return [];
}

describe('parsePriceTable', () => {
  it("prices a model at the specification's factors when it names none", () => {
    const model = parsePriceTable({ models: [MODEL] }).find('model-a');
    const rates = {
      inputPerToken: 300_000_000n,
      outputPerToken: 1_500_000_000n,
      cacheReadPerToken: 30_000_000n,
      cacheWrite5mPerToken: 375_000_000n,
      cacheWrite1hPerToken: 375_000_000n,
    };
    expect(model).toEqual({
      id: 'model-a',
      aliases: [],
      displayName: 'Model A',
      createdAt: '1970-01-01T00:00:00Z',
      line: undefined,
      deprecatedAt: undefined,
      retiresAt: undefined,
      verifiedOnly: false,
      rateIn: '3',
      rateOut: '15',
      rates,
      variants: [
        {
          rates,
          published: { rateIn: '3', rateOut: '15', factors: SPECIFIED_FACTORS },
          abovePromptTokens: undefined,
          circumstances: {},
          multipliers: [],
        },
      ],
      source: undefined,
      maxOutputTokens: 64_000,
      contextWindow: 200_000,
      traits: {
        sampling: 'accepted',
        forcedToolChoice: 'accepted',
        effort: [],
        thinkingOff: 'omit',
        thinkingOn: undefined,
        systemMessages: 'first',
        structuredOutputs: 'refused',
        bindsThinking: false,
      },
    });
  });

  it('takes other factors and aliases from the table', () => {
    const table = parsePriceTable({
      models: [
        {
          ...MODEL,
          aliases: ['model-a-20260101', 'a'],
          cache_read: '0.025',
          cache_write_1h: '2',
        },
      ],
    });
    const model = table.find('a');
    expect(model?.id).toBe('model-a');
    expect(model?.rates.cacheReadPerToken).toBe(7_500_000n);
    expect(model?.rates.cacheWrite1hPerToken).toBe(600_000_000n);
    expect(table.find('model-a-20260101')).toBe(model);
    expect(table.list()).toEqual([model]);
  });

  // F58
  it('does not find ids by case, prefix, or names of Object.prototype', () => {
    const table = parsePriceTable({ models: [MODEL] });
    for (const id of ['MODEL-A', 'model', 'model-a ', '', '__proto__', 'constructor']) {
      expect(table.find(id)).toBeUndefined();
    }
  });

  it('lists every problem with its path', () => {
    const problems = problemsOf(
      MODEL,
      { ...MODEL, id: 'model b', rate_in: 3, cache_wirte: '2' },
      {
        ...MODEL,
        id: 'model-c',
        rate_out: '0.0000001',
        traits: { ...MODEL.traits, effort: ['top'] },
      },
    );
    expect(problems).toEqual(
      expect.arrayContaining([
        'models[1].id: must be 1 to 200 printable ASCII characters without spaces',
        'models[1].rate_in: must be a decimal string, such as "3.00"',
        'models[1].cache_wirte: unknown field',
        'models[2].rate_out: has 7 decimals, but at most 6 are allowed',
        expect.stringMatching(/^models\[2\]\.traits\.effort\[0\]: /),
      ]),
    );
    expect(problems).toHaveLength(5);
  });

  it.each([
    [0, 1],
    [1, 0],
    [200, 0],
    [201, 1],
  ])('of a display name of length %d, reports %d problems', (length, problems) => {
    expect(problemsOf({ ...MODEL, display_name: 'M'.repeat(length) })).toHaveLength(problems);
  });

  it('names each rate and factor that is no exact number', () => {
    const factors = { cacheRead: 'half', cacheWrite: '1.25', cacheWrite1h: '-2' };
    const reading = readRates({ rateIn: 'free', rateOut: '15', factors });
    if (reading.outcome === 'read') throw new Error('read');
    expect(reading.problems.map(({ field }) => field)).toEqual([
      'rateIn',
      'cacheRead',
      'cacheWrite1h',
    ]);
  });

  it.each(['-1', '1e3', '', '3.', 'free'])('refuses the rate %j', (rate) => {
    expect(problemsOf({ ...MODEL, rate_in: rate })).toHaveLength(1);
  });

  // F23
  it('refuses a factor that would need more than 14 decimals, and accepts it where it does not', () => {
    const factor = { cache_read: '0.025' };
    expect(problemsOf({ ...MODEL, rate_in: '0.000001', ...factor })).toEqual([
      'models[0].cache_read: multiplied by the input rate gives a price per token with more than 14 decimals',
    ]);
    expect(problemsOf({ ...MODEL, rate_in: '0.000002', ...factor })).toEqual([]);
  });

  it("accepts the specification's factors with every rate", () => {
    expect(problemsOf({ ...MODEL, rate_in: '0.000001', rate_out: '9999.999999' })).toEqual([]);
  });

  it('refuses ids and aliases that are used twice', () => {
    expect(problemsOf(MODEL, { ...MODEL, aliases: ['x', 'x'] }, { ...MODEL, id: 'x' })).toEqual([
      'models[1].id: "model-a" is already used by models[0].id',
      'models[1].aliases[1]: "x" is already used by models[1].aliases[0]',
      'models[2].id: "x" is already used by models[1].aliases[1]',
    ]);
  });

  it('refuses a reply longer than the context window', () => {
    expect(problemsOf({ ...MODEL, max_output_tokens: 200_001 })).toEqual([
      'models[0].max_output_tokens: is more than context_window',
    ]);
  });

  it.each([null, undefined, [], 'text', 7, {}, { models: [] }, { models: [MODEL], extra: 1 }])(
    'refuses %j as a table',
    (json) => {
      expect(() => parsePriceTable(json)).toThrow(PriceTableError);
    },
  );

  it('puts every problem into the message', () => {
    expect(() => parsePriceTable({ models: [{ ...MODEL, id: '', rate_in: '' }] })).toThrow(
      /^the price table is invalid:\n {2}models\[0\]\.id: .*\n {2}models\[0\]\.rate_in: is empty$/,
    );
  });
});

describe('default price table', () => {
  const table = defaultPriceTable();

  it('lists the models with a confirmed list price', () => {
    expect(Object.fromEntries(table.list().map((m) => [m.id, [m.rateIn, m.rateOut]]))).toEqual({
      'claude-fable-5-2': ['8.00', '40.00'],
      'claude-mythos-5-2': ['8.00', '40.00'],
      'claude-haiku-5-5': ['0.50', '2.50'],
      'claude-sonnet-5-5': ['2.00', '10.00'],
      'claude-fable-5-1': ['10.00', '50.00'],
      'claude-opus-5-5': ['4.00', '20.00'],
      'claude-mythos-5-1': ['10.00', '50.00'],
      'claude-sonnet-5': ['2.00', '10.00'],
      'claude-fable-5': ['10.00', '50.00'],
      'claude-mythos-5': ['10.00', '50.00'],
      'claude-opus-5': ['5.00', '25.00'],
      'claude-opus-4-8': ['5.00', '25.00'],
      'claude-opus-4-7': ['5.00', '25.00'],
      'claude-opus-4-6': ['5.00', '25.00'],
      'claude-sonnet-4-6': ['3.00', '15.00'],
      'claude-haiku-4-5': ['1.00', '5.00'],
      'claude-opus-4-5': ['5.00', '25.00'],
      'claude-sonnet-4-5': ['3.00', '15.00'],
    });
  });

  it('finds dated snapshots and refuses models without a confirmed price', () => {
    expect(table.find('claude-haiku-4-5-20251001')?.id).toBe('claude-haiku-4-5');
    expect(table.find('claude-opus-4-5-20251101')?.id).toBe('claude-opus-4-5');
    expect(table.find('claude-sonnet-4-5-20250929')?.id).toBe('claude-sonnet-4-5');
    expect(table.find('claude-mythos-preview')).toBeUndefined();
  });

  it('has the line and the day of release of each model, the newest first', () => {
    for (const { id, line, createdAt } of table.list()) {
      expect(id).toMatch(`claude-${line ?? 'none'}-`);
      expect(Date.parse(createdAt)).toBeGreaterThan(Date.UTC(2025, 1));
    }
    const [newest] = table.list();
    expect(table.list().every(({ createdAt }) => createdAt <= newest!.createdAt)).toBe(true);
  });

  it('knows since when a retirement is announced', () => {
    const opus = table.find('claude-opus-4-5')!;
    expect([opus.deprecatedAt, opus.retiresAt]).toEqual([
      '2026-11-23T00:00:00Z',
      '2027-01-22T00:00:00Z',
    ]);
    expect(isDeprecated(opus, Date.parse('2026-11-22T23:59:59Z'))).toBe(false);
    expect(isDeprecated(opus, Date.parse('2026-11-23T00:00:00Z'))).toBe(true);
    expect(isDeprecated(table.find('claude-opus-5')!, Date.UTC(2030, 1))).toBe(false);
    expect(problemsOf({ ...MODEL, retires_at: '2027-01-22T00:00:00Z' })).toEqual([
      'models[0].deprecated_at: is needed with retires_at',
    ]);
  });

  it("prices cached tokens at the specification's factors for every model", () => {
    for (const { rates } of table.list()) {
      expect(rates.cacheReadPerToken * 10n).toBe(rates.inputPerToken);
      expect(rates.cacheWrite5mPerToken * 4n).toBe(rates.inputPerToken * 5n);
      expect(rates.cacheWrite1hPerToken).toBe(rates.cacheWrite5mPerToken);
    }
  });

  it('stays the same when written to a file and read back', () => {
    const copy: unknown = JSON.parse(JSON.stringify(defaultPriceTableJson));
    expect(parsePriceTable(copy).list()).toEqual(table.list());
  });
});
