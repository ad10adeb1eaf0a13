/** Rules for the members of the root: which exist, and which are required. */

import type { Rule } from './rule.js';

const MEMBERS = new Set([
  ...['model', 'messages', 'max_tokens', 'cache_control', 'container', 'context_management'],
  ...['diagnostics', 'fallbacks', 'inference_geo', 'mcp_servers', 'metadata', 'output_config'],
  ...['output_format', 'service_tier', 'speed', 'stop_sequences', 'stream', 'system'],
  ...['temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p', 'compaction', 'thread'],
]);

export const modelMember: Rule = ({ model }) =>
  typeof model === 'string' ? undefined : 'model: Field required';

export const knownMembers: Rule = (request) => {
  const unknown = Object.keys(request).find((name) => !MEMBERS.has(name));
  return unknown === undefined ? undefined : `${unknown}: Extra inputs are not permitted`;
};

export const maxTokens: Rule = ({ max_tokens: limit }, { endpoint }) => {
  if (endpoint === 'count_tokens') return undefined;
  if (limit === undefined) return 'max_tokens: Field required';
  return Number.isInteger(limit) && Number(limit) >= 0
    ? undefined
    : 'max_tokens: Input should be a valid integer';
};

/** A model that the API does not have. */
export const knownModel: Rule = (_request, { model, models }) =>
  models.has(model) ? undefined : { type: 'not_found_error', message: `model: ${model}` };
