/**
 * The clients' request bodies: the same conversation in the native and in the chat format. Small
 * requests are one message. Larger requests are like those of coding agents: tools, and turns of
 * text, tool calls and results, in blocks of some 2 KB with many escapes.
 */

import { createProse } from './prose.mjs';

export const MODEL = 'claude-sonnet-4-6';
export const MAX_TOKENS = 1024;

/** Up to this size a request is one message. */
const SMALL_BYTES = 4_000;
const TURN_BYTES = 2_000;
const TOOLS = 16;
/** JSON around the text of a tool or of a turn. */
const TOOL_FRAME_BYTES = 250;
const TURN_FRAME_BYTES = 330;

/**
 * @param {object} request
 * @param {string} request.format - `native` or `chat`
 * @param {number} request.bytes - approximate length of the body
 * @param {boolean} request.stream
 * @param {boolean} [request.agent] - with cache points, as coding agents set them; only for large
 * native requests
 */
export function promptOf({ format, bytes, stream, agent = false }) {
  const conversation = conversationOf(bytes);
  const body = format === 'chat' ? chatBody(conversation) : nativeBody(conversation, agent);
  return Buffer.from(
    JSON.stringify({
      model: MODEL,
      max_tokens: MAX_TOKENS,
      ...(stream ? { stream: true } : {}),
      ...(stream && format === 'chat' ? { stream_options: { include_usage: true } } : {}),
      ...body,
    }),
  );
}

/**
 * A fifth of a large body is tools, a fifth the system prompt, and the rest turns.
 *
 * @returns {any}
 */
function conversationOf(bytes) {
  const prose = createProse(bytes);
  if (bytes <= SMALL_BYTES) return { question: prose(bytes - 100), tools: [], turns: [] };
  const share = bytes / 5;
  const turns = Math.ceil((3 * share) / TURN_BYTES);
  return {
    system: prose(share),
    tools: times(TOOLS, (i) => ({
      name: `tool_${i}`,
      description: prose(share / TOOLS - TOOL_FRAME_BYTES),
      schema: {
        type: 'object',
        properties: { path: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
        required: ['path'],
      },
    })),
    question: 'Find the slow path and mend it.',
    turns: times(turns, (i) => ({
      say: prose(120),
      id: `toolu_${i}`,
      name: `tool_${i % TOOLS}`,
      input: { path: `src/file-${i}.ts`, limit: 200 },
      result: prose(TURN_BYTES - TURN_FRAME_BYTES),
    })),
  };
}

function nativeBody({ system, tools, question, turns }, agent) {
  const cached = agent ? { cache_control: { type: 'ephemeral' } } : {};
  const messages = [
    { role: 'user', content: question },
    ...turns.flatMap(({ say, id, name, input, result }, i) => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: say },
          { type: 'tool_use', id, name, input },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: id,
            content: result,
            ...(i === turns.length - 1 ? cached : {}),
          },
        ],
      },
    ]),
  ];
  if (system === undefined) return { messages };
  return {
    system: [{ type: 'text', text: system, ...cached }],
    tools: tools.map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: schema,
    })),
    messages,
  };
}

function chatBody({ system, tools, question, turns }) {
  const messages = [
    { role: 'user', content: question },
    ...turns.flatMap(({ say, id, name, input, result }) => [
      {
        role: 'assistant',
        content: say,
        tool_calls: [
          { id, type: 'function', function: { name, arguments: JSON.stringify(input) } },
        ],
      },
      { role: 'tool', tool_call_id: id, content: result },
    ]),
  ];
  if (system === undefined) return { messages };
  return {
    messages: [{ role: 'system', content: system }, ...messages],
    tools: tools.map(({ name, description, schema }) => ({
      type: 'function',
      function: { name, description, parameters: schema },
    })),
  };
}

function times(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}
