/** Tables that extend another one, by a factor or by other rates for a model. */

import { defaultPriceTableJson } from './default-price-table.js';
import { listPriceTableJson } from './list-price-table.js';
import {
  hasRatesWithin,
  multipliedFees,
  productOf,
  withMultipliedRates,
} from './multiplied-prices.js';
import { PriceTableError, describeIssue } from './price-table.js';
import { priceSchemas } from './price-schemas.js';
import type { PriceScheduleJson } from './price-schemas.js';
import type { PriceSchedule } from './price-schedule.js';
import { parseWholeSchedule } from './price-schedule.js';
import { RATE_DECIMALS } from './rates.js';

/** The tables that come with the product. */
export const NAMED_TABLES = { specification: defaultPriceTableJson, list: listPriceTableJson };
export type NamedTable = keyof typeof NAMED_TABLES;

/** The tables that others may extend, by name. */
export type BaseTables = Readonly<Record<string, PriceScheduleJson>>;

/** An extended table as written in a file. */
export interface ExtendedTableJson {
  /** The name of a table: by default, {@link NamedTable}. */
  readonly extends: string;
  /**
   * Multiplies all rates and fees that are taken from the extended table. Those of this file are
   * never multiplied by it, wherever they stand.
   */
  readonly factor?: string;
  /**
   * Models to change or to add. An entry with the id of a model of the extended table has only the
   * members that differ. If it has `rate_in` and `rate_out`, all other prices of that model are
   * dropped, except the factors of cached tokens. A `factor` of the entry multiplies all prices of
   * the model, in place of those of both tables.
   */
  readonly models?: readonly ({ readonly id: string } & Partial<
    PriceScheduleJson['models'][number]
  >)[];
  readonly billed_refusals?: readonly string[];
  readonly fallbacks?: PriceScheduleJson['fallbacks'];
  readonly server_tool_use?: Readonly<Record<string, string>>;
}

/**
 * Checks a price table whose models may have `price_changes`: rates that apply from a time on.
 *
 * A change replaces both rates. If it leaves out a factor for cached tokens, or a circumstance that
 * only multiplies, the model's applies. Bands, and circumstances with rates of their own, must be
 * given again, because they would otherwise keep the earlier rates.
 *
 * @param json - The parsed file: a `PriceScheduleJson`, or a table that extends another one: an
 * {@link ExtendedTableJson}.
 * @param bases - The tables that may be extended, without `extends`; by default the product's own.
 * @throws {PriceTableError} Problems are named by their places in the file.
 */
export function parsePriceSchedule(json: unknown, bases: BaseTables = NAMED_TABLES): PriceSchedule {
  const whole = resolveExtends(json, bases);
  return parseWholeSchedule(whole.json, whole.labels);
}

/**
 * Checks a table like {@link parsePriceSchedule}.
 *
 * @returns the table as a whole, without `extends`
 * @throws {PriceTableError}
 */
export function wholePriceTable(
  json: unknown,
  bases: BaseTables = NAMED_TABLES,
): PriceScheduleJson {
  const whole = resolveExtends(json, bases);
  parseWholeSchedule(whole.json, whole.labels);
  return whole.json as PriceScheduleJson;
}

/** A whole table, and how problems of its models are named: by the places in the author's file. */
interface WholeTable {
  readonly json: unknown;
  readonly labels: readonly string[];
}

/** Replaces `extends` by the table that it names. A table without it stays as it is. */
function resolveExtends(json: unknown, bases: BaseTables): WholeTable {
  if (typeof json !== 'object' || json === null || !('extends' in json)) {
    return { json, labels: [] };
  }
  const parsed = priceSchemas().extension.safeParse(json);
  if (!parsed.success)
    throw new PriceTableError(parsed.error.issues.flatMap((issue) => describeIssue(issue)));
  const { extends: name, factor, models, server_tool_use: fees, ...members } = parsed.data;
  const base = Object.hasOwn(bases, name) ? bases[name] : undefined;
  if (base === undefined) {
    const names = Object.keys(bases).map((each) => `"${each}"`);
    throw new PriceTableError([`extends: must be one of ${names.join(', ')}`]);
  }
  const problems: string[] = [];
  const labels: string[] = [];
  const own = new Map(models.map((model, index) => [model.id, { model, index }]));
  const whole: unknown[] = base.models.map((model) => {
    const found = own.get(model.id);
    labels.push(found === undefined ? `${model.id} of "${name}"` : `models[${found.index}]`);
    const product = productOf(model.factor, factor);
    const multiplied = Number(factor) === 1 ? {} : { factor: product };
    if (found === undefined) return { ...model, ...multiplied };
    const hasRates = RATES.filter((rate) => rate in found.model);
    if (hasRates.length === 1) {
      const missing = RATES.find((rate) => !(rate in found.model));
      problems.push(`models[${found.index}].${missing}: is needed with ${hasRates[0]}`);
    }
    if (hasRates.length > 0) return { ...withoutPrices(model), ...found.model };
    if (Number(product) === 1 || 'factor' in found.model || !hasRatesWithin(found.model)) {
      return { ...model, ...multiplied, ...found.model };
    }
    // A factor of the whole model would also multiply the author's own rates.
    const inherited = withMultipliedRates(inheritedOf(model, found.model), [
      model.factor ?? '1',
      factor,
    ]);
    if (inherited === undefined) {
      const decimals = `with more than ${RATE_DECIMALS} decimals`;
      problems.push(
        `factor: gives rates of ${model.id} ${decimals}, so models[${found.index}] needs its own rate_in and rate_out`,
      );
    }
    return { ...inherited, ...found.model };
  });
  for (const [index, model] of models.entries()) {
    // A repeated id is also added, so that the check of the whole table finds it.
    if (own.get(model.id)?.index === index && base.models.some(({ id }) => id === model.id)) {
      continue;
    }
    labels.push(`models[${index}]`);
    whole.push(model);
  }
  const baseFees = multipliedFees(base.server_tool_use ?? {}, factor, problems);
  if (problems.length > 0) throw new PriceTableError(problems);
  return {
    json: { ...base, ...members, models: whole, server_tool_use: { ...baseFees, ...fees } },
    labels,
  };
}

const RATES = ['rate_in', 'rate_out'] as const;

/** The members that an entry takes from the model, without the model's factor. */
function inheritedOf(model: PriceScheduleJson['models'][number], own: object) {
  const members = Object.entries(model).filter(
    ([name]) => name !== 'factor' && !Object.hasOwn(own, name),
  );
  return Object.fromEntries(members);
}

/** Removes the prices of a model that rates of one's own replace. */
function withoutPrices(model: PriceScheduleJson['models'][number]) {
  const { bands, speed, service_tier, inference_geo, price_changes, source, factor, ...rest } =
    model;
  void [bands, speed, service_tier, inference_geo, price_changes, source, factor];
  return rest;
}
