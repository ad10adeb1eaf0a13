/** The clients' request bodies: the same conversation in the native and in the chat format. */

const MODEL = 'claude-sonnet-4-6';
const PROSE =
  'The quick brown fox jumps over the lazy dog; "quoted", a tab\t, a newline\n and a caf\u00e9 beside it. ';

/**
 * @param {object} request
 * @param {string} request.format - `native` or `chat`
 * @param {number} request.bytes - approximate length of the body
 * @param {boolean} request.stream
 * @param {boolean} [request.agent] - tools, a cached system prompt and a conversation, as coding
 *   agents send them
 */
export function promptOf({ format, bytes, stream, agent = false }) {
  const body = agent ? agentBody(bytes) : plainBody(bytes);
  const chosen = {
    model: MODEL,
    max_tokens: 1024,
    ...(stream ? { stream: true } : {}),
    ...(stream && format === 'chat' ? { stream_options: { include_usage: true } } : {}),
    ...body,
  };
  return Buffer.from(JSON.stringify(chosen));
}

function plainBody(bytes) {
  return { messages: [{ role: 'user', content: prose(bytes - 100) }] };
}

/**
 * A fifth of the bytes is tools, a fifth the system prompt, the rest messages that use the tools.
 */
function agentBody(bytes) {
  const share = bytes / 5;
  const tools = times(16, (i) => ({
    name: `tool_${i}`,
    description: prose(share / 16 - 250),
    input_schema: {
      type: 'object',
      properties: { path: { type: 'string' }, limit: { type: 'integer', minimum: 1 } },
      required: ['path'],
    },
  }));
  const turns = times(24, (i) => [
    {
      role: 'assistant',
      content: [
        {
          type: 'tool_use',
          id: `toolu_${i}`,
          name: `tool_${i % 16}`,
          input: { path: `src/file-${i}.ts`, limit: 200 },
        },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: `toolu_${i}`, content: prose((3 * share) / 24 - 330) },
      ],
    },
  ]).flat();
  turns.at(-1).content.at(-1).cache_control = { type: 'ephemeral' };
  return {
    system: [{ type: 'text', text: prose(share), cache_control: { type: 'ephemeral' } }],
    tools,
    messages: [{ role: 'user', content: 'Find the slow path and mend it.' }, ...turns],
  };
}

function prose(bytes) {
  return PROSE.repeat(Math.ceil(bytes / PROSE.length)).slice(0, Math.max(1, Math.round(bytes)));
}

function times(count, make) {
  return Array.from({ length: count }, (_, i) => make(i));
}
