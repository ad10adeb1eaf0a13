/**
 * The options that Anthropic's current models accept, according to their pages in November 2026.
 * https://platform.claude.com/docs/en/about-claude/models/overview
 */

import type { ModelTraits } from '../chat-client/request/traits.js';
import { KNOWN_MODELS, KNOWN_TRAITS } from './known-models.js';

/** The options of `translateRequest` that depend on the model. */
export interface ModelOptions {
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens of one answer. */
  readonly maxOutputTokens: number;
}

const OPTIONS: ReadonlyMap<string, Omit<ModelOptions, 'model'>> = /* @__PURE__ */ new Map(
  KNOWN_MODELS.map(([id, index, thousands]) => [
    id,
    { traits: KNOWN_TRAITS[index]!, maxOutputTokens: thousands * 1000 },
  ]),
);

/** The models that are known, newest first. Ids of snapshots also carry a date. */
export const MODELS: readonly string[] = /* @__PURE__ */ [...OPTIONS.keys()];

/**
 * The traits of a model, by its id or the id of a dated snapshot. Undefined for a model that this
 * version does not know.
 *
 * @example traitsOf('claude-sonnet-4-5-20250929')?.sampling; // 'accepted'
 */
export function traitsOf(model: string): ModelTraits | undefined {
  return optionsOf(model)?.traits;
}

/**
 * The options of `translateRequest` for a model. Undefined for a model that this version does not
 * know.
 */
export function optionsOf(model: string): ModelOptions | undefined {
  const options = OPTIONS.get(model.replace(/-\d{8}$/, ''));
  return options && { model, ...options };
}
