/**
 * The table that is used when the operator has none: the models with a published list price.
 *
 * Rates are Anthropic's public list prices of November 2026, without its lower prices for cache
 * reads, which the specification's formula does not have. Limits, traits and days are those of its
 * model pages and release notes. A model whose price depends on the prompt's length is listed at
 * its higher price.
 *
 * Other packages and the simulator get their facts about models from this file: `npm run models`.
 */

import type { PriceTable } from './price-table.js';
import type { PriceTableJson } from './price-schemas.js';
import { parsePriceTable } from './price-table.js';

type ModelEntry = PriceTableJson['models'][number];
type Traits = ModelEntry['traits'];

/** The limits of the models differ only by generation. */
const MILLION_CONTEXT = { context_window: 1_000_000, max_output_tokens: 128_000 };
const CONTEXT_200K = { context_window: 200_000, max_output_tokens: 64_000 };

const ALWAYS_THINKING: Traits = {
  sampling: 'refused',
  forced_tool_choice: 'accepted',
  effort: ['low', 'medium', 'high', 'xhigh', 'max'],
  thinking_off: 'never',
  thinking_on: 'default',
  system_messages: 'anywhere',
  structured_outputs: 'accepted',
};
/** The models from Fable 5.1 on. */
const BINDING: Traits = { ...ALWAYS_THINKING, binds_thinking: true };
const BINDING_UNFORCED: Traits = { ...BINDING, forced_tool_choice: 'refused' };
const THINKING_BY_DEFAULT: Traits = { ...ALWAYS_THINKING, thinking_off: 'disabled' };
const THINKING_ON_REQUEST: Traits = {
  ...ALWAYS_THINKING,
  thinking_off: 'omit',
  thinking_on: 'adaptive',
};
const GENERATION_4_6: Traits = {
  sampling: 'accepted',
  forced_tool_choice: 'accepted',
  effort: ['low', 'medium', 'high', 'max'],
  thinking_off: 'omit',
  thinking_on: 'adaptive',
  structured_outputs: 'accepted',
};
/**
 * In a native request these models think only with a budget of tokens. The translator never sends
 * one, because the upstream would then require signed thinking before each call.
 */
const GENERATION_4_5: Traits = { ...GENERATION_4_6, effort: [], thinking_on: undefined };

export const defaultPriceTableJson: PriceTableJson = {
  models: [
    {
      id: 'claude-fable-5-2',
      display_name: 'Claude Fable 5.2',
      line: 'fable',
      created_at: '2026-11-09T00:00:00Z',
      rate_in: '8.00',
      rate_out: '40.00',
      ...MILLION_CONTEXT,
      traits: BINDING_UNFORCED,
    },
    {
      id: 'claude-mythos-5-2',
      display_name: 'Claude Mythos 5.2',
      line: 'mythos',
      verified_only: true,
      created_at: '2026-11-09T00:00:00Z',
      rate_in: '8.00',
      rate_out: '40.00',
      ...MILLION_CONTEXT,
      traits: BINDING_UNFORCED,
    },
    {
      id: 'claude-haiku-5-5',
      display_name: 'Claude Haiku 5.5',
      line: 'haiku',
      created_at: '2026-10-07T00:00:00Z',
      // The price of prompts beyond 100,000 tokens. Shorter prompts cost 0.10 and 0.50.
      rate_in: '0.50',
      rate_out: '2.50',
      ...MILLION_CONTEXT,
      traits: { ...BINDING, thinking_off: 'disabled' },
    },
    {
      id: 'claude-sonnet-5-5',
      display_name: 'Claude Sonnet 5.5',
      line: 'sonnet',
      created_at: '2026-09-28T00:00:00Z',
      rate_in: '2.00',
      rate_out: '10.00',
      ...MILLION_CONTEXT,
      traits: { ...BINDING_UNFORCED, thinking_off: 'between_tools' },
    },
    {
      id: 'claude-fable-5-1',
      display_name: 'Claude Fable 5.1',
      line: 'fable',
      created_at: '2026-09-01T00:00:00Z',
      rate_in: '10.00',
      rate_out: '50.00',
      ...MILLION_CONTEXT,
      traits: BINDING_UNFORCED,
    },
    {
      id: 'claude-opus-5-5',
      display_name: 'Claude Opus 5.5',
      line: 'opus',
      created_at: '2026-09-22T00:00:00Z',
      rate_in: '4.00',
      rate_out: '20.00',
      ...MILLION_CONTEXT,
      traits: BINDING_UNFORCED,
    },
    {
      id: 'claude-mythos-5-1',
      display_name: 'Claude Mythos 5.1',
      line: 'mythos',
      created_at: '2026-09-01T00:00:00Z',
      verified_only: true,
      rate_in: '10.00',
      rate_out: '50.00',
      ...MILLION_CONTEXT,
      traits: BINDING_UNFORCED,
    },
    {
      id: 'claude-sonnet-5',
      display_name: 'Claude Sonnet 5',
      line: 'sonnet',
      created_at: '2026-06-30T00:00:00Z',
      rate_in: '2.00',
      rate_out: '10.00',
      ...MILLION_CONTEXT,
      traits: { ...THINKING_BY_DEFAULT, system_messages: 'first' },
    },
    {
      id: 'claude-fable-5',
      display_name: 'Claude Fable 5',
      line: 'fable',
      created_at: '2026-06-09T00:00:00Z',
      rate_in: '10.00',
      rate_out: '50.00',
      ...MILLION_CONTEXT,
      traits: ALWAYS_THINKING,
    },
    {
      id: 'claude-mythos-5',
      display_name: 'Claude Mythos 5',
      line: 'mythos',
      verified_only: true,
      created_at: '2026-06-09T00:00:00Z',
      rate_in: '10.00',
      rate_out: '50.00',
      ...MILLION_CONTEXT,
      traits: ALWAYS_THINKING,
    },
    {
      id: 'claude-opus-5',
      display_name: 'Claude Opus 5',
      line: 'opus',
      created_at: '2026-07-24T00:00:00Z',
      rate_in: '5.00',
      rate_out: '25.00',
      ...MILLION_CONTEXT,
      traits: THINKING_BY_DEFAULT,
    },
    {
      id: 'claude-opus-4-8',
      display_name: 'Claude Opus 4.8',
      line: 'opus',
      created_at: '2026-05-28T00:00:00Z',
      rate_in: '5.00',
      rate_out: '25.00',
      ...MILLION_CONTEXT,
      traits: THINKING_ON_REQUEST,
    },
    {
      id: 'claude-opus-4-7',
      display_name: 'Claude Opus 4.7',
      line: 'opus',
      created_at: '2026-04-16T00:00:00Z',
      rate_in: '5.00',
      rate_out: '25.00',
      ...MILLION_CONTEXT,
      traits: { ...THINKING_ON_REQUEST, system_messages: 'first' },
    },
    {
      id: 'claude-opus-4-6',
      display_name: 'Claude Opus 4.6',
      line: 'opus',
      created_at: '2026-02-05T00:00:00Z',
      rate_in: '5.00',
      rate_out: '25.00',
      ...MILLION_CONTEXT,
      traits: GENERATION_4_6,
    },
    {
      id: 'claude-sonnet-4-6',
      display_name: 'Claude Sonnet 4.6',
      line: 'sonnet',
      created_at: '2026-02-17T00:00:00Z',
      rate_in: '3.00',
      rate_out: '15.00',
      ...MILLION_CONTEXT,
      traits: GENERATION_4_6,
    },
    {
      id: 'claude-haiku-4-5',
      aliases: ['claude-haiku-4-5-20251001'],
      display_name: 'Claude Haiku 4.5',
      line: 'haiku',
      created_at: '2025-10-15T00:00:00Z',
      rate_in: '1.00',
      rate_out: '5.00',
      ...CONTEXT_200K,
      traits: GENERATION_4_5,
    },
    {
      id: 'claude-opus-4-5',
      aliases: ['claude-opus-4-5-20251101'],
      display_name: 'Claude Opus 4.5',
      line: 'opus',
      created_at: '2025-11-24T00:00:00Z',
      deprecated_at: '2026-11-23T00:00:00Z',
      retires_at: '2027-01-22T00:00:00Z',
      rate_in: '5.00',
      rate_out: '25.00',
      ...CONTEXT_200K,
      traits: { ...GENERATION_4_5, effort: ['low', 'medium', 'high'] },
    },
    {
      id: 'claude-sonnet-4-5',
      aliases: ['claude-sonnet-4-5-20250929'],
      display_name: 'Claude Sonnet 4.5',
      line: 'sonnet',
      created_at: '2025-09-29T00:00:00Z',
      deprecated_at: '2026-09-30T00:00:00Z',
      retires_at: '2026-11-30T00:00:00Z',
      rate_in: '3.00',
      rate_out: '15.00',
      ...CONTEXT_200K,
      traits: GENERATION_4_5,
    },
  ],
};

/** The default table, parsed. */
export function defaultPriceTable(): PriceTable {
  return parsePriceTable(defaultPriceTableJson);
}
