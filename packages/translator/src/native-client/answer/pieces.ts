/**
 * Text and reasoning of a chat message or delta, whichever of the common members carries them.
 *
 * OpenAI's own format has no reasoning text. Servers add `reasoning_content` (DeepSeek, vLLM) or
 * `reasoning` (OpenRouter, vLLM); signatures travel in `thinking_blocks`
 * (https://docs.litellm.ai/docs/reasoning_content, and this package's forward half) or in
 * `reasoning_details` (https://openrouter.ai/docs/use-cases/reasoning-tokens). Several of them say
 * the same thing at once, so the one that tells most is read and the others are not.
 */

import { type JsonObject, objectsOf, stringOf } from '../../wire/raw-json.js';
import { thinkingBlock, type ThinkingPiece } from './message.js';

export type Piece = ThinkingPiece | { readonly type: 'text'; readonly text: string };

/** In the order of a native message: reasoning, then what `content` holds. Empty pieces are left out. */
export function piecesOf(holder: JsonObject): Piece[] {
  return [...thinkingOf(holder), ...contentOf(holder['content'])];
}

function thinkingOf(holder: JsonObject): ThinkingPiece[] {
  const blocks = objectsOf(holder['thinking_blocks']).flatMap(ofThinkingBlock);
  if (blocks.length > 0) return blocks;
  const details = objectsOf(holder['reasoning_details']).flatMap(ofReasoningDetail);
  if (details.length > 0) return details;
  return thinking(stringOf(holder['reasoning_content']) || stringOf(holder['reasoning']), '');
}

function ofThinkingBlock(block: JsonObject): ThinkingPiece[] {
  return block['type'] === 'redacted_thinking'
    ? redacted(block['data'])
    : thinking(stringOf(block['thinking']), stringOf(block['signature']));
}

function ofReasoningDetail(detail: JsonObject): ThinkingPiece[] {
  switch (detail['type']) {
    case 'reasoning.text':
      return thinking(stringOf(detail['text']), stringOf(detail['signature']));
    case 'reasoning.summary':
      return thinking(stringOf(detail['summary']), '');
    case 'reasoning.encrypted':
      return redacted(detail['data']);
    default:
      return [];
  }
}

/** A string, or parts as Mistral sends them: text, and thinking that is itself a list of texts. */
function contentOf(content: unknown): Piece[] {
  if (typeof content === 'string') return text(content);
  return objectsOf(content).flatMap((part) => {
    if (part['type'] === 'text') return text(stringOf(part['text']));
    if (part['type'] !== 'thinking') return [];
    const inner = part['thinking'];
    const texts = objectsOf(inner).map((piece) => stringOf(piece['text']));
    return thinking(typeof inner === 'string' ? inner : texts.join(''), '');
  });
}

function text(said: string): Piece[] {
  return said === '' ? [] : [{ type: 'text', text: said }];
}

function thinking(said: string, signature: string): ThinkingPiece[] {
  return said === '' && signature === '' ? [] : [thinkingBlock(said, signature)];
}

function redacted(data: unknown): ThinkingPiece[] {
  return typeof data === 'string' ? [{ type: 'redacted_thinking', data }] : [];
}
