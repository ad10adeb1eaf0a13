/**
 * Reads the thinking blocks that assistant messages carry, so that tool loops keep the model's
 * reasoning. `thinking_blocks` holds native blocks, and `reasoning_details` holds the same facts in
 * OpenRouter's form.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import { Place } from '../../reading/place.js';
import type { Additions } from '../../wire/additions.js';
import { objectOf } from '../../wire/raw-json.js';
import type { ThinkingBlock } from './native-request.js';

const UNSIGNED = 'not signed by upstream';

/** The thinking of one answer. */
export interface Thinking {
  readonly blocks: ThinkingBlock[];
  /** What an earlier translation added before the answer, as its first block says. */
  readonly additions: Additions;
}

/**
 * The thinking blocks that an assistant message or one of its parts carries, unchanged and in
 * order; undefined if it carries none. A block is kept if it is signed, even if its text is empty.
 * An unsigned block does not come from the upstream and is dropped.
 */
export function readThinking(holder: Place): Thinking | undefined {
  const list = holder.given('thinking_blocks');
  const blocks = list?.items(readBlock) ?? holder.given('reasoning_details')?.items(readDetail);
  if (!blocks) return undefined;
  const first = list?.items((block, index) => (index === 0 ? readAdditions(block) : undefined));
  return { blocks, additions: first?.[0] ?? {} };
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
  return block && { blocks: [block], additions: readAdditions(part) };
}

/** What the block says that a translation added before its answer. */
export function readAdditions(block: Place): Additions {
  const read = (name: keyof Additions) => block.at(name).string('') || undefined;
  return { added_user: read('added_user'), added_system: read('added_system') };
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
