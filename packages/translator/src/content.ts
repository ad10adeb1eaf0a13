/** The `content` of a chat message, to native blocks. */

import { CACHE_MEMBERS, noteLostPoint, readCacheControl } from './cache-control.js';
import { fileBlock } from './documents.js';
import { imageBlock } from './images.js';
import type { ContentBlock, TextBlock } from './native-request.js';
import type { JsonObject } from './raw-json.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readObject,
  readString,
  refuse,
  type Translation,
} from './translation.js';

const COMMON_MEMBERS = ['type', ...CACHE_MEMBERS];
const TEXT_MEMBERS = new Set([...COMMON_MEMBERS, 'text']);
const REFUSAL_MEMBERS = new Set([...COMMON_MEMBERS, 'refusal']);
const IMAGE_MEMBERS = new Set([...COMMON_MEMBERS, 'image_url']);
const FILE_MEMBERS = new Set([...COMMON_MEMBERS, 'file']);

/**
 * White space and control characters alone are no text: upstream strips more of them than `\s`
 * matches.
 */
const HAS_TEXT = /[^\s\p{Cc}]/u;

/** The content of a user message or of a tool's result: text, images, files. */
export function contentBlocks(t: Translation, content: unknown, path: string): ContentBlock[] {
  return readContent(t, content, path, (part, at) => {
    switch (part['type']) {
      case 'text':
        return textPart(t, part, at);
      case 'image_url':
        noteUnknownMembers(t, part, IMAGE_MEMBERS, at);
        return marked(t, imageBlock(t, part, at), part, at);
      case 'file':
        noteUnknownMembers(t, part, FILE_MEMBERS, at);
        return marked(t, fileBlock(t, part, at), part, at);
      default:
        return refusePart(part, at, 'text, image_url and file');
    }
  });
}

/**
 * The content of a system, developer or assistant message: text, and on the assistant's side
 * refusals.
 */
export function textBlocks(
  t: Translation,
  content: unknown,
  path: string,
  role: 'system' | 'developer' | 'assistant',
): TextBlock[] {
  return readContent(t, content, path, (part, at) => {
    if (part['type'] === 'text') return textPart(t, part, at);
    if (role !== 'assistant') return refusePart(part, at, `text in a ${role} message`);
    if (part['type'] !== 'refusal') return refusePart(part, at, 'text and refusal here');
    noteUnknownMembers(t, part, REFUSAL_MEMBERS, at);
    return marked(t, textBlock(t, part['refusal'], `${at}.refusal`), part, at);
  });
}

/** A text block; undefined for text that is empty or only white space, which upstream refuses. */
export function textBlock(t: Translation, text: unknown, path: string): TextBlock | undefined {
  const said = readString(text, path);
  if (HAS_TEXT.test(said)) return { type: 'text', text: said };
  if (said !== '') t.notes.take(path, 'dropped', 'text of white space only');
  return undefined;
}

function readContent<Block extends ContentBlock>(
  t: Translation,
  content: unknown,
  path: string,
  readPart: (part: JsonObject, path: string) => Block | undefined,
): (Block | TextBlock)[] {
  if (content == null) return [];
  if (typeof content === 'string') {
    const block = textBlock(t, content, path);
    return block === undefined ? [] : [block];
  }
  const blocks: Block[] = [];
  readArray(content, path).forEach((part, index) => {
    const at = `${path}[${String(index)}]`;
    const block = readPart(readObject(part, at), at);
    if (block !== undefined) blocks.push(block);
  });
  return blocks;
}

function textPart(t: Translation, part: JsonObject, path: string): TextBlock | undefined {
  noteUnknownMembers(t, part, TEXT_MEMBERS, path);
  return marked(t, textBlock(t, part['text'], `${path}.text`), part, path);
}

function marked<Block extends ContentBlock>(
  t: Translation,
  block: Block | undefined,
  part: JsonObject,
  path: string,
): Block | undefined {
  const control = readCacheControl(t, part, path);
  if (control === undefined) return block;
  if (block === undefined) noteLostPoint(t, control);
  else block.cache_control = control;
  return block;
}

function refusePart(part: JsonObject, path: string, supported: string): never {
  const type = readString(part['type'], `${path}.type`);
  const complaint = `content of type ${quote(type)} is not supported, only ${supported}`;
  refuse(`${path}.type`, 'unsupported_value', complaint);
}
