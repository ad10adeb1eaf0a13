/**
 * The options that Anthropic's current models accept, according to their pages in November 2026.
 * https://platform.claude.com/docs/en/about-claude/models/overview
 */

import type { ModelOptions } from '../chat-client/request/model-options.js';
import type { ModelTraits } from '../chat-client/request/traits.js';
import { KNOWN_MODELS, KNOWN_TRAITS } from './known-models.js';

/**
 * What Anthropic's SDKs expect to be generated in ten minutes, at 128,000 tokens an hour. They
 * refuse to send a request for more unless it is streamed.
 */
const TEN_MINUTES_OF_TOKENS = 21_333;

const OPTIONS: ReadonlyMap<string, Omit<ModelOptions, 'model'>> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ KNOWN_MODELS.map(([id, index, thousands]) => [
    id,
    {
      traits: KNOWN_TRAITS[index]!,
      maxOutputTokens: thousands * 1000,
      plainOutputTokens: TEN_MINUTES_OF_TOKENS,
    },
  ]),
);

/** The models that are known, newest first. Ids of snapshots also carry a date. */
export const MODELS: readonly string[] = /* @__PURE__ */ KNOWN_MODELS.map(([id]) => id);

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
