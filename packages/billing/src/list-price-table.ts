/**
 * The provider's list of November 2026, with everything by which it differs from the formula of the
 * specification. The models, their limits and their traits are those of `specification`.
 *
 * Each row names its source. Whatever the list does not say is not in the table: a circumstance
 * without a price of its own is charged at the usual price and remarked.
 */

import { defaultPriceTableJson } from './default-price-table.js';
import type { PriceTable } from './price-table.js';
import type { PriceScheduleJson } from './price-schedule.js';
import { parseWholeSchedule } from './price-schedule.js';

type ModelEntry = PriceScheduleJson['models'][number];
type Prices = Partial<ModelEntry>;

const PRICING = 'https://platform.claude.com/docs/en/about-claude/pricing';

/** One-hour cache writes cost twice the input rate on every model. */
const EVERY_MODEL: Prices = {
  cache_write: '1.25',
  cache_write_1h: '2',
  // Batches cost half.
  service_tier: { batch: { factor: '0.5' } },
};
/** The models from generation 4.6 on report where they ran. */
const FROM_4_6: Prices = { ...EVERY_MODEL, inference_geo: { us: { factor: '1.1' } } };

/** Twice the usual rates. */
const fast = (rate_in: string, rate_out: string): Pick<ModelEntry, 'speed'> => ({
  speed: { fast: { rate_in, rate_out } },
});

const FABLE_5_2: Prices = { ...FROM_4_6, cache_read: '0.025', ...fast('16.00', '80.00') };
const FABLE_5_1: Prices = { ...FROM_4_6, cache_read: '0.025' };

const PRICES: Readonly<Record<string, Prices>> = {
  'claude-fable-5-2': {
    ...FABLE_5_2,
    source: `${PRICING}: 8 / 40, reads 0.20 (9 November 2026); fast mode 16 / 80`,
  },
  'claude-mythos-5-2': {
    ...FABLE_5_2,
    source: `${PRICING}: 8 / 40, reads 0.20 (9 November 2026); fast mode 16 / 80`,
  },
  'claude-haiku-5-5': {
    ...FROM_4_6,
    rate_in: '0.10',
    rate_out: '0.50',
    bands: [{ above_prompt_tokens: 100_000, rate_in: '0.50', rate_out: '2.50' }],
    source: `${PRICING}: 0.10 / 0.50 up to 100,000 prompt tokens, cached ones included, else 0.50 / 2.50 (7 October 2026)`,
  },
  'claude-sonnet-5-5': {
    ...FROM_4_6,
    cache_read: '0.05',
    source: `${PRICING}: 2 / 10, reads 0.10 (7 October 2026)`,
  },
  'claude-fable-5-1': {
    ...FABLE_5_1,
    source: `${PRICING}: 10 / 50, reads 0.25 (1 September 2026)`,
  },
  'claude-mythos-5-1': {
    ...FABLE_5_1,
    source: `${PRICING}: 10 / 50, reads 0.25 (1 September 2026)`,
  },
  'claude-opus-5-5': {
    ...FROM_4_6,
    cache_read: '0.05',
    ...fast('8.00', '40.00'),
    source: `${PRICING}: 4 / 20, reads 0.20 (22 September 2026); fast mode 8 / 40`,
  },
  'claude-opus-5': {
    ...FROM_4_6,
    ...fast('10.00', '50.00'),
    source: `${PRICING}: 5 / 25, reads 0.50; fast mode 10 / 50`,
  },
  'claude-opus-4-8': {
    ...FROM_4_6,
    ...fast('10.00', '50.00'),
    // Fast mode of this model ends on this day.
    price_changes: [
      { effective_from: '2026-11-30T00:00:00Z', rate_in: '5.00', rate_out: '25.00', speed: {} },
    ],
    source: `${PRICING}: 5 / 25, reads 0.50; fast mode 10 / 50 until 30 November 2026`,
  },
  'claude-haiku-4-5': EVERY_MODEL,
  'claude-opus-4-5': EVERY_MODEL,
  'claude-sonnet-4-5': EVERY_MODEL,
};

export const listPriceTableJson: PriceScheduleJson = {
  models: defaultPriceTableJson.models.map((model): ModelEntry => {
    const prices = PRICES[model.id] ?? FROM_4_6;
    const source = `${PRICING}: ${model.rate_in} / ${model.rate_out}, reads at 0.10`;
    return { ...model, source, ...prices };
  }),
  unbilled_refusals: ['cyber'],
  declined_attempts: 'unbilled_without_output',
  // 10 USD per 1,000 searches. Fetches cost only their tokens.
  server_tool_use: { web_search_requests: '0.01', web_fetch_requests: '0' },
};

/** The list, parsed, as it is at a time (milliseconds since the epoch). */
export function listPriceTable(atMs: number): PriceTable {
  return parseWholeSchedule(listPriceTableJson).at(atMs);
}
