/**
 * Computes the upstream's responses once: the bytes that the upstream sends, and their meaning,
 * with which the load generator compares every response.
 */

import { MODEL } from './prompts.mjs';
import { createProse } from './prose.mjs';

/**
 * Token counts of a response, with the provider's names. The counts with cached tokens are for
 * agents, which repeat their prompt.
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

/** Shares of a stream's deltas that carry thinking and tool input. The others carry text. */
const THINKING_PART = 0.1;
const TOOL_PART = 0.3;
const TOOL_INPUT_BYTES = 300;
/** The text of a delta has this many bytes on average. */
const DELTA_BYTES = 20;
const TEXT_BYTES = 400;
const SEED = 7;
const CALL = { id: 'toolu_01BenchmarkBenchmarkBen', name: 'tool_1' };

/**
 * @returns `usage`, `text` and `calls` as a client must read them; `native`, the body in the native
 * format; for streams also `events`, that body event by event.
 */
export function answerOf({ kind, events = 0, cached = false }) {
  const usage = {
    ...(cached ? CACHED_USAGE : PLAIN_USAGE),
    ...(events > 0 ? { output_tokens: events } : {}),
  };
  return kind === 'stream' ? streamAnswer(events, usage) : jsonAnswer(usage);
}

function jsonAnswer(usage) {
  const prose = createProse(SEED);
  const text = prose(TEXT_BYTES);
  const input = inputOf(prose);
  const content = [
    { type: 'text', text },
    { type: 'tool_use', ...CALL, input },
  ];
  const body = { ...message(usage), content, stop_reason: 'tool_use' };
  const calls = [{ ...CALL, input }];
  return { kind: 'json', usage, text, calls, native: Buffer.from(JSON.stringify(body)) };
}

function inputOf(prose) {
  return { path: 'src/main.ts', limit: 200, edit: prose(TOOL_INPUT_BYTES) };
}

/** A stream with `count` deltas of thinking, text and a tool call, and the events around them. */
function streamAnswer(count, usage) {
  const prose = createProse(SEED);
  const ofThinking = Math.floor(count * THINKING_PART);
  const ofTool = Math.floor(count * TOOL_PART);
  const ofText = count - ofThinking - ofTool;
  const thinking = prose(ofThinking * DELTA_BYTES);
  const text = prose(ofText * DELTA_BYTES);
  const input = inputOf(prose);
  const opening = { ...message({ ...usage, output_tokens: 1 }), content: [], stop_reason: null };
  const blocks = [
    {
      start: { type: 'thinking', thinking: '', signature: '' },
      // The last delta of a thinking block is its signature.
      deltas: [
        ...cut(thinking, ofThinking - 1).map((part) => ({
          type: 'thinking_delta',
          thinking: part,
        })),
        { type: 'signature_delta', signature: 'ErUBCkYIBxgCIkDBenchmark==' },
      ],
      isThere: ofThinking > 1,
    },
    {
      start: { type: 'text', text: '' },
      deltas: cut(text, ofText).map((part) => ({ type: 'text_delta', text: part })),
      isThere: true,
    },
    {
      start: { type: 'tool_use', ...CALL, input: {} },
      deltas: cut(JSON.stringify(input), ofTool).map((part) => ({
        type: 'input_json_delta',
        partial_json: part,
      })),
      isThere: ofTool > 0,
    },
  ].filter(({ isThere }) => isThere);
  const events = [
    event('message_start', { message: opening }),
    event('ping', {}),
    ...blocks.flatMap(({ start, deltas }, index) => [
      event('content_block_start', { index, content_block: start }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]),
    event('message_delta', {
      delta: { stop_reason: ofTool > 0 ? 'tool_use' : 'end_turn', stop_sequence: null },
      usage,
    }),
    event('message_stop', {}),
  ];
  const calls = ofTool > 0 ? [{ ...CALL, input }] : [];
  return { kind: 'stream', usage, text, calls, events, native: Buffer.concat(events) };
}

/** Cuts a text into `count` parts of about the same length, never inside a character. */
function cut(text, count) {
  const characters = [...text];
  return Array.from({ length: count }, (_, i) =>
    characters
      .slice((i * characters.length) / count, ((i + 1) * characters.length) / count)
      .join(''),
  );
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
