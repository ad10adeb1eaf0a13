/**
 * A price table whose rates change at times that are known in advance. Several processes with the
 * same table change their rates at the same moment, even if they read the table at different times.
 */

import * as z from 'zod';
import { FACTOR_DECIMALS, RATE_DECIMALS, readRates } from './rates.js';
import type { ModelJson, PriceTable } from './price-table.js';
import {
  JSON_FIELD,
  PriceTableError,
  buildPriceTable,
  decimal,
  describeIssue,
  modelJson,
  tableMembers,
} from './price-table.js';

export interface PriceSchedule {
  /**
   * The table in force at a time.
   *
   * @param atMs - Milliseconds since the epoch. A change applies from its `effective_from` on.
   */
  at(atMs: number): PriceTable;
  /**
   * When the rates change next after a time, in milliseconds since the epoch; `Infinity` if they
   * never do.
   */
  nextChange(afterMs: number): number;
}

const priceChange = z.strictObject({
  effective_from: z.iso.datetime('must be an ISO 8601 UTC time, such as 2026-12-01T00:00:00Z'),
  rate_in: decimal(RATE_DECIMALS),
  rate_out: decimal(RATE_DECIMALS),
  cache_read: decimal(FACTOR_DECIMALS).optional(),
  cache_write: decimal(FACTOR_DECIMALS).optional(),
  cache_write_1h: decimal(FACTOR_DECIMALS).optional(),
});

const scheduledModel = modelJson.extend({ price_changes: z.array(priceChange).default([]) });
const priceScheduleJson = z.strictObject({
  models: z.array(scheduledModel).min(1),
  ...tableMembers,
});

type ScheduledModel = z.output<typeof scheduledModel>;

/** A price table with scheduled changes, as in a file: the input of {@link parsePriceSchedule}. */
export type PriceScheduleJson = z.input<typeof priceScheduleJson>;

/**
 * Checks a price table whose models may have `price_changes`: rates that apply from a time on.
 *
 * A change replaces both rates. If it leaves out a factor for cached tokens, the model's applies.
 *
 * @param json - The parsed file: {@link PriceScheduleJson}. A price table without changes is also
 * accepted.
 * @throws {PriceTableError} with every problem of the shape, such as a change without a time; or
 * else with every other problem of the table without its changes; or else with every problem of the
 * changes, such as two of one model that are not in the order of their times.
 */
export function parsePriceSchedule(json: unknown): PriceSchedule {
  const parsed = priceScheduleJson.safeParse(json);
  if (!parsed.success) throw new PriceTableError(parsed.error.issues.flatMap(describeIssue));
  const { models, unbilled_refusals: unbilledRefusals } = parsed.data;
  const problems = models.flatMap((model, index) => problemsOf(model, `models[${index}]`));
  const times = [...new Set(models.flatMap(({ price_changes }) => price_changes.map(timeOf)))].sort(
    (a, b) => a - b,
  );
  const first = tableAt(models, unbilledRefusals, -Infinity);
  if (problems.length > 0) throw new PriceTableError(problems);
  const steps = times.map((from) => ({ from, table: tableAt(models, unbilledRefusals, from) }));

  return {
    at: (atMs) => steps.findLast(({ from }) => from <= atMs)?.table ?? first,
    nextChange: (afterMs) => steps.find(({ from }) => from > afterMs)?.from ?? Infinity,
  };
}

function timeOf({ effective_from }: { readonly effective_from: string }): number {
  return Date.parse(effective_from);
}

function problemsOf(model: ScheduledModel, path: string): string[] {
  return model.price_changes.flatMap((change, index) => {
    const at = `${path}.price_changes[${index}]`;
    const before = model.price_changes[index - 1];
    const isLate = before !== undefined && timeOf(before) >= timeOf(change);
    const changed = applied(model, change);
    const reading = readRates({
      rateIn: changed.rate_in,
      rateOut: changed.rate_out,
      factors: {
        cacheRead: changed.cache_read,
        cacheWrite: changed.cache_write,
        cacheWrite1h: changed.cache_write_1h,
      },
    });
    return [
      ...(isLate ? [`${at}.effective_from: must be later than that of the change before`] : []),
      ...(reading.outcome === 'read' ? [] : reading.problems).map(
        ({ field, problem }) => `${at}.${JSON_FIELD[field]}: ${problem}`,
      ),
    ];
  });
}

function tableAt(
  models: readonly ScheduledModel[],
  unbilledRefusals: readonly string[],
  atMs: number,
): PriceTable {
  return buildPriceTable(
    models.map((model) => {
      const change = model.price_changes.findLast((each) => timeOf(each) <= atMs);
      return change === undefined ? model : applied(model, change);
    }),
    unbilledRefusals,
  );
}

function applied(
  model: ScheduledModel,
  change: ScheduledModel['price_changes'][number],
): ModelJson {
  return {
    ...model,
    rate_in: change.rate_in,
    rate_out: change.rate_out,
    cache_read: change.cache_read ?? model.cache_read,
    cache_write: change.cache_write ?? model.cache_write,
    cache_write_1h: change.cache_write_1h ?? model.cache_write_1h,
  };
}
