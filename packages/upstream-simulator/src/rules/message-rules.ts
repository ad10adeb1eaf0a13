/** Rules for `messages`: their order, their roles, and the pairs of calls and results. */

import { asArray, asObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import type { Rule } from './rule.js';

const ROLES = ['user', 'assistant', 'system'];

/** One message. A text is the same as one text block. */
export interface ReadMessage {
  readonly path: string;
  readonly role: string;
  readonly blocks: readonly JsonObject[];
}

export function messagesOf(request: JsonObject): readonly ReadMessage[] {
  return asArray(request['messages']).map((value, index) => {
    const { role, content } = asObject(value);
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    return {
      path: `messages.${String(index)}`,
      role: String(role),
      blocks: asArray(blocks).map(asObject),
    };
  });
}

export const messageShape: Rule = ({ messages }) => {
  if (!Array.isArray(messages)) return 'messages: Field required';
  if (messages.length === 0) return 'messages: at least one message is required';
  for (const [index, value] of messages.entries()) {
    const { role, content, output_config: config } = asObject(value);
    const path = `messages.${String(index)}`;
    if (!ROLES.includes(String(role))) return `${path}.role: Input should be 'user' or 'assistant'`;
    // A message of role system can consist of the effort of the next answer.
    if (role === 'system' && Object.keys(asObject(config)).length > 0) continue;
    if (typeof content !== 'string' && !Array.isArray(content)) {
      return `${path}.content: Field required`;
    }
    const isFinal = index === messages.length - 1 && role === 'assistant';
    // A system message may only change the effort from here on.
    const isChange = role === 'system' && Object.keys(asObject(config)).length > 0;
    if (Array.isArray(content) && content.length === 0 && !isFinal && !isChange) {
      return `${path}: all messages must have non-empty content except for the optional final assistant message`;
    }
  }
  return undefined;
};

/** Each call has a result in the next message, and each result a call in the one before. */
export const toolResults: Rule = (request) => {
  let open: readonly string[] = [];
  for (const { path, blocks } of messagesOf(request)) {
    const answered = idsOf(blocks, 'tool_result', 'tool_use_id');
    const missing = open.filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      return `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
    }
    const orphan = answered.find((id) => !open.includes(id));
    if (orphan !== undefined) {
      return `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${orphan}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (answered.length > 0 && blocks[0]?.['type'] !== 'tool_result') {
      return `${path}: \`tool_result\` blocks must come first in the content.`;
    }
    open = idsOf(blocks, 'tool_use', 'id');
  }
  return open.length > 0
    ? `messages: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}.`
    : undefined;
};

export const prefill: Rule = ({ messages }, { traits }) => {
  const last = asObject(asArray(messages).at(-1));
  // Prefill ended with the generation that began adaptive thinking.
  return last['role'] === 'assistant' && traits?.thinkingOn !== undefined
    ? 'This model does not support assistant message prefill. The conversation must end with a user message.'
    : undefined;
};

/** A system message follows a user message, and precedes an assistant message or is the last. */
export const systemMessages: Rule = (request, { traits }) => {
  const roles = messagesOf(request).map(({ role }) => role);
  for (const [index, role] of roles.entries()) {
    if (role !== 'system') continue;
    if (traits?.systemMessages === 'first') return "role 'system' is not supported on this model";
    const next = roles[index + 1];
    if (roles[index - 1] !== 'user' || (next !== undefined && next !== 'assistant')) {
      return `messages.${String(index)}: role 'system' must follow a user message and precede an assistant message or end the conversation`;
    }
  }
  return undefined;
};

function idsOf(blocks: readonly JsonObject[], type: string, member: string): readonly string[] {
  return blocks.filter((block) => block['type'] === type).map((block) => String(block[member]));
}
