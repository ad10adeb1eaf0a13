/**
 * Reads the text and the reasoning of a chat message or delta from the members that servers use.
 *
 * OpenAI's own format has no reasoning text. Servers add `reasoning_content` (DeepSeek, vLLM) or
 * `reasoning` (OpenRouter, vLLM). Signatures are in `thinking_blocks`
 * (https://docs.litellm.ai/docs/reasoning_content, and this package's answers to chat clients) or
 * in `reasoning_details` (https://openrouter.ai/docs/use-cases/reasoning-tokens). A message may
 * have the same reasoning in several of these members, so only the most detailed one is read, and
 * besides it the thinking parts of `content`.
 */

import { type JsonObject, objectsOf, stringOf } from '../../wire/raw-json.js';
import { thinkingBlock, type ThinkingPiece } from './message.js';

export type Piece = ThinkingPiece | { readonly type: 'text'; readonly text: string };

/** The pieces in native order: reasoning, then `content`. Empty pieces are left out. */
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

/**
 * Reads a string, or Mistral's list of parts: a `text` part has a string; a `thinking` part has a
 * list of text parts, or a string.
 */
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
  return typeof data === 'string' && data !== '' ? [{ type: 'redacted_thinking', data }] : [];
}
