/** Operations on prices: the table in force, and its differences from the upstream's models. */

import { z } from 'zod';
import type { ModelPrice, PriceSchedule, PriceTable } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { accountPrices, help } from '../../endpoints/fields.js';
import { OperationError, invalidInput } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import {
  feesView,
  offeredModelView,
  ratesView,
  specialRatesOf,
} from '../../endpoints/schemas/models.js';
import type { UpstreamModel } from '../../upstream/upstream-models.js';
import { list, operation } from './operation.js';
import type { OperationContext } from './operation.js';

export const modelOperations = {
  listModels: operation({
    method: 'get',
    path: '/admin/models',
    summary: 'The price table',
    right: 'read',
    input: z.strictObject({
      prices: accountPrices
        .optional()
        .register(help, { says: 'those of accounts with these prices of their own' }),
    }),
    output: schema.listOf(schema.offeredModel),
    run({ prices }, context) {
      const { now } = context;
      const schedule = scheduleOf(prices, context);
      const table = schedule.at(now());
      const nowMs = now();
      const data = table.list().map((price) => {
        const next = nextChangeOf(price, schedule, nowMs) ?? null;
        return offeredModelView({ price, fees: table.fees, nowMs, next });
      });
      return Promise.resolve(list(data, undefined));
    },
  }),

  compareModels: operation({
    method: 'get',
    path: '/admin/models/upstream',
    summary: 'The differences between the price table and the models that the upstream offers',
    right: 'read',
    input: z.strictObject({}),
    output: schema.modelComparison,
    async run(_input, { prices, upstreamModels }) {
      if (upstreamModels === undefined) {
        throw new OperationError(newRefusal('upstream_key_needed'));
      }
      const reading = await upstreamModels();
      if (reading.outcome === 'failed') {
        throw new OperationError(
          newRefusal('upstream_models_unreadable', { reason: reading.reason }),
        );
      }
      const names = new Set(reading.models.map(({ id }) => id));
      const isOffered = ({ id, aliases }: ModelPrice): boolean =>
        [id, ...aliases].some((name) => names.has(name));
      return {
        object: 'model_comparison' as const,
        /** Ids of the table that the upstream offers, by this id or by an alias. */
        offered: prices.list().filter(isOffered).map(idOf),
        /** Ids of the table that the upstream does not offer. */
        gone: prices
          .list()
          .filter((price) => !isOffered(price))
          .map(idOf),
        /** Models that the upstream offers and the table lacks, as entries for the table. */
        missing: reading.models
          .filter(({ id }) => prices.find(id) === undefined)
          .map((model) => entryOf(model, prices)),
      };
    },
  }),
} as const;

/**
 * The prices of an account.
 *
 * @throws {OperationError} They cannot be used.
 */
export function scheduleOf(
  given: string | null | undefined,
  { prices }: Pick<OperationContext, 'prices'>,
): PriceSchedule {
  const reading = prices.of(given ?? null);
  if ('schedule' in reading) return reading.schedule;
  throw invalidInput(`prices: ${reading.problem}`);
}

function idOf({ id }: ModelPrice): string {
  return id;
}

/** The next scheduled change of one model's rates. Rates of other models may change before it. */
function nextChangeOf(price: ModelPrice, prices: PriceSchedule, nowMs: number) {
  const textOf = (of: ModelPrice, table: PriceTable): string =>
    JSON.stringify([ratesView(of.rates), specialRatesOf(of), feesView(table.fees)]);
  const before = textOf(price, prices.at(nowMs));
  for (let at = prices.nextChange(nowMs); at !== Infinity; at = prices.nextChange(at)) {
    const table = prices.at(at);
    const changed = table.find(price.id);
    if (changed !== undefined && textOf(changed, table) !== before) {
      return { effective_from: new Date(at).toISOString(), rates: ratesView(changed.rates) };
    }
  }
  return undefined;
}

/** An entry for the price table. The operator must replace each `null`. */
export interface PriceEntry {
  readonly id: string;
  readonly display_name: string;
  readonly created_at?: string | undefined;
  readonly rate_in: null;
  readonly rate_out: null;
  readonly max_output_tokens: number | null;
  readonly context_window: number | null;
  readonly traits: {
    readonly sampling: string | null;
    readonly forced_tool_choice: string | null;
    readonly effort: readonly string[] | null;
    readonly thinking_off: string | null;
    readonly thinking_on: string | null;
    readonly system_messages: string | null;
    readonly structured_outputs: string | null;
    readonly binds_thinking: boolean | null;
  };
}

function entryOf(model: UpstreamModel, table: PriceTable): PriceEntry {
  const createdMs = model.createdAt === undefined ? NaN : Date.parse(model.createdAt);
  return {
    id: model.id,
    display_name: model.displayName ?? model.id,
    ...(Number.isNaN(createdMs) ? {} : { created_at: new Date(createdMs).toISOString() }),
    rate_in: null,
    rate_out: null,
    max_output_tokens: model.maxOutputTokens ?? null,
    context_window: model.contextWindow ?? null,
    traits: traitsOfNewest(table),
  };
}

/**
 * The traits of the newest model in the table, because new models mostly accept the same requests.
 * Where a new model differs, the upstream answers a request with a 400.
 */
function traitsOfNewest(table: PriceTable): PriceEntry['traits'] {
  const [newest] = [...table.list()].sort((a, b) => b.createdAt.localeCompare(a.createdAt));
  return {
    sampling: newest?.traits.sampling ?? null,
    forced_tool_choice: newest?.traits.forcedToolChoice ?? null,
    effort: newest?.traits.effort ?? null,
    thinking_off: newest?.traits.thinkingOff ?? null,
    thinking_on: newest?.traits.thinkingOn ?? null,
    system_messages: newest?.traits.systemMessages ?? null,
    structured_outputs: newest?.traits.structuredOutputs ?? null,
    binds_thinking: newest?.traits.bindsThinking ?? null,
  };
}
