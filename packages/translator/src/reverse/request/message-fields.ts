/**
 * Every member of the body of a native request, and how it is translated. The members are those of
 * `MessageCreateParamsBase` of the Anthropic SDK in `package.json`, stable and beta, and the
 * sampling members, which only older versions have, such as 0.137.0.
 */

import type { RequestField } from '../../reading/field-fate.js';
import { NO_EQUIVALENT, type Place } from '../../reading/place.js';
import { objectOf } from '../../wire/raw-json.js';

const SERVER_STATE = 'there is no state on the server';

export const MESSAGE_FIELDS: ReadonlyMap<string, RequestField> = new Map<string, RequestField>([
  ['model', mapped('model')],
  ['max_tokens', mapped('max_completion_tokens or max_tokens')],
  ['messages', mapped('messages')],
  ['system', mapped('messages')],
  ['tools', mapped('tools')],
  ['tool_choice', mapped('tool_choice, parallel_tool_calls')],
  ['stop_sequences', mapped('stop')],
  ['temperature', mapped('temperature')],
  ['top_p', mapped('top_p')],
  ['thinking', mapped('reasoning_effort')],
  ['output_config', mapped('reasoning_effort, response_format')],
  ['metadata', mapped('user')],
  ['cache_control', mapped('cache_control')],
  ['stream', mapped('stream, stream_options')],
  ['service_tier', mapped('service_tier')],
  ['top_k', ignored('there is no such control')],
  ['speed', ignored('there is one speed', '"standard"')],
  ['inference_geo', ignored('there is no choice of region')],
  ['container', ignored(SERVER_STATE)],
  ['diagnostics', ignored('there are no diagnostics')],
  ['context_management', ignored('contexts are not edited')],
  ['compaction', ignored('contexts are not compacted')],
  ['mcp_servers', ignored('there are no server tools')],
  ['fallbacks', ignored('there are no fallbacks')],
  ['fallback_credit_token', ignored('there are no fallbacks')],
  ['billing_policy', ignored('there is no such control')],
  ['output_format', ignored('use output_config.format')],
  ['thread', ignored(SERVER_STATE)],
]);

function mapped(to: string): RequestField {
  return { fate: 'mapped', to };
}

function ignored(why: string, ...neutral: string[]): RequestField {
  return { fate: 'ignored', why, neutral };
}

/**
 * Notes the members that the translation ignores. Refuses to continue a thread, because its history
 * is stored elsewhere, and an answer without the history would be wrong.
 */
export function noteIgnoredMembers(native: Place): void {
  const thread = native.given('thread');
  if (thread?.at('type').value !== 'create') {
    thread?.refuse('the history of a thread is not known here', 'unsupported_value');
  }
  for (const [name, value] of Object.entries(objectOf(native.value))) {
    const field = MESSAGE_FIELDS.get(name);
    if (value == null || field?.fate === 'mapped') continue;
    if (field?.neutral.includes(JSON.stringify(value)) === true) continue;
    native.at(name).note('ignored', field?.why ?? NO_EQUIVALENT);
  }
}
