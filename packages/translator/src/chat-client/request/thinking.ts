/**
 * Reads the thinking blocks that assistant messages carry, so that tool loops keep the model's
 * reasoning. `thinking_blocks` holds native blocks, and `reasoning_details` holds the same facts in
 * OpenRouter's form.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import type { Place } from '../../reading/place.js';
import type { ThinkingBlock } from './native-request.js';

const UNSIGNED = 'not signed by upstream';

/**
 * The thinking blocks of an assistant message, unchanged and in order. A block is kept if it is
 * signed, even if its text is empty. An unsigned block does not come from the upstream and is
 * dropped.
 */
export function readThinking(message: Place): ThinkingBlock[] {
  const blocks = message.given('thinking_blocks');
  const details = message.given('reasoning_details');
  const thinking = blocks?.items(readBlock) ?? details?.items(readDetail) ?? [];
  // The same thinking without its signature. The upstream accepts it only signed.
  const text = message.given('reasoning_content') ?? message.given('reasoning');
  if (text?.value && !thinking[0]) text.note('dropped', UNSIGNED);
  return thinking;
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
