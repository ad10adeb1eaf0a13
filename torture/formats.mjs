/**
 * The request formats of the gateway: where and how to ask in each, and how to read the usage of
 * its answers, which are the witness of what a client received.
 */

const asMessages = (text, maxTokens) => ({
  max_tokens: maxTokens,
  messages: [{ role: 'user', content: text }],
});
export const FORMATS = [
  { path: '/v1/messages', ask: asMessages, usage: nativeUsage },
  { path: '/v1/chat/completions', ask: asMessages, usage: chatUsage },
  {
    path: '/v1/responses',
    ask: (text, maxTokens) => ({ max_output_tokens: maxTokens, input: text }),
    usage: responsesUsage,
  },
];

/** The final usage in a native response, if it has one. */
function nativeUsage(text, isStream) {
  if (!isStream) return counts(JSON.parse(text).usage);
  let usage;
  let isFinal = false;
  for (const event of events(text)) {
    if (event.type === 'message_start') usage = { ...event.message.usage };
    if (event.type === 'message_delta') {
      usage = { ...usage, ...event.usage };
      isFinal = true;
    }
  }
  return isFinal ? counts(usage) : undefined;
}

function chatUsage(text, isStream) {
  const usage = isStream
    ? events(text).find((chunk) => chunk.usage != null)?.usage
    : JSON.parse(text).usage;
  if (usage === undefined) return undefined;
  const read = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const written = usage.prompt_tokens_details?.cache_write_tokens ?? 0;
  return {
    input: usage.prompt_tokens - read - written,
    output: usage.completion_tokens,
    read,
    written,
  };
}

function responsesUsage(text, isStream) {
  const response = isStream
    ? events(text).find(
        (event) => event.type === 'response.completed' || event.type === 'response.incomplete',
      )?.response
    : JSON.parse(text);
  if (response === undefined) return undefined;
  const { cached_tokens: read, cache_write_tokens: written } = response.usage.input_tokens_details;
  return {
    input: response.usage.input_tokens - read - written,
    output: response.usage.output_tokens,
    read,
    written,
  };
}

function counts(usage) {
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    read: usage.cache_read_input_tokens ?? 0,
    written: usage.cache_creation_input_tokens ?? 0,
  };
}

/** Reads complete events only, because a line without its line end may be incomplete. */
function events(text) {
  return text
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
