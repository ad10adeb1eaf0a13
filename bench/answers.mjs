/**
 * Computes the upstream's responses once: the bytes for the upstream, and their meaning
 * for the load generator, which checks every response against it.
 */

const MODEL = 'claude-sonnet-4-6';
const WORD = ' gateways carry words';

/**
 * Token counts of a response, with the provider's names; `cached` for agents that repeat their
 * prompt.
 */
const PLAIN_USAGE = {
  input_tokens: 250,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 100,
};
const CACHED_USAGE = {
  ...PLAIN_USAGE,
  cache_creation_input_tokens: 800,
  cache_read_input_tokens: 49_000,
};

/**
 * @returns `usage` and `text` as a client must read them; `native`, the body in the native format;
 * for streams also `events`, that body event by event, and `deltas`, the number of events with
 * text.
 */
export function answerOf({ kind, events = 0, cached = false }) {
  const usage = {
    ...(cached ? CACHED_USAGE : PLAIN_USAGE),
    ...(events > 0 ? { output_tokens: events } : {}),
  };
  return kind === 'stream' ? streamAnswer(events, usage) : jsonAnswer(usage);
}

function jsonAnswer(usage) {
  const text = WORD.repeat(20);
  const body = { ...message(usage), content: [{ type: 'text', text }], stop_reason: 'end_turn' };
  return { kind: 'json', usage, text, native: Buffer.from(JSON.stringify(body)) };
}

/** `count` text events, between the events that open and close every message. */
function streamAnswer(count, usage) {
  const opening = { ...message({ ...usage, output_tokens: 1 }), content: [], stop_reason: null };
  const events = [
    event('message_start', { message: opening }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('ping', {}),
    ...Array.from({ length: count }, () =>
      event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: WORD } }),
    ),
    event('content_block_stop', { index: 0 }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage,
    }),
    event('message_stop', {}),
  ];
  return {
    kind: 'stream',
    usage,
    text: WORD.repeat(count),
    deltas: count,
    events,
    native: Buffer.concat(events),
  };
}

function message(usage) {
  return {
    id: 'msg_01BenchmarkBenchmarkBench',
    type: 'message',
    role: 'assistant',
    model: MODEL,
    stop_sequence: null,
    usage,
  };
}

function event(type, members) {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
}
