/**
 * Describes for people how each member of a Responses request is translated. Tests compare it with
 * the code.
 */

import type { RequestField } from '../reading/field-fate.js';
import { fieldTable, ignored, mapped } from './field-table.js';

/**
 * Every member of `ResponseCreateParamsBase` of the OpenAI SDK in `package.json`, and
 * `cache_control`.
 */
export const RESPONSES_FIELDS: ReadonlyMap<string, RequestField> = /* @__PURE__ */ fieldTable(
  () => [
    mapped('model', 'model'),
    mapped('input', 'messages, system'),
    mapped('instructions', 'system'),
    mapped('max_output_tokens', 'max_tokens'),
    mapped('temperature', 'temperature'),
    mapped('top_p', 'top_p'),
    mapped('stream', 'stream'),
    mapped('tools', 'tools'),
    mapped('tool_choice', 'tool_choice'),
    mapped('parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'),
    mapped('text', 'output_config.format, system'),
    mapped('reasoning', 'output_config.effort, thinking'),
    mapped('include', 'signed thinking is always included'),
    mapped('metadata', 'repeated in the response'),
    mapped('safety_identifier', 'metadata.user_id'),
    mapped('user', 'metadata.user_id'),
    mapped('service_tier', 'service_tier'),
    mapped('cache_control', 'cache_control'),
    mapped('stream_options', 'the events are not obfuscated'),
    mapped('previous_response_id', 'messages, with the option stored; otherwise refused'),
    mapped('conversation', 'refused: nothing is stored'),
    mapped('prompt', 'refused: nothing is stored'),
    mapped('background', 'refused if true: no response can be fetched later'),
    ignored('background_options', 'responses are made while the client waits'),
    ignored('store', 'nothing is stored without the option stored'),
    ignored('truncation', 'the upstream refuses a prompt that is too long'),
    ignored('context_management', 'conversations are not compacted'),
    ignored('max_tool_calls', 'the option webSearch limits web searches, the only built-in tool'),
    ignored('top_logprobs', 'there are no log probabilities'),
    ignored('prompt_cache_key', 'caches have no keys'),
    ignored('prompt_cache_retention', 'cache points carry their own lifetime'),
    ignored('prompt_cache_options', 'cache points carry their own lifetime'),
    ignored('moderation', 'there is no moderation step'),
    ignored('image', 'images are sent as they are'),
    ignored('access_programs', 'there are no access programs'),
  ],
);
