/**
 * Refuses requests that the real API refuses, with similar messages. Tests use it to check the
 * requests that a gateway or a translator makes.
 */

import { BINDING_CONTROLS, bindingProblem, checkThinking, dropsBlocks } from './bound-thinking.js';
import { asArray, asObject, isObject } from './message.js';
import type { JsonObject } from './message.js';
import { formatSchemaProblem, outputFormatProblem } from './output-format.js';
import { strictToolsProblem } from './schema-limits.js';

export interface ValidationRules {
  /** Models that refuse `temperature`, `top_p` and `top_k`. */
  readonly withoutSampling: ReadonlySet<string>;
  /** Models that refuse a `tool_choice` of type `any` or `tool`. */
  readonly withoutForcedTools: ReadonlySet<string>;
  /** Models that refuse a final assistant message. */
  readonly withoutPrefill: ReadonlySet<string>;
  /** Models that refuse adaptive thinking. */
  readonly withoutAdaptive: ReadonlySet<string>;
  /** Models that check what precedes a thinking block. */
  readonly withBoundThinking: ReadonlySet<string>;
  /** Models that refuse messages of role `system`. */
  readonly withoutSystemMessages: ReadonlySet<string>;
}

const FIELDS = new Set([
  ...['model', 'messages', 'max_tokens', 'cache_control', 'container', 'context_management'],
  ...['diagnostics', 'fallbacks', 'inference_geo', 'mcp_servers', 'metadata', 'output_config'],
  ...['output_format', 'service_tier', 'speed', 'stop_sequences', 'stream', 'system'],
  ...['temperature', 'thinking', 'tool_choice', 'tools', 'top_k', 'top_p', 'compaction', 'thread'],
]);
const ID = /^[a-zA-Z0-9_-]+$/;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const PROPERTY_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_CACHE_POINTS = 4;

/** @returns the text of an `invalid_request_error`, or `undefined` for a valid request. */
export function validateRequest(
  request: JsonObject,
  options: ValidationRules & {
    readonly version: string;
    readonly betas: readonly string[];
    readonly endpoint: 'messages' | 'count_tokens';
  },
): string | undefined {
  const model = request['model'];
  if (typeof model !== 'string') return 'model: Field required';
  const unknown = Object.keys(request).find((name) => !FIELDS.has(name));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (options.endpoint === 'messages') {
    const limit = request['max_tokens'];
    if (limit === undefined) return 'max_tokens: Field required';
    if (!Number.isInteger(limit) || Number(limit) < 0) {
      return 'max_tokens: Input should be a valid integer';
    }
  }
  return (
    samplingProblem(request, model, options) ??
    thinkingProblem(request, model, options) ??
    toolProblem(request, model, options) ??
    messagesProblem(request, model, options) ??
    systemMessagesProblem(request, model, options) ??
    boundThinkingProblem(request, model, options) ??
    cacheProblem(request) ??
    // `count_tokens` does not compile the schema, so it accepts any format.
    (options.endpoint === 'messages' ? outputFormatProblem(request, options.betas) : undefined)
  );
}

function samplingProblem(
  request: JsonObject,
  model: string,
  { version, withoutSampling }: ValidationRules & { readonly version: string },
): string | undefined {
  const given = ['temperature', 'top_p', 'top_k'].filter((name) => request[name] !== undefined);
  const [first] = given;
  if (first === undefined) return undefined;
  if (version === '2026-10-21') return `${first}: Extra inputs are not permitted`;
  const { temperature, top_p: topP } = request;
  if (withoutSampling.has(model) && !(given.length === 1 && temperature === 1)) {
    return `\`${first}\` is deprecated for this model.`;
  }
  if (temperature !== undefined && topP !== undefined) {
    return '`temperature` and `top_p` cannot both be specified for this model.';
  }
  for (const [name, value] of Object.entries({ temperature, top_p: topP })) {
    if (value !== undefined && !(typeof value === 'number' && value >= 0 && value <= 1)) {
      return `${name}: range: 0..1`;
    }
  }
  return undefined;
}

function thinkingProblem(
  request: JsonObject,
  model: string,
  { withoutAdaptive, betas }: ValidationRules & { readonly betas: readonly string[] },
): string | undefined {
  const { type, block_binding: binding } = asObject(request['thinking']);
  if (binding !== undefined && !betas.includes(BINDING_CONTROLS)) {
    return 'thinking.block_binding: Extra inputs are not permitted';
  }
  if (type !== 'adaptive' && type !== 'enabled') return undefined;
  if (type === 'adaptive' && withoutAdaptive.has(model)) {
    return 'adaptive thinking is not supported on this model';
  }
  const choice = asObject(request['tool_choice'])['type'];
  if (choice === 'any' || choice === 'tool') {
    return 'Thinking may not be enabled when tool_choice forces tool use.';
  }
  const { temperature } = request;
  return temperature !== undefined && temperature !== 1
    ? '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.'
    : undefined;
}

function toolProblem(
  request: JsonObject,
  model: string,
  { withoutForcedTools }: ValidationRules,
): string | undefined {
  const names = new Set<string>();
  for (const [index, value] of asArray(request['tools']).entries()) {
    const tool = asObject(value);
    const name = String(tool['name']);
    const isCustom = tool['type'] === undefined || tool['type'] === 'custom';
    if (isCustom && !TOOL_NAME.test(name)) {
      return `tools.${String(index)}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
    }
    if (isCustom && asObject(tool['input_schema'])['type'] !== 'object') {
      return `tools.${String(index)}.custom.input_schema.type: Field required`;
    }
    const problem = isCustom ? inputSchemaProblem(tool) : undefined;
    if (problem !== undefined) return `tools.${String(index)}.custom.input_schema: ${problem}`;
    if (names.has(name)) return 'tools: Tool names must be unique.';
    names.add(name);
  }
  const strictness = strictToolsProblem(asArray(request['tools']));
  if (strictness !== undefined) return strictness;
  const choice = asObject(request['tool_choice']);
  const { type } = choice;
  if (
    request['tool_choice'] !== undefined &&
    !['auto', 'any', 'tool', 'none'].includes(String(type))
  ) {
    return "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'";
  }
  if (type !== undefined && names.size === 0) {
    return 'tool_choice: tool_choice may only be specified while providing tools';
  }
  if ((type === 'any' || type === 'tool') && withoutForcedTools.has(model)) {
    return 'tool_choice: type "tool" and "any" are not supported for this model.';
  }
  if (type === 'tool' && !names.has(String(choice['name']))) {
    return `tool_choice: Tool '${String(choice['name'])}' not found in provided tools`;
  }
  return undefined;
}

/**
 * The API guarantees the schema of a strict tool, so it applies the rules for schemas of output
 * formats.
 */
function inputSchemaProblem(tool: JsonObject): string | undefined {
  const schema = asObject(tool['input_schema']);
  if (['oneOf', 'allOf', 'anyOf'].some((name) => schema[name] !== undefined)) {
    return 'input_schema does not support oneOf, allOf, or anyOf at the top level';
  }
  // The API checks only the names at the root.
  if (!Object.keys(asObject(schema['properties'])).every((name) => PROPERTY_KEY.test(name))) {
    return `properties: Property keys should match pattern '${PROPERTY_KEY.source}'`;
  }
  return tool['strict'] === true ? formatSchemaProblem(schema) : undefined;
}

function messagesProblem(
  request: JsonObject,
  model: string,
  { withoutPrefill }: ValidationRules,
): string | undefined {
  const { messages } = request;
  if (!Array.isArray(messages)) return 'messages: Field required';
  if (messages.length === 0) return 'messages: at least one message is required';
  const ids = new Set<string>();
  let open: string[] = [];
  for (const [index, value] of messages.entries()) {
    const { role, content } = asObject(value);
    const path = `messages.${String(index)}`;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      return `${path}.role: Input should be 'user' or 'assistant'`;
    }
    if (typeof content !== 'string' && !Array.isArray(content))
      return `${path}.content: Field required`;
    const isFinal = index === messages.length - 1 && role === 'assistant';
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    if (blocks.length === 0 && !isFinal) {
      return `${path}: all messages must have non-empty content except for the optional final assistant message`;
    }
    const results = blocks.map(asObject).filter((block) => block['type'] === 'tool_result');
    const answered = results.map((block) => String(block['tool_use_id']));
    const missing = open.filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      return `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
    }
    const orphan = answered.find((id) => !open.includes(id));
    if (orphan !== undefined) {
      return `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    open = [];
    for (const [at, item] of blocks.entries()) {
      const problem = blockProblem(asObject(item), `${path}.content.${String(at)}`, ids, open);
      if (problem !== undefined) return problem;
    }
    if (results.length > 0 && asObject(blocks[0])['type'] !== 'tool_result') {
      return `${path}: \`tool_result\` blocks must come first in the content.`;
    }
  }
  if (open.length > 0) {
    return `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}.`;
  }
  const last = asObject(messages.at(-1));
  if (last['role'] === 'assistant' && withoutPrefill.has(model)) {
    return 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
  return undefined;
}

function boundThinkingProblem(
  request: JsonObject,
  model: string,
  { withBoundThinking }: ValidationRules,
): string | undefined {
  if (!withBoundThinking.has(model) || dropsBlocks(request)) return undefined;
  return bindingProblem(checkThinking(request));
}

/** A system message follows a user message, and precedes an assistant message or is the last. */
function systemMessagesProblem(
  request: JsonObject,
  model: string,
  { withoutSystemMessages }: ValidationRules,
): string | undefined {
  const roles = asArray(request['messages']).map((message) => asObject(message)['role']);
  for (const [index, role] of roles.entries()) {
    if (role !== 'system') continue;
    if (withoutSystemMessages.has(model)) return "role 'system' is not supported on this model";
    const next = roles[index + 1];
    if (roles[index - 1] !== 'user' || (next !== undefined && next !== 'assistant')) {
      return `messages.${String(index)}: role 'system' must follow a user message and precede an assistant message or end the conversation`;
    }
  }
  return undefined;
}

function blockProblem(
  block: JsonObject,
  path: string,
  ids: Set<string>,
  open: string[],
): string | undefined {
  switch (block['type']) {
    case 'text':
      if (typeof block['text'] !== 'string') return `${path}.text: Field required`;
      if (block['text'] === '') return `${path}: messages: text content blocks must be non-empty`;
      return block['text'].trim() === ''
        ? `${path}: messages: text content blocks must contain non-whitespace text`
        : undefined;
    case 'tool_use': {
      const id = String(block['id']);
      if (!ID.test(id))
        return `${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      if (ids.has(id)) return `${path}: \`tool_use\` ids must be unique`;
      if (!isObject(block['input']))
        return `${path}.tool_use.input: Input should be a valid dictionary`;
      ids.add(id);
      open.push(id);
      return undefined;
    }
    case 'image': {
      const source = asObject(block['source']);
      const isKnown = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
      return source['type'] === 'base64' && !isKnown.includes(String(source['media_type']))
        ? `${path}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`
        : undefined;
    }
    case undefined:
      return `${path}.type: Field required`;
    default:
      return undefined;
  }
}

function cacheProblem(request: JsonObject): string | undefined {
  const points =
    marksOf(request['tools']) +
    marksOf(request['system']) +
    asArray(request['messages']).reduce<number>(
      (sum, message) => sum + marksOf(asObject(message)['content']),
      isObject(request['cache_control']) ? 1 : 0,
    );
  return points > MAX_CACHE_POINTS
    ? `A maximum of ${String(MAX_CACHE_POINTS)} blocks with cache_control may be provided. Found ${String(points)}.`
    : undefined;
}

function marksOf(blocks: unknown): number {
  return asArray(blocks)
    .map(asObject)
    .reduce(
      (sum, block) =>
        sum +
        (isObject(block['cache_control']) ? 1 : 0) +
        (block['type'] === 'tool_result' ? marksOf(block['content']) : 0),
      0,
    );
}
