import { describe, expect, it } from '@jest/globals';
import type { ChargePart } from '../src/itemized-charge.js';
import { itemizeCharge } from '../src/itemized-charge.js';
import { listPriceTable, listPriceTableJson } from '../src/list-price-table.js';
import { LIST_RULES, rowOf } from '../src/list-rules.js';
import { defaultPriceTable, defaultPriceTableJson } from '../src/default-price-table.js';
import type { PriceTable } from '../src/price-table.js';
import { isUnbilled } from '../src/unbilled.js';
import type { AttemptEnd } from '../src/unbilled.js';
import { formatUsd, parseUsd } from '../src/usd.js';
import vectorsJson from './vectors/list-charges.json';

/**
 * Charges computed by hand. Each line says how an amount comes about, so that it can be checked
 * with a pocket calculator; `row` names the feature of the provider's list.
 */
interface Vector {
  readonly row: string;
  readonly name: string;
  /** When; 27 November 2026 if absent. */
  readonly at?: string;
  readonly attempts: readonly {
    readonly model: string;
    readonly usage: Readonly<Record<string, number>>;
    readonly circumstances?: Readonly<Record<string, string>>;
    readonly server_tool_use?: Readonly<Record<string, number>>;
    readonly end?: AttemptEnd;
    readonly lines: readonly string[];
  }[];
  readonly total: string;
}
const vectors = vectorsJson as unknown as readonly Vector[];

const NOVEMBER = Date.parse('2026-11-27T00:00:00Z');

const lineOf = ({ what, units, perUnit, amount, rate, factors }: ChargePart): string =>
  rate === undefined
    ? `${units} ${what} x ${formatUsd(perUnit)} = ${formatUsd(amount)}`
    : `${[`${units} ${what}`, rate, ...factors].join(' x ')} / 10^6 = ${formatUsd(amount)}`;

function partsOf(attempt: Vector['attempts'][number], table: PriceTable): readonly ChargePart[] {
  const usage = {
    inputTokens: attempt.usage['input_tokens'] ?? NaN,
    outputTokens: attempt.usage['output_tokens'] ?? NaN,
    cacheReadInputTokens: attempt.usage['cache_read_input_tokens'] ?? NaN,
    cacheCreationInputTokens: attempt.usage['cache_creation_input_tokens'] ?? NaN,
    cacheCreation1hInputTokens: attempt.usage['cache_creation_1h_input_tokens'] ?? NaN,
  };
  if (isUnbilled(attempt.end ?? { kind: 'answered' }, table)) return [];
  const charge = itemizeCharge(
    {
      usage,
      circumstances: attempt.circumstances ?? {},
      serverToolUse: attempt.server_tool_use ?? {},
    },
    table.find(attempt.model)!,
    table.fees,
  );
  expect(charge.total).toBe(charge.parts.reduce((sum, { amount }) => sum + amount, 0n));
  return charge.parts;
}

/** The value of a line such as `5 cache_read x 4.00 x 0.05 / 10^6 = 0.000001`, both sides. */
function sidesOf(line: string): readonly [product: bigint, result: bigint] {
  const [left = '', right = ''] = line.split(' = ');
  const decimals = left.includes(' / 10^6') ? 6 : 0;
  const factors = left
    .replace(' / 10^6', '')
    .replace(/ [a-z_0-9]+(?= x)/, '')
    .split(' x ');
  const scale = factors.reduce((sum, text) => sum + (text.split('.')[1]?.length ?? 0), decimals);
  const product = factors.reduce((sum, text) => sum * BigInt(text.replace('.', '')), 1n);
  return [product * 10n ** 14n, parseUsd(right) * 10n ** BigInt(scale)];
}

describe("charges by the provider's list", () => {
  it.each(vectors)('$row: $name', ({ at, attempts, total }) => {
    const table = listPriceTable(at === undefined ? NOVEMBER : Date.parse(at));
    const parts = attempts.map((attempt) => partsOf(attempt, table));
    expect(parts.map((each) => each.map(lineOf))).toEqual(attempts.map(({ lines }) => lines));
    expect(formatUsd(parts.flat().reduce((sum, { amount }) => sum + amount, 0n))).toBe(total);
  });

  it.each(vectors)('the lines of the vector are right by themselves: $name', (vector) => {
    const lines = vector.attempts.flatMap((attempt) => attempt.lines);
    for (const line of lines) {
      const [product, result] = sidesOf(line);
      expect([line, product]).toEqual([line, result]);
    }
    const sum = lines.reduce((total, line) => total + parseUsd(line.split(' = ')[1] ?? ''), 0n);
    expect(formatUsd(sum)).toBe(vector.total);
  });

  it('has a vector for each row of the list', () => {
    const rows = new Set(vectors.map(({ row }) => row));
    expect([...rows]).toEqual([...Array.from({ length: 10 }, (_, i) => `A${i + 1}`), 'D1']);
  });
});

describe('list', () => {
  it('has the models of the specification, each with its source', () => {
    const ids = (table: PriceTable) => table.list().map(({ id }) => id);
    expect(ids(listPriceTable(NOVEMBER))).toEqual(ids(defaultPriceTable()));
    for (const { id, source } of listPriceTableJson.models) {
      expect([id, source?.startsWith('https://platform.claude.com/')]).toEqual([id, true]);
    }
  });

  it('quotes in each source the rates of its row', () => {
    for (const { id, rateIn, rateOut, source } of listPriceTable(NOVEMBER).list()) {
      const quoted = /: ([0-9.]+) \/ ([0-9.]+)/
        .exec(source ?? '')
        ?.slice(1)
        .map(Number);
      expect([id, quoted]).toEqual([id, [Number(rateIn), Number(rateOut)]]);
    }
  });

  it('keeps each price of a circumstance: it ends when the usage ends, not on a day', () => {
    const circumstances = ['speed', 'service_tier', 'inference_geo'] as const;
    for (const { id, price_changes: changes = [], ...model } of listPriceTableJson.models) {
      const lost = changes.flatMap((change) =>
        circumstances.flatMap((member) =>
          Object.keys(model[member] ?? {}).filter(
            (value) => change[member] !== undefined && !(value in change[member]),
          ),
        ),
      );
      expect([id, lost]).toEqual([id, []]);
    }
  });

  it('has a rule with its page and its day for each price', () => {
    const members = new Set(LIST_RULES.flatMap((rule) => rule.members));
    const { models, ...table } = listPriceTableJson;
    const [own, shared] = [defaultPriceTableJson, new Set<string>()];
    for (const [index, model] of models.entries()) {
      for (const [member, value] of Object.entries(model)) {
        const before = own.models[index]?.[member as keyof (typeof own.models)[number]];
        if (JSON.stringify(value) !== JSON.stringify(before)) shared.add(member);
      }
    }
    const ofRows = new Set<string>([...rowOf('').members, 'source']);
    for (const member of [...shared, ...Object.keys(table)]) {
      expect([member, ofRows.has(member) || members.has(member as never)]).toEqual([member, true]);
    }
    for (const { says, page, since, read } of LIST_RULES) {
      expect([says, page]).toEqual([
        says,
        expect.stringMatching(/^https:[/][/]platform[.]claude[.]com[/]/),
      ]);
      for (const day of [since ?? read, read]) expect(day).toMatch(/^2026-\d\d-\d\d$/);
    }
  });

  it('copies these rules', () => {
    const table = LIST_RULES.map(
      ({ says, page, part, since, read }) =>
        `${since ?? ''}, ${read}, ${page.split('/').at(-1)!}, ${part!}: ${says}`,
    );
    expect(table).toEqual([
      ', 2026-11-28, pricing, Prompt caching: writes to the cache cost 1.25 of the input rate for five minutes, 2 for an hour',
      ', 2026-11-28, pricing, Prompt caching: reads from the cache cost 0.1 of the input rate, unless the row of a model says less',
      ', 2026-11-28, pricing, Batch processing: batches cost half',
      ', 2026-11-28, pricing, Data residency pricing: inference in the US costs 1.1 times, on models from generation 4.6 on',
      ', 2026-11-28, pricing, Fast mode pricing: fast mode costs twice the rates of the model, on the models whose rows name it',
      ', 2026-11-28, pricing, Tool use pricing: a search costs 0.01; fetches cost only their tokens',
      '2026-09-24, 2026-11-28, refusals-and-fallback, How refusals are billed: a refusal before any output, also one after which another model goes on, is billed in the categories bio, frontier_llm, reasoning_extraction, and free in any other and without one',
      ', 2026-11-28, refusals-and-fallback, How refusals are billed: each attempt of a request with fallbacks is billed at the rates of its model',
    ]);
  });
});
