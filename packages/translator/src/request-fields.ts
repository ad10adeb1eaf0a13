/**
 * Every member of a chat completions request (OpenAI SDK 7.55.0 `ChatCompletionCreateParamsBase`)
 * and what becomes of it, in one table.
 */

import { isJsonObject, type JsonObject } from './raw-json.js';
import { memberPath, refuse, type Translation } from './translation.js';

export type RequestField =
  | { readonly fate: 'mapped'; readonly to: string }
  | {
      readonly fate: 'ignored';
      readonly why: string;
      /**
       * Whether a value asks for nothing beyond what happens anyway, so that ignoring it loses
       * nothing.
       */
      readonly isNeutral?: (value: unknown) => boolean;
    };

const equals =
  (...neutral: readonly unknown[]) =>
  (value: unknown): boolean =>
    neutral.includes(value);

const isEmpty = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0;

export const REQUEST_FIELDS: ReadonlyMap<string, RequestField> = new Map<string, RequestField>([
  ['model', mapped('model')],
  ['messages', mapped('messages, system')],
  ['max_completion_tokens', mapped('max_tokens')],
  ['max_tokens', mapped('max_tokens')],
  ['temperature', mapped('temperature')],
  ['top_p', mapped('top_p')],
  ['stop', mapped('stop_sequences')],
  ['stream', mapped('stream')],
  ['stream_options', mapped('the chunks of the answer')],
  ['tools', mapped('tools')],
  ['tool_choice', mapped('tool_choice')],
  ['parallel_tool_calls', mapped('tool_choice.disable_parallel_tool_use')],
  ['functions', mapped('tools')],
  ['function_call', mapped('tool_choice')],
  ['response_format', mapped('system')],
  ['reasoning_effort', mapped('output_config.effort, thinking')],
  ['safety_identifier', mapped('metadata.user_id')],
  ['user', mapped('metadata.user_id')],
  ['cache_control', mapped('cache_control')],
  ['n', ignored('there is one choice', equals(1))],
  ['seed', ignored('sampling cannot be seeded')],
  ['logprobs', ignored('there are no log probabilities', equals(false))],
  ['top_logprobs', ignored('there are no log probabilities', equals(0))],
  ['logit_bias', ignored('tokens cannot be weighted', isEmpty)],
  ['frequency_penalty', ignored('there are no penalties', equals(0))],
  ['presence_penalty', ignored('there are no penalties', equals(0))],
  ['verbosity', ignored('there is no verbosity control', equals('medium'))],
  ['metadata', ignored('upstream stores no metadata', isEmpty)],
  ['service_tier', ignored('there is one tier', equals('auto', 'default'))],
  ['prompt_cache_key', ignored('caches have no keys')],
  ['prompt_cache_retention', ignored('cache points carry their own lifetime')],
  ['prompt_cache_options', ignored('cache points carry their own lifetime')],
  ['prediction', ignored('there are no predicted outputs')],
  ['store', ignored('completions are not stored', equals(false))],
  ['modalities', ignored('answers are text')],
  ['audio', ignored('answers are text')],
  ['moderation', ignored('there is no moderation step')],
  ['web_search_options', ignored('there is no web search')],
]);

function mapped(to: string): RequestField {
  return { fate: 'mapped', to };
}

function ignored(why: string, isNeutral?: (value: unknown) => boolean): RequestField {
  return isNeutral ? { fate: 'ignored', why, isNeutral } : { fate: 'ignored', why };
}

/**
 * Tells of the members that nothing reads. Two of them are refused when ignoring them would betray
 * the client: audio as the only wanted modality, and a moderation policy that is to block.
 */
export function noteIgnoredFields(t: Translation, chat: JsonObject): void {
  for (const name of Object.keys(chat)) {
    const value = chat[name];
    const field = REQUEST_FIELDS.get(name);
    if (value == null || field?.fate === 'mapped') continue;
    if (name === 'modalities' && isTextWanted(value)) continue;
    if (name === 'moderation') refuseBlockingPolicy(value);
    if (field?.isNeutral?.(value) === true) continue;
    t.notes.take(memberPath('', name), 'ignored', field?.why ?? 'no upstream equivalent');
  }
}

function isTextWanted(modalities: unknown): boolean {
  if (!Array.isArray(modalities)) return false;
  if (!modalities.includes('text') && modalities.includes('audio')) {
    refuse('modalities', 'unsupported_value', 'must include "text": answers are text');
  }
  return modalities.every((modality) => modality === 'text');
}

function refuseBlockingPolicy(moderation: unknown): void {
  const policy = isJsonObject(moderation) ? moderation['policy'] : undefined;
  if (!isJsonObject(policy)) return;
  for (const side of ['input', 'output']) {
    const rule = policy[side];
    if (!isJsonObject(rule) || rule['mode'] !== 'block') continue;
    const path = `moderation.policy.${side}.mode`;
    refuse(path, 'unsupported_value', 'nothing is moderated here, so nothing can be blocked');
  }
}
