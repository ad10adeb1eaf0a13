/**
 * Thinking blocks that travel through the chat format on assistant messages, so that tool loops
 * keep the model's reasoning: `thinking_blocks` holds native blocks, `reasoning_details` the same
 * facts as OpenRouter spells them.
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */

import type { ThinkingBlock } from './native-request.js';
import type { JsonObject } from './raw-json.js';
import {
  quote,
  readArray,
  readObject,
  readString,
  refuse,
  type Translation,
} from './translation.js';

/**
 * The thinking blocks of an assistant message, unchanged and in order. The signature decides, not
 * the text: a signed block with empty text is kept, an unsigned one is no block of upstream's and
 * dropped.
 */
export function readThinking(t: Translation, message: JsonObject, path: string): ThinkingBlock[] {
  const blocks = message['thinking_blocks'];
  if (blocks != null) {
    return readEach(t, blocks, `${path}.thinking_blocks`, readBlock);
  }
  const details = message['reasoning_details'];
  return details == null
    ? []
    : readEach(t, details, `${path}.reasoning_details`, readReasoningDetail);
}

type ReadOne = (t: Translation, value: JsonObject, path: string) => ThinkingBlock | undefined;

function readEach(
  t: Translation,
  values: unknown,
  path: string,
  readOne: ReadOne,
): ThinkingBlock[] {
  const blocks: ThinkingBlock[] = [];
  readArray(values, path).forEach((value, index) => {
    const at = `${path}[${String(index)}]`;
    const block = readOne(t, readObject(value, at), at);
    if (block !== undefined) blocks.push(block);
  });
  return blocks;
}

function readBlock(t: Translation, value: JsonObject, path: string): ThinkingBlock | undefined {
  switch (value['type']) {
    case 'thinking':
      return signedThinking(t, value['thinking'], value['signature'], path, 'thinking');
    case 'redacted_thinking':
      return redactedThinking(value['data'], path);
    default:
      return refuse(
        `${path}.type`,
        'unsupported_value',
        `must be "thinking" or "redacted_thinking", got ${quote(value['type'])}`,
      );
  }
}

function readReasoningDetail(
  t: Translation,
  value: JsonObject,
  path: string,
): ThinkingBlock | undefined {
  const { type, format } = value;
  const isForeign = typeof format === 'string' && !format.startsWith('anthropic');
  if (!isForeign && type === 'reasoning.text') {
    return signedThinking(t, value['text'] ?? '', value['signature'], path, 'text');
  }
  if (!isForeign && type === 'reasoning.encrypted') return redactedThinking(value['data'], path);
  t.notes.take(path, 'dropped', 'not reasoning that upstream signed');
  return undefined;
}

function signedThinking(
  t: Translation,
  thinking: unknown,
  signature: unknown,
  path: string,
  textMember: string,
): ThinkingBlock | undefined {
  const text = readString(thinking, `${path}.${textMember}`);
  if (signature == null || signature === '') {
    t.notes.take(path, 'dropped', 'thinking without a signature');
    return undefined;
  }
  const signed = readString(signature, `${path}.signature`);
  return { type: 'thinking', thinking: text, signature: signed };
}

function redactedThinking(data: unknown, path: string): ThinkingBlock {
  return { type: 'redacted_thinking', data: readString(data, `${path}.data`) };
}
