/**
 * Every member of a native request (Anthropic SDK 1.11.0 `MessageCreateParamsBase`, its beta surface,
 * and the sampling members of 0.137.0) and what becomes of it, in one table.
 */

import type { RequestField } from '../request-fields.js';
import type { JsonObject } from '../raw-json.js';
import { memberPath, refuse, type Translation } from '../translation.js';

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
  ['top_k', ignored('there is no such control')],
  ['service_tier', ignored('tiers are named otherwise', (value) => value === 'auto')],
  ['speed', ignored('there is one speed', (value) => value === 'standard')],
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

function ignored(why: string, isNeutral?: (value: unknown) => boolean): RequestField {
  return isNeutral ? { fate: 'ignored', why, isNeutral } : { fate: 'ignored', why };
}

/**
 * Tells of the members that nothing reads. A thread that is continued is refused: its history is
 * elsewhere, and an answer without it would be to another question.
 */
export function noteIgnoredMembers({ notes }: Translation, native: JsonObject): void {
  for (const [name, value] of Object.entries(native)) {
    const field = MESSAGE_FIELDS.get(name);
    if (value == null || field?.fate === 'mapped') continue;
    if (name === 'thread' && !isNewThread(value)) {
      refuse(name, 'unsupported_value', 'the history of a thread is not known here');
    }
    if (field?.isNeutral?.(value) === true) continue;
    notes.take(memberPath('', name), 'ignored', field?.why ?? 'no upstream equivalent');
  }
}

function isNewThread(thread: unknown): boolean {
  return (
    typeof thread === 'object' && thread !== null && 'type' in thread && thread.type === 'create'
  );
}
