/** Native content blocks that a user may send, to the parts of a chat message. */

import { textDataUrl } from '../data-url.js';
import type { JsonObject } from '../raw-json.js';
import {
  noteUnknownMembers,
  quote,
  readArray,
  readObject,
  readString,
  refuse,
} from '../translation.js';
import type { ChatPart, TextPart } from './chat-request.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

/** A block and where the client wrote it. */
export interface Placed {
  readonly block: JsonObject;
  readonly path: string;
}

const TEXT_MEMBERS = new Set(['type', 'text', 'citations', 'cache_control']);
const IMAGE_MEMBERS = new Set(['type', 'source', 'cache_control']);
const DOCUMENT_MEMBERS = new Set([...IMAGE_MEMBERS, 'title', 'context', 'citations']);
const SEARCH_MEMBERS = new Set([
  'type',
  'source',
  'title',
  'content',
  'citations',
  'cache_control',
]);

/** Blocks that only the provider's own tools and stores give a meaning. */
const SERVER_BLOCK =
  /^(server_tool_use|.+_tool_result|tool_reference|browser_state|container_upload|mcp_tool_use|mcp_tool_listing)$/;

/** A string, or a list of blocks, as a list of blocks. */
export function blocksOf(content: unknown, path: string): Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }];
  return readArray(content, path).map((item, index) => {
    const at = `${path}[${String(index)}]`;
    return { block: readObject(item, at), path: at };
  });
}

/** Empty text is no part; nothing else is left out without a note. */
export function userParts(t: NativeTranslation, { block, path }: Placed): ChatPart[] {
  switch (block['type']) {
    case 'text':
      return textParts(t, { block, path });
    case 'image':
      return [imagePart(t, block, path)];
    case 'document':
      return documentParts(t, block, path);
    case 'search_result':
      return searchResultParts(t, block, path);
    default:
      return dropServerBlock(t, { block, path }, 'text, image, document and search_result');
  }
}

/** Leaves a block out that has no chat equivalent, and refuses one that is unknown. */
export function dropServerBlock(
  t: NativeTranslation,
  { block, path }: Placed,
  supported: string,
): never[] {
  const type = readString(block['type'], `${path}.type`);
  if (!SERVER_BLOCK.test(type)) {
    const complaint = `content of type ${quote(type)} is not supported, only ${supported}`;
    refuse(`${path}.type`, 'unsupported_value', complaint);
  }
  t.notes.take(path, 'dropped', `a block of type ${quote(type)} has no chat equivalent`);
  return [];
}

export function textParts(t: NativeTranslation, { block, path }: Placed): TextPart[] {
  noteUnknownMembers(t, block, TEXT_MEMBERS, path);
  const text = readString(block['text'], `${path}.text`);
  const { citations } = block;
  if (Array.isArray(citations) && citations.length > 0) {
    t.notes.take(`${path}.citations`, 'dropped', 'there are no citations');
  }
  return text === '' ? [] : [{ type: 'text', text, ...cacheMembers(t, block, path) }];
}

function imagePart(t: NativeTranslation, block: JsonObject, path: string): ChatPart {
  noteUnknownMembers(t, block, IMAGE_MEMBERS, path);
  const source = readObject(block['source'], `${path}.source`);
  const url = dataUrl(source, `${path}.source`, /^image\//) ?? webUrl(source, `${path}.source`);
  return { type: 'image_url', image_url: { url }, ...cacheMembers(t, block, path) };
}

function dataUrl(source: JsonObject, path: string, allowed: RegExp): string | undefined {
  if (source['type'] !== 'base64') return undefined;
  const mediaType = readString(source['media_type'], `${path}.media_type`);
  if (!allowed.test(mediaType) || !/^[\w.+-]+\/[\w.+-]+$/.test(mediaType)) {
    refuse(`${path}.media_type`, 'unsupported_value', `${quote(mediaType)} is not supported here`);
  }
  return `data:${mediaType};base64,${readString(source['data'], `${path}.data`)}`;
}

function webUrl(source: JsonObject, path: string): string {
  const { type } = source;
  if (type === 'url') return readString(source['url'], `${path}.url`);
  const complaint =
    type === 'file'
      ? 'files are stored with another provider: send the data itself'
      : `sources of type ${quote(type)} are not supported here`;
  refuse(`${path}.type`, 'unsupported_value', complaint);
}

function documentParts(t: NativeTranslation, block: JsonObject, path: string): ChatPart[] {
  noteUnknownMembers(t, block, DOCUMENT_MEMBERS, path);
  const source = readObject(block['source'], `${path}.source`);
  const title = readString(block['title'] ?? '', `${path}.title`);
  const context = readString(block['context'] ?? '', `${path}.context`);
  noteCitations(t, block, path);
  if (context !== '') {
    t.notes.take(`${path}.context`, 'rewritten', 'sent as text before the document');
  }
  const before: ChatPart[] = context === '' ? [] : [{ type: 'text', text: context }];
  const parts = sourceParts(t, source, { path: `${path}.source`, title });
  const last = parts.pop();
  if (last === undefined) return before;
  return [...before, ...parts, { ...last, ...cacheMembers(t, block, path) }];
}

function sourceParts(
  t: NativeTranslation,
  source: JsonObject,
  { path, title }: { readonly path: string; readonly title: string },
): ChatPart[] {
  const { files } = t.traits;
  switch (source['type']) {
    case 'text': {
      const text = readString(source['data'], `${path}.data`);
      if (files === 'any') return [filePart(textDataUrl(text), title)];
      t.notes.take(path, 'rewritten', 'a document of text is sent as text');
      return [{ type: 'text', text: title === '' ? text : `${title}\n\n${text}` }];
    }
    case 'content': {
      t.notes.take(path, 'rewritten', 'the blocks of a document are sent as parts of the message');
      const heading: ChatPart[] = title === '' ? [] : [{ type: 'text', text: title }];
      const inner = blocksOf(source['content'], `${path}.content`);
      return [...heading, ...inner.flatMap((placed) => userParts(t, placed))];
    }
    default: {
      const pdf = dataUrl(source, path, /^application\/pdf$/);
      const url = pdf ?? webUrl(source, path);
      if (files === 'none' || (pdf === undefined && files === 'pdf')) {
        const what = pdf === undefined ? 'documents by address' : 'PDF files';
        refuse(path, 'unsupported_value', `the upstream takes no ${what}`);
      }
      // OpenAI wants a name with the data; others are told one only if there is one.
      return [filePart(url, title === '' && files === 'pdf' ? 'document.pdf' : title)];
    }
  }
}

function filePart(data: string, filename: string): ChatPart {
  const name = filename === '' ? {} : { filename };
  return { type: 'file', file: { ...name, file_data: data } };
}

function searchResultParts(t: NativeTranslation, block: JsonObject, path: string): ChatPart[] {
  noteUnknownMembers(t, block, SEARCH_MEMBERS, path);
  noteCitations(t, block, path);
  t.notes.take(path, 'rewritten', 'a search result is sent as text');
  const title = readString(block['title'], `${path}.title`);
  const source = readString(block['source'], `${path}.source`);
  const heading: ChatPart = { type: 'text', text: `${title}\n${source}` };
  const parts = blocksOf(block['content'], `${path}.content`).flatMap((placed) =>
    userParts(t, placed),
  );
  const last = parts.pop() ?? heading;
  const rest = last === heading ? [] : [heading, ...parts];
  return [...rest, { ...last, ...cacheMembers(t, block, path) }];
}

function noteCitations(t: NativeTranslation, { citations }: JsonObject, path: string): void {
  const isWanted =
    typeof citations === 'object' &&
    citations !== null &&
    'enabled' in citations &&
    citations.enabled === true;
  if (isWanted) t.notes.take(`${path}.citations`, 'dropped', 'there are no citations');
}
