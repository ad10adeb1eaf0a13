/**
 * Reads the thinking blocks that assistant messages carry, so that tool loops keep the model's
 * reasoning. `thinking_blocks` holds native blocks, and `reasoning_details` holds the same facts in
 * OpenRouter's form.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import { Place } from '../../reading/place.js';
import type { Additions } from '../../wire/additions.js';
import { type LaidBlock, readLayout } from '../../wire/answer-layout.js';
import type { Extent, Placement } from '../../wire/extent.js';
import { type JsonObject, objectOf } from '../../wire/raw-json.js';
import type { ThinkingBlock } from './native-request.js';

const UNSIGNED = 'not signed by upstream';

/** A thinking block, and what its answer had before it, if the block says so. */
export interface Thought {
  readonly block: ThinkingBlock;
  readonly before?: Extent | undefined;
}

/** The thinking of one answer. */
export interface Thinking {
  /** Where the client wrote it. */
  readonly place: Place;
  readonly thoughts: Thought[];
  /** What an earlier translation added before the answer, as its first block says. */
  readonly additions: Additions;
  /** What the whole answer had, if a block says so. */
  readonly whole?: Extent | undefined;
  /** All blocks of an answer that searched; `torn` if they are not as they were sent. */
  readonly layout?: readonly LaidBlock[] | 'torn' | undefined;
  /** Whether the first block of the answer is missing. */
  readonly startsLate?: boolean;
}

/**
 * The thinking blocks that an assistant message or one of its parts carries, unchanged and in
 * order; undefined if it carries none. A block is kept if it is signed, even if its text is empty.
 * An unsigned block does not come from the upstream and is dropped.
 */
export function readThinking(holder: Place): Thinking | undefined {
  const list = holder.given('thinking_blocks');
  if (list) return readBlocks(list);
  const place = holder.given('reasoning_details');
  const thoughts = place?.items((detail) => asThought(readDetail(detail)));
  return place && thoughts && { place, thoughts, additions: {} };
}

function readBlocks(place: Place): Thinking {
  let additions: Additions = {};
  let whole: Extent | undefined;
  let startsLate = false;
  let layout: Thinking['layout'];
  const thoughts = place.items((item, at) => {
    const members = objectOf(item.value);
    if (at === 0) {
      additions = readAdditions(item);
      // In a stream, blocks have an index. OpenAI's helper for JavaScript keeps the last one.
      startsLate = Number(members['index']) > 0;
    }
    const { answer_blocks: blocks } = members;
    if (Array.isArray(blocks)) {
      layout = readLayout(blocks) ?? 'torn';
      return undefined;
    }
    const has = readExtent(members, 'answer_has');
    whole ??= has;
    // The end of a stream has this member in a block without content.
    if (has && !members['thinking'] && !members['signature'] && !members['data']) return undefined;
    return asThought(readBlock(item), readExtent(members, 'preceded_by'));
  });
  return { place, thoughts, additions, whole, layout, startsLate };
}

function asThought(block: ThinkingBlock | undefined, before?: Extent): Thought | undefined {
  return block && { block, before };
}

/** A value that is no whole number fits no answer. */
function readExtent(
  block: JsonObject,
  name: Exclude<keyof Placement, 'answer_blocks'>,
): Extent | undefined {
  if (block[name] == null) return undefined;
  const { thinking, text, calls, searches } = objectOf(block[name]);
  return {
    thinking: countOf(thinking),
    text: countOf(text),
    calls: countOf(calls),
    searches: searches == null ? undefined : countOf(searches),
  };
}

function countOf(value: unknown): number {
  const count = Number(value);
  return Number.isInteger(count) ? count : NaN;
}

/** Thinking of past answers that the caller keeps: its blocks, by the id of the first call. */
export type KeptThinking = ReadonlyMap<string, readonly unknown[]>;

/**
 * The kept blocks of an answer whose thinking the client sent back without its signature. The
 * upstream accepts thinking only signed, so without those blocks it is dropped.
 *
 * @param text - Where the client wrote the text of the thinking.
 * @param callId - The id of the first call of the answer.
 */
export function restoreThinking(
  text: Place,
  callId: string,
  kept: KeptThinking | undefined,
): Thinking | undefined {
  const blocks = kept?.get(callId);
  if (!blocks) {
    text.note('dropped', UNSIGNED);
    return undefined;
  }
  return readThinking(new Place(text.t, { thinking_blocks: blocks }, text, 'kept'));
}

/** Whether a part of a message is thinking, and not something to read. */
export function isThinkingPart(type: unknown): boolean {
  return type === 'thinking' || type === 'redacted_thinking' || type === 'reasoning';
}

/** The signed block that such a part is; undefined if the part has only text. */
export function readThinkingPart(part: Place): Thinking | undefined {
  const { type, signature } = objectOf(part.value);
  const isSigned = type === 'redacted_thinking' || (type === 'thinking' && signature);
  const block = isSigned ? readBlock(part) : undefined;
  return block && { place: part, thoughts: [{ block }], additions: readAdditions(part) };
}

/** What the block says that a translation added before its answer. */
export function readAdditions(block: Place): Additions {
  const read = (name: keyof Additions) => block.at(name).string('') || undefined;
  return {
    added_user: read('added_user'),
    added_system: read('added_system'),
    first_effort: read('first_effort'),
    added_effort: read('added_effort'),
  };
}

/** A native thinking block. Refused when it is something else. */
export function readBlock(block: Place): ThinkingBlock | undefined {
  const type = block.object().at('type');
  switch (type.value) {
    case 'thinking':
      return signedThinking(block, block.at('thinking').string());
    case 'redacted_thinking':
      return redactedThinking(block);
    default:
      return type.mustBe('"thinking" or "redacted_thinking"', 'unsupported_value');
  }
}

function readDetail(detail: Place): ThinkingBlock | undefined {
  const type = detail.object().at('type').value;
  const format = detail.at('format').value;
  const isOurs = typeof format !== 'string' || format.startsWith('anthropic');
  if (isOurs && type === 'reasoning.text') {
    return signedThinking(detail, detail.at('text').string(''));
  }
  if (isOurs && type === 'reasoning.encrypted') return redactedThinking(detail);
  detail.note('dropped', UNSIGNED);
  return undefined;
}

function signedThinking(place: Place, thinking: string): ThinkingBlock | undefined {
  const signature = place.at('signature').string('');
  if (signature !== '') return { type: 'thinking', thinking, signature };
  place.note('dropped', UNSIGNED);
  return undefined;
}

function redactedThinking(place: Place): ThinkingBlock {
  return { type: 'redacted_thinking', data: place.at('data').string() };
}
