/** The options of a translation that depend on the model. */

import { requireOption } from '../../wire/require-option.js';
import type { ModelTraits } from './traits.js';

export interface ModelOptions {
  /** The upstream's id of the model. It replaces the client's own. */
  readonly model: string;
  readonly traits: ModelTraits;
  /** The most tokens that the model can generate: the highest limit of an answer. */
  readonly maxOutputTokens: number;
  /**
   * The limit of an answer that is not streamed, if the client names none. Default:
   * `maxOutputTokens`, which is also the default limit of a stream. Anthropic's SDKs refuse to send
   * a request that is not streamed and may take over ten minutes.
   */
  readonly plainOutputTokens?: number | undefined;
}

/** @throws {TypeError} An option is missing or has no meaning. The message names it. */
export function requireModelOptions(options: ModelOptions | undefined): void {
  if (!options) {
    throw new TypeError(
      'the options are missing: `optionsOf` returns undefined for unknown models',
    );
  }
  const { model, traits, maxOutputTokens } = options;
  requireOption('model', model, "the upstream's id of the model");
  requireOption('traits.effort', traits?.effort, 'a list');
  const { sampling = '', forcedToolChoice = '', thinkingOff = '' } = traits ?? {};
  requireOneOf('traits.sampling', sampling, ['accepted', 'refused']);
  requireOneOf('traits.forcedToolChoice', forcedToolChoice, ['accepted', 'refused']);
  requireOneOf('traits.thinkingOff', thinkingOff, ['omit', 'disabled', 'between_tools', 'never']);
  const limit = Number.isInteger(maxOutputTokens) && Number(maxOutputTokens) > 0;
  requireOption('maxOutputTokens', limit, 'an integer above 0');
}

function requireOneOf(name: string, value: string, values: readonly string[]): void {
  if (!values.includes(value)) requireOption(name, undefined, `one of ${values.join(', ')}`);
}

/** The limit of an answer for which the client names none. */
export function defaultMaxTokens(
  { maxOutputTokens, plainOutputTokens = maxOutputTokens }: ModelOptions,
  stream: boolean,
): number {
  return stream ? maxOutputTokens : Math.min(plainOutputTokens, maxOutputTokens);
}
