/**
 * The content of a request, independent of the form of its JSON. The upstream compares it with the
 * client's request, so that a gateway that loses or changes a part of the content gets no figures.
 */

/**
 * @param {any} body - a parsed request in the native format
 * @returns {string} the same text for two requests exactly if they have the same model,
 *   `max_tokens`, `stream`, system prompt, tools, and sequence of texts, tool calls and results
 */
export function gistOf({ model, max_tokens: maxTokens, stream, system, tools = [], messages }) {
  return JSON.stringify([
    model,
    maxTokens,
    stream === true,
    textOf(system ?? ''),
    tools.map(({ name, description, input_schema: schema }) => [name, description, sorted(schema)]),
    // The boundaries between consecutive messages of one role do not matter to the model.
    messages.flatMap(({ role, content }) => partsOf(content).map((part) => [role, ...part])),
  ]);
}

function partsOf(content) {
  if (typeof content === 'string') return [['text', content]];
  return content.map((block) => {
    switch (block.type) {
      case 'text':
        return ['text', block.text];
      case 'tool_use':
        return ['call', block.id, block.name, sorted(block.input)];
      case 'tool_result':
        return ['result', block.tool_use_id, textOf(block.content)];
      default:
        return ['other', block];
    }
  });
}

function textOf(content) {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}

/**
 * The same value with the members of its objects in alphabetical order, and without an empty
 * `$defs`, which some gateways add to a tool's schema and which changes nothing.
 */
function sorted(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.keys(value)
      .filter((name) => name !== '$defs' || Object.keys(value[name]).length > 0)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}
