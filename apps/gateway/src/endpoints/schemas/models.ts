/** Models and their prices. */

import { z } from 'zod';
import type { SettledRates } from '@gateway/balance-store';
import { formatUsd, isDeprecated } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import type { ResultOf } from '../endpoint.js';
import { membersFrom, viewFor } from '../resource.js';
import { count, listOf, orNull, rates, specialPrices, text, time } from './basics.js';

/** A model of a price table, with what the table says of all models. */
export interface PricedModel {
  readonly price: ModelPrice;
  readonly fees: Fees;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

const ofPriced = membersFrom<PricedModel>();
const ofOffered = membersFrom<
  PricedModel & {
    readonly next: {
      readonly effective_from: string;
      readonly rates: ResultOf<typeof rates>;
    } | null;
  }
>();

const display_name = ofPriced.everyone(text, ({ price }) => price.displayName);
/** In USD per million tokens, with the prices beyond the usual rates. */
const pricesOf = {
  rates: ofPriced.everyone(rates, ({ price }) => ratesView(price.rates)),
  special_rates: ofPriced.everyone(specialPrices.special_rates, ({ price }) =>
    specialRatesOf(price),
  ),
  fees_usd: ofPriced.everyone(specialPrices.fees_usd, ({ fees }) => feesView(fees)),
};
const is_deprecated = ofPriced.everyone(z.boolean(), ({ price, nowMs }) =>
  isDeprecated(price, nowMs),
);
const max_output_tokens = ofPriced.everyone(count, ({ price }) => price.maxOutputTokens);

export const modelMembers = {
  object: ofOffered.operators(z.literal('model'), () => 'model' as const),
  id: ofOffered.operators(text, ({ price }) => price.id),
  display_name,
  rate_in: ofOffered.operators(text, ({ price }) => price.rateIn),
  rate_out: ofOffered.operators(text, ({ price }) => price.rateOut),
  ...pricesOf,
  next_change: ofOffered.operators(
    orNull(z.strictObject({ effective_from: time, rates })).meta({
      description: 'the next scheduled change of these rates',
    }),
    ({ next }) => next,
  ),
  is_deprecated,
  retires_at: ofOffered.operators(orNull(time), ({ price }) => price.retiresAt ?? null),
  max_output_tokens,
  context_window: ofOffered.operators(count, ({ price }) => price.contextWindow),
};

export const { schema: offeredModel, view: offeredModelView } = viewFor('operators', modelMembers, {
  id: 'OfferedModel',
});

/** What an account pays for a model. */
export const priceMembers = {
  object: ofPriced.holders(z.literal('price'), () => 'price' as const),
  model: ofPriced.holders(text, ({ price }) => price.id),
  display_name,
  ...pricesOf,
  is_deprecated,
  max_input_tokens: ofPriced.holders(count, ({ price }) => price.contextWindow),
  max_output_tokens,
};

export const { schema: price, view: priceView } = viewFor('holders', priceMembers, {
  id: 'Price',
});

const priceEntry = z
  .strictObject({
    id: text,
    display_name: text,
    created_at: text.optional(),
    rate_in: z.null(),
    rate_out: z.null(),
    max_output_tokens: orNull(z.int()),
    context_window: orNull(z.int()),
    traits: z.strictObject({
      sampling: orNull(text),
      forced_tool_choice: orNull(text),
      effort: orNull(z.array(text)),
      thinking_off: orNull(text),
      thinking_on: orNull(text),
      system_messages: orNull(text),
      structured_outputs: orNull(text),
      binds_thinking: orNull(z.boolean()),
    }),
  })
  .meta({
    id: 'PriceEntry',
    description: 'an entry for the price table, once each null is replaced',
  });

export const modelComparison = z
  .strictObject({
    object: z.literal('model_comparison'),
    offered: z.array(text),
    gone: z.array(text),
    missing: z.array(priceEntry),
  })
  .meta({ id: 'ModelComparison' });

export const prices = listOf(price).extend({
  are_agreed: z.boolean().meta({ description: 'whether they were agreed with this account only' }),
});

export const model = z
  .looseObject({
    id: text,
    object: z.literal('model'),
    type: z.literal('model'),
    display_name: text,
    created: z.int(),
    created_at: time,
    owned_by: text,
    rate_in: text,
    rate_out: text,
  })
  .meta({ id: 'Model' });

export const models = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(model),
    has_more: z.boolean(),
    first_id: orNull(text),
    last_id: orNull(text),
  })
  .meta({ id: 'Models' });

export const codexModels = z
  .strictObject({
    models: z.array(z.looseObject({ slug: text, display_name: text, context_window: count })),
  })
  .meta({ id: 'CodexModels', description: 'the models, as Codex reads them' });

/**
 * The rates of a band or of one circumstance; several circumstances multiply. `undefined` for a
 * model with one price.
 */
export function specialRatesOf({ variants }: ModelPrice) {
  const single = variants.filter(
    ({ abovePromptTokens, circumstances }) =>
      Object.keys(circumstances).length + Number(abovePromptTokens !== undefined) === 1,
  );
  if (single.length === 0) return undefined;
  return single.map(({ abovePromptTokens, circumstances, rates: special }) => ({
    ...(abovePromptTokens === undefined ? {} : { above_prompt_tokens: abovePromptTokens }),
    ...(circumstances.speed === undefined ? {} : { speed: circumstances.speed }),
    ...(circumstances.serviceTier === undefined ? {} : { service_tier: circumstances.serviceTier }),
    ...(circumstances.inferenceGeo === undefined
      ? {}
      : { inference_geo: circumstances.inferenceGeo }),
    rates: ratesView(special),
  }));
}

/** `undefined` for a table without fees. */
export function feesView(fees: Fees) {
  const paid = [...fees].filter(([, fee]) => fee > 0n);
  if (paid.length === 0) return undefined;
  return Object.fromEntries(paid.map(([what, fee]) => [what, formatUsd(fee)]));
}

const TOKENS_PER_MILLION = 1_000_000n;

/** In USD per million tokens. */
export function ratesView(rates: SettledRates) {
  const perMillion = (rate: bigint) => formatUsd(rate * TOKENS_PER_MILLION);
  return {
    input: perMillion(rates.inputPerToken),
    output: perMillion(rates.outputPerToken),
    cache_read: perMillion(rates.cacheReadPerToken),
    cache_write_5m: perMillion(rates.cacheWrite5mPerToken),
    cache_write_1h: perMillion(rates.cacheWrite1hPerToken),
  };
}
