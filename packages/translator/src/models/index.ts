/**
 * The options that Anthropic's current models accept, according to their pages in November 2026.
 * https://platform.claude.com/docs/en/about-claude/models/overview
 */

import type { EffortLevel, ModelTraits } from '../chat-client/request/traits.js';

/** The options of `translateRequest` that depend on the model. */
export interface ModelOptions {
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens of one answer. */
  readonly maxOutputTokens: number;
}

const ALL: readonly EffortLevel[] = ['low', 'medium', 'high', 'xhigh', 'max'];
const WITHOUT_XHIGH: readonly EffortLevel[] = ['low', 'medium', 'high', 'max'];

/** Thinking cannot be turned off. */
const ALWAYS: ModelTraits = {
  sampling: 'refused',
  forcedToolChoice: 'accepted',
  effort: ALL,
  thinkingOff: 'never',
  thinkingOn: 'default',
  systemMessages: 'anywhere',
  structuredOutputs: 'accepted',
};
const UNFORCED: ModelTraits = { ...ALWAYS, forcedToolChoice: 'refused' };
const BY_DEFAULT: ModelTraits = { ...ALWAYS, thinkingOff: 'disabled' };
const ON_REQUEST: ModelTraits = { ...ALWAYS, thinkingOff: 'omit', thinkingOn: 'adaptive' };
const GENERATION_4_6: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: WITHOUT_XHIGH,
  thinkingOff: 'omit',
  thinkingOn: 'adaptive',
  systemMessages: 'first',
  structuredOutputs: 'accepted',
};
const GENERATION_4_5: ModelTraits = { ...GENERATION_4_6, effort: [], thinkingOn: undefined };

const TRAITS: ReadonlyMap<string, ModelTraits> = /* @__PURE__ */ new Map([
  ['claude-haiku-5-5', { ...ALWAYS, effort: WITHOUT_XHIGH }],
  ['claude-sonnet-5-5', UNFORCED],
  ['claude-fable-5-1', UNFORCED],
  ['claude-opus-5-5', UNFORCED],
  ['claude-mythos-5-1', UNFORCED],
  ['claude-sonnet-5', BY_DEFAULT],
  ['claude-fable-5', ALWAYS],
  ['claude-mythos-5', ALWAYS],
  ['claude-opus-5', BY_DEFAULT],
  ['claude-opus-4-8', ON_REQUEST],
  ['claude-opus-4-7', { ...ON_REQUEST, systemMessages: 'first' }],
  ['claude-opus-4-6', GENERATION_4_6],
  ['claude-sonnet-4-6', GENERATION_4_6],
  ['claude-haiku-4-5', GENERATION_4_5],
  ['claude-opus-4-5', { ...GENERATION_4_5, effort: ['low', 'medium', 'high'] }],
  ['claude-sonnet-4-5', GENERATION_4_5],
]);

/** The models that are known, newest first. Ids of snapshots also carry a date. */
export const MODELS: readonly string[] = /* @__PURE__ */ [...TRAITS.keys()];

/**
 * The traits of a model, by its id or the id of a dated snapshot. Undefined for a model that this
 * version does not know.
 *
 * @example traitsOf('claude-sonnet-4-5-20250929')?.sampling; // 'accepted'
 */
export function traitsOf(model: string): ModelTraits | undefined {
  return TRAITS.get(model.replace(/-\d{8}$/, ''));
}

/**
 * The options of `translateRequest` for a model. Undefined for a model that this version does not
 * know.
 */
export function optionsOf(model: string): ModelOptions | undefined {
  const traits = traitsOf(model);
  const maxOutputTokens = /-4-5(-|$)/.test(model) ? 64_000 : 128_000;
  return traits && { model, traits, maxOutputTokens };
}
