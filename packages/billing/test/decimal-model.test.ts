/**
 * Charges of random usages, compared with those of a model in Python (`decimal_model.py`), at the
 * provider's list and at random tables. It needs `python3`, and fails without it.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { runs } from '../../../scripts/runs.cjs';
import { itemizeCharge } from '../src/itemized-charge.js';
import { listPriceTableJson } from '../src/list-price-table.js';
import { parsePriceTable } from '../src/price-table.js';
import type { PriceTableJson } from '../src/price-schemas.js';
import { parseUsd } from '../src/usd.js';

const USAGES = runs(__filename, 'usages');
const PER_PROCESS = 50_000;
const [LIST_MODEL] = listPriceTableJson.models;

/** A generator with a seed, so that a failure can be repeated. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

type Model = PriceTableJson['models'][number];

/** A table whose prices stay exact: two decimals of rates, and six of all factors together. */
function randomTable(below: (limit: number) => number): PriceTableJson {
  const decimalOf = (limit: number, decimals: number) =>
    (below(limit) / 10 ** decimals).toFixed(decimals);
  const rates = () => ({ rate_in: decimalOf(5_000, 2), rate_out: decimalOf(20_000, 2) });
  const factor = () => ({ factor: decimalOf(30, 1) });
  const own = () => ({ ...rates(), ...(below(2) === 0 && { cache_read: decimalOf(1_000, 3) }) });
  return {
    models: Array.from({ length: 20 }, (_, index): Model => {
      const kind = below(3);
      const first = below(500);
      return {
        ...LIST_MODEL!,
        id: `model-${index}`,
        ...rates(),
        cache_read: decimalOf(1_000, 3),
        cache_write: decimalOf(3_000, 3),
        ...(below(4) > 0 && { cache_write_1h: decimalOf(3_000, 3) }),
        bands:
          kind === 0
            ? [
                { above_prompt_tokens: first + 1, ...own() },
                { above_prompt_tokens: first + 1 + 300, ...own() },
              ]
            : [],
        speed: { fast: kind === 1 ? own() : factor() },
        service_tier: { batch: factor() },
        inference_geo: kind === 2 ? { us: own(), eu: own() } : {},
        factor: decimalOf(20, 1),
      };
    }),
    server_tool_use: { web_search_requests: decimalOf(9_999, 5), web_fetch_requests: '0' },
  };
}

/** Small counts, so that the bands of random tables are met; or as large as counts can be. */
function randomCase(models: readonly Model[], below: (limit: number) => number) {
  const size = [10, 200, 100_000, 2 ** 29][below(4)]!;
  const written = below(size);
  const chosen = <Value>(values: readonly Value[]) => values[below(values.length)];
  return {
    model: chosen(models)!.id,
    usage: {
      input: below(size),
      output: below(size),
      cache_read: below(size),
      cache_write: written,
      cache_write_1h: below(written + 1),
    },
    speed: chosen(['fast', 'standard', undefined]),
    service_tier: chosen(['batch', 'standard', undefined]),
    inference_geo: chosen(['us', 'eu', 'global', undefined]),
    server_tool_use: { web_search_requests: below(50), web_fetch_requests: below(5) },
  };
}

function inPython(job: unknown): readonly string[] {
  const script = join(__dirname, 'decimal_model.py');
  const run = spawnSync('python3', [script], {
    input: JSON.stringify(job),
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (run.error !== undefined) throw new Error(`this test needs python3: ${run.error.message}`);
  if (run.status !== 0) throw new Error(`python3 ended with ${String(run.status)}: ${run.stderr}`);
  return run.stdout.split('\n');
}

it("charges random usages to the last digit as Python's decimal does", () => {
  for (let from = 0; from < USAGES; from += PER_PROCESS) {
    const below = randomNumbers(from + 1);
    const list = { ...listPriceTableJson, models: withoutChanges(listPriceTableJson.models) };
    for (const json of [list, randomTable(below)]) {
      const table = parsePriceTable(json);
      const cases = Array.from({ length: Math.min(PER_PROCESS, USAGES - from) / 2 }, () =>
        randomCase(json.models, below),
      );
      const expected = inPython({ ...json, cases });
      expect(expected).toHaveLength(cases.length);
      for (const [index, each] of cases.entries()) {
        const charge = itemizeCharge(
          {
            usage: {
              inputTokens: each.usage.input,
              outputTokens: each.usage.output,
              cacheReadInputTokens: each.usage.cache_read,
              cacheCreationInputTokens: each.usage.cache_write,
              cacheCreation1hInputTokens: each.usage.cache_write_1h,
            },
            circumstances: {
              speed: each.speed,
              serviceTier: each.service_tier,
              inferenceGeo: each.inference_geo,
            },
            serverToolUse: each.server_tool_use,
          },
          table.find(each.model)!,
          table.fees,
        );
        const parts = charge.parts.reduce((sum, { amount }) => sum + amount, 0n);
        // Asserting a million times would take longer than the charges.
        if (charge.total !== parseUsd(expected[index]!) || parts !== charge.total) {
          expect([each, charge.total, parts]).toEqual([each, parseUsd(expected[index]!), parts]);
          throw new Error('the parts do not add up to the total');
        }
      }
    }
  }
});

function withoutChanges(models: typeof listPriceTableJson.models): readonly Model[] {
  return models.map(({ price_changes: _changes, ...model }) => model);
}
