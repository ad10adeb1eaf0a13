/**
 * The provider's list of November 2026, with everything by which it differs from the formula of the
 * specification. The models, their limits and their traits are those of `specification`.
 *
 * `list-rules.ts` names the page and the day of each rule. A price that the list does not have is
 * not in the table: a circumstance without a price of its own is charged at the usual price and
 * remarked.
 */

import { defaultPriceTableJson } from './default-price-table.js';
import { rowOf, sourceOf } from './list-rules.js';
import type { ListRule } from './list-rules.js';
import type { PriceTable } from './price-table.js';
import type { PriceScheduleJson } from './price-schemas.js';
import { parseWholeSchedule } from './price-schedule.js';
import { BILLED_REFUSALS } from './unbilled.js';

type ModelEntry = PriceScheduleJson['models'][number];
type Prices = Partial<ModelEntry>;

/** One-hour cache writes cost twice the input rate on every model. */
const EVERY_MODEL: Prices = {
  cache_write: '1.25',
  cache_write_1h: '2',
  service_tier: { batch: { factor: '0.5' } },
};
/** The models from generation 4.6 on report where they ran. */
const FROM_4_6: Prices = { ...EVERY_MODEL, inference_geo: { us: { factor: '1.1' } } };

const fast = (rate_in: string, rate_out: string): Pick<ModelEntry, 'speed'> => ({
  speed: { fast: { rate_in, rate_out } },
});

interface Row {
  readonly prices: Prices;
  readonly rule: ListRule;
}

const FABLE_5_2: Row = {
  prices: { ...FROM_4_6, cache_read: '0.025', ...fast('16.00', '80.00') },
  rule: rowOf('8 / 40, reads 0.20; fast mode 16 / 80', '2026-11-09'),
};
const FABLE_5_1: Row = {
  prices: { ...FROM_4_6, cache_read: '0.025' },
  rule: rowOf('10 / 50, reads 0.25', '2026-09-01'),
};
/**
 * Fast mode of Opus 4.8 was announced to end on 30 November 2026. Its price stays: it ends when the
 * usage ends. A response that the provider still serves so would otherwise be sold at half.
 */
const FAST_OPUS_5_OR_4_8: Row = {
  prices: { ...FROM_4_6, ...fast('10.00', '50.00') },
  rule: rowOf('5 / 25, reads 0.50; fast mode 10 / 50'),
};

/** The models whose prices are not just their rates and the usual factors. */
const ROWS: Readonly<Record<string, Row>> = {
  'claude-fable-5-2': FABLE_5_2,
  'claude-mythos-5-2': FABLE_5_2,
  'claude-haiku-5-5': {
    prices: {
      ...FROM_4_6,
      rate_in: '0.10',
      rate_out: '0.50',
      bands: [{ above_prompt_tokens: 100_000, rate_in: '0.50', rate_out: '2.50' }],
    },
    rule: rowOf(
      '0.10 / 0.50 up to 100,000 prompt tokens, cached ones included, else 0.50 / 2.50',
      '2026-10-07',
    ),
  },
  'claude-sonnet-5-5': {
    prices: { ...FROM_4_6, cache_read: '0.05' },
    rule: rowOf('2 / 10, reads 0.10', '2026-10-07'),
  },
  'claude-fable-5-1': FABLE_5_1,
  'claude-mythos-5-1': FABLE_5_1,
  'claude-opus-5-5': {
    prices: { ...FROM_4_6, cache_read: '0.05', ...fast('8.00', '40.00') },
    rule: rowOf('4 / 20, reads 0.20; fast mode 8 / 40', '2026-09-22'),
  },
  'claude-opus-5': FAST_OPUS_5_OR_4_8,
  'claude-opus-4-8': FAST_OPUS_5_OR_4_8,
};

/** These report neither a region nor a speed. */
const BEFORE_4_6 = new Set(['claude-haiku-4-5', 'claude-opus-4-5', 'claude-sonnet-4-5']);

export const listPriceTableJson: PriceScheduleJson = {
  models: defaultPriceTableJson.models.map((model): ModelEntry => {
    const { prices, rule } = ROWS[model.id] ?? {
      prices: BEFORE_4_6.has(model.id) ? EVERY_MODEL : FROM_4_6,
      rule: rowOf(`${model.rate_in} / ${model.rate_out}, reads at 0.10`),
    };
    return { ...model, ...prices, source: sourceOf(rule) };
  }),
  billed_refusals: [...BILLED_REFUSALS],
  fallbacks: 'admitted',
  server_tool_use: { web_search_requests: '0.01', web_fetch_requests: '0' },
};

/** The list, parsed, as it is at a time (milliseconds since the epoch). */
export function listPriceTable(atMs: number): PriceTable {
  return parseWholeSchedule(listPriceTableJson).at(atMs);
}
