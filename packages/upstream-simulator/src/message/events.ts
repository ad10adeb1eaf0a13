/** Turns a message into the events of its stream, in the API's order. */

import type { ContentBlock, JsonObject } from './message.js';
import type { ScriptedReply } from './script.js';

export interface StreamedMessage {
  /** The message as sent without a stream. */
  readonly message: JsonObject & {
    readonly content: readonly ContentBlock[];
    readonly usage?: JsonObject;
  };
  readonly script: ScriptedReply;
}

const PIECE_CHARS = 16;

export function eventsOf({ message, script }: StreamedMessage): JsonObject[] {
  const { usage } = message;
  const start = {
    ...message,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    ...(usage === undefined ? {} : { usage: firstUsage(usage) }),
  };
  const events: JsonObject[] = [
    { type: 'message_start', message: start },
    ...message.content.flatMap(blockEvents),
  ];
  const deltas = script.messageDeltas ?? 1;
  for (let i = 1; i <= deltas; i += 1) {
    const isLast = i === deltas;
    events.push({
      type: 'message_delta',
      delta: {
        stop_reason: isLast ? message['stop_reason'] : null,
        stop_sequence: isLast ? message['stop_sequence'] : null,
        stop_details: isLast ? message['stop_details'] : null,
        container: null,
      },
      ...(usage === undefined ? {} : { usage: finalUsage(usage, i / deltas) }),
    });
  }
  events.push({ type: 'message_stop' });
  return withPings(events, script.pings ?? 1);
}

/** The usage of `message_start`: the input counts, and no details of the output yet. */
function firstUsage(usage: JsonObject): JsonObject {
  const { output_tokens_details: _details, ...counts } = usage;
  return { ...counts, output_tokens: 1 };
}

/**
 * The usage of `message_delta`: cumulative counts, without the split of cache writes by lifetime.
 */
function finalUsage(usage: JsonObject, share: number): JsonObject {
  const { cache_creation: _split, service_tier: _tier, inference_geo: _geo, ...counts } = usage;
  const { output_tokens: output } = counts;
  return share === 1 || typeof output !== 'number'
    ? counts
    : { ...counts, output_tokens: Math.floor(output * share) };
}

function blockEvents(block: ContentBlock, index: number): JsonObject[] {
  const { opening, deltas } = openingOf(block);
  return [
    { type: 'content_block_start', index, content_block: opening },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** The block as it starts, and the deltas that complete it. */
function openingOf(block: ContentBlock): { opening: JsonObject; deltas: JsonObject[] } {
  switch (block.type) {
    case 'text': {
      const { citations, text } = block;
      const cited = Array.isArray(citations) ? citations : [];
      return {
        opening: { ...block, text: '', ...(cited.length > 0 ? { citations: [] } : {}) },
        deltas: [
          ...cited.map((citation: unknown) => ({ type: 'citations_delta', citation })),
          ...pieces(String(text)).map((piece) => ({ type: 'text_delta', text: piece })),
        ],
      };
    }
    case 'thinking':
      return {
        opening: { ...block, thinking: '', signature: '' },
        deltas: [
          ...pieces(String(block['thinking'])).map((piece) => ({
            type: 'thinking_delta',
            thinking: piece,
          })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      };
    case 'tool_use':
    case 'server_tool_use': {
      const json = JSON.stringify(block['input']);
      const parts = json === '{}' ? [] : pieces(json);
      return {
        opening: { ...block, input: {} },
        deltas: ['', ...parts].map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
      };
    }
    case 'compaction':
      return {
        opening: { ...block, content: null },
        deltas: [{ type: 'compaction_delta', content: block['content'] }],
      };
    default:
      return { opening: block, deltas: [] };
  }
}

/** Never splits a surrogate pair. */
function pieces(text: string): string[] {
  const characters = [...text];
  const parts: string[] = [];
  for (let at = 0; at < characters.length; at += PIECE_CHARS) {
    parts.push(characters.slice(at, at + PIECE_CHARS).join(''));
  }
  return parts;
}

/** Adds pings: after the first event, like the API, or between all events for a ping storm. */
function withPings(events: readonly JsonObject[], pings: number): JsonObject[] {
  const ping = { type: 'ping' };
  if (pings <= 1) return [...events.slice(0, 1), ping, ...events.slice(1)];
  return events
    .flatMap((event) => [event, ...Array<JsonObject>(pings).fill(ping)])
    .slice(0, -pings);
}

export function writeEvent(event: JsonObject, lineEnd: string): string {
  return `event: ${String(event['type'])}${lineEnd}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`;
}
