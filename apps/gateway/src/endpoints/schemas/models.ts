/** Models and their prices. */

import { z } from 'zod';
import { count, listOf, orNull, rates, specialPrices, text, time } from './basics.js';

export const offeredModel = z
  .strictObject({
    object: z.literal('model'),
    id: text,
    display_name: text,
    rate_in: text,
    rate_out: text,
    rates,
    ...specialPrices,
    next_change: orNull(z.strictObject({ effective_from: time, rates })).meta({
      description: 'the next scheduled change of these rates',
    }),
    is_deprecated: z.boolean(),
    retires_at: orNull(time),
    max_output_tokens: count,
    context_window: count,
  })
  .meta({ id: 'OfferedModel' });

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

export const price = z
  .strictObject({
    object: z.literal('price'),
    model: text,
    display_name: text,
    rates,
    ...specialPrices,
    is_deprecated: z.boolean(),
    max_input_tokens: count,
    max_output_tokens: count,
  })
  .meta({ id: 'Price' });

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
