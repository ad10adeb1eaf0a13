/**
 * A price table whose rates change at times that are known in advance. Several processes with the
 * same table change their rates at the same moment, even if they read the table at different times.
 */

import { priceSchemas } from './price-schemas.js';
import type { ModelJson, ScheduledModel, SpecialPrice, TableMembers } from './price-schemas.js';
import type { PriceTable } from './price-table.js';
import { PriceTableError, buildPriceTable, describeIssue, pricesOf } from './price-table.js';

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

/**
 * Checks a price table whose models may have `price_changes`, as `parsePriceSchedule` says.
 *
 * @param json - The parsed file: {@link PriceScheduleJson}. A price table without changes is also
 * accepted.
 * @param labels - How problems of each model are named; `models[index]` by default.
 * @throws {PriceTableError} with every problem of the shape, such as a change without a time; or
 * else with every other problem of the table without its changes; or else with every problem of the
 * changes, such as two of one model that are not in the order of their times.
 */
export function parseWholeSchedule(json: unknown, labels: readonly string[] = []): PriceSchedule {
  const parsed = priceSchemas().priceSchedule.safeParse(json);
  if (!parsed.success) {
    throw new PriceTableError(parsed.error.issues.flatMap((issue) => describeIssue(issue, labels)));
  }
  const { models, ...members } = parsed.data;
  const times = [...new Set(models.flatMap(({ price_changes }) => price_changes.map(timeOf)))].sort(
    (a, b) => a - b,
  );
  const tableAt = (atMs: number): PriceTable => tableOf(models, { members, labels, atMs });
  const first = tableAt(-Infinity);
  const problems = models.flatMap((model, index) =>
    problemsOf(model, labels[index] ?? `models[${index}]`),
  );
  if (problems.length > 0) throw new PriceTableError(problems);
  const steps = times.map((from) => ({ from, table: tableAt(from) }));

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
    const problems = isLate
      ? [`${at}.effective_from: must be later than that of the change before`]
      : [];
    for (const member of withRatesOf(model)) {
      if (change[member] !== undefined) continue;
      problems.push(`${at}.${member}: is needed, because the model has rates there`);
    }
    pricesOf(applied(model, change), at, problems);
    return problems;
  });
}

/** The members of a model that have rates of their own. */
function withRatesOf(model: ScheduledModel): readonly SpecialPrice[] {
  const circumstances = (['speed', 'service_tier', 'inference_geo'] as const).filter((member) =>
    Object.values(model[member]).some(({ rate_in }) => rate_in !== undefined),
  );
  return model.bands.length > 0 ? ['bands', ...circumstances] : circumstances;
}

function tableOf(
  models: readonly ScheduledModel[],
  table: {
    readonly members: TableMembers;
    readonly labels: readonly string[];
    readonly atMs: number;
  },
): PriceTable {
  const inForce = models.map((model) => {
    const change = model.price_changes.findLast((each) => timeOf(each) <= table.atMs);
    return change === undefined ? model : applied(model, change);
  });
  return buildPriceTable({ models: inForce, ...table.members }, table.labels);
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
    bands: change.bands ?? model.bands,
    speed: change.speed ?? model.speed,
    service_tier: change.service_tier ?? model.service_tier,
    inference_geo: change.inference_geo ?? model.inference_geo,
  };
}
