/**
 * Describes for people how each member of a chat request is translated. Tests compare it with the
 * code.
 */

import type { RequestField } from '../reading/field-fate.js';
import { fieldTable, ignored, mapped } from './field-table.js';

/**
 * The list has every member of `ChatCompletionCreateParamsBase` of the OpenAI SDK in
 * `package.json`, and four that clients of other gateways send: `cache_control`, `reasoning`,
 * `system` and `thinking`.
 */
export const REQUEST_FIELDS: ReadonlyMap<string, RequestField> = /* @__PURE__ */ fieldTable(() => [
  mapped('model', 'model'),
  mapped('messages', 'messages, system'),
  mapped('system', 'system'),
  mapped('max_completion_tokens', 'max_tokens'),
  mapped('max_tokens', 'max_tokens'),
  mapped('temperature', 'temperature'),
  mapped('top_p', 'top_p'),
  mapped('stop', 'stop_sequences'),
  mapped('stream', 'stream'),
  mapped('stream_options', 'the chunks of the answer'),
  mapped('tools', 'tools'),
  mapped('tool_choice', 'tool_choice'),
  mapped('parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'),
  mapped('functions', 'tools'),
  mapped('function_call', 'tool_choice'),
  mapped('response_format', 'system, output_config.format'),
  mapped('reasoning_effort', 'output_config.effort, thinking'),
  mapped('reasoning', 'output_config.effort, thinking'),
  mapped('thinking', 'output_config.effort, thinking'),
  mapped('web_search_options', 'tools'),
  mapped('service_tier', 'service_tier'),
  mapped('safety_identifier', 'metadata.user_id'),
  mapped('user', 'metadata.user_id'),
  mapped('cache_control', 'cache_control'),
  ignored('n', 'there is one choice'),
  ignored('seed', 'sampling cannot be seeded'),
  ignored('logprobs', 'there are no log probabilities'),
  ignored('top_logprobs', 'there are no log probabilities'),
  ignored('logit_bias', 'tokens cannot be weighted'),
  ignored('frequency_penalty', 'there are no penalties'),
  ignored('presence_penalty', 'there are no penalties'),
  ignored('verbosity', 'there is no verbosity control'),
  ignored('metadata', 'upstream stores no metadata'),
  ignored('prompt_cache_key', 'caches have no keys'),
  ignored('prompt_cache_retention', 'cache points carry their own lifetime'),
  ignored('prompt_cache_options', 'cache points carry their own lifetime'),
  ignored('prediction', 'there are no predicted outputs'),
  ignored('store', 'completions are not stored'),
  ignored('modalities', 'answers are text'),
  ignored('audio', 'answers are text'),
  ignored('moderation', 'there is no moderation step'),
]);
