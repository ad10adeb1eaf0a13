/** Translates the content blocks of a native user message to the parts of a chat message. */

import { Place, quote } from '../../reading/place.js';
import { textDataUrl } from '../../wire/data-url.js';
import type { ChatPart, TextPart } from './chat-request.js';
import { cacheMembers, type NativeTranslation } from './native-source.js';

/** Types of blocks that only make sense with the provider's own tools and stores. */
const SERVER_BLOCK =
  /^(server_tool_use|.+_tool_result|tool_reference|browser_state|container_upload|mcp_tool_use|mcp_tool_listing)$/;

/** Reads a string or a list of blocks as a list of blocks. */
export function blocksOf(holder: Place, name: string): Place[] {
  const content = holder.at(name);
  const { value: text } = content;
  if (typeof text === 'string') return [new Place(holder.t, { type: 'text', text }, holder, name)];
  return content.items((item) => item.object(), 'a string or an array');
}

/** Translates one block. Only empty text is left out without a note. */
export function userParts(t: NativeTranslation, block: Place): ChatPart[] {
  switch (block.at('type').value) {
    case 'text':
      return textParts(t, block);
    case 'image':
      return [imagePart(t, block)];
    case 'document':
      return documentParts(t, block);
    case 'search_result':
      return searchResultParts(t, block);
    default:
      return dropServerBlock(block, 'text, image, document or search_result');
  }
}

/** Leaves out a block that has no chat equivalent, with a note. Refuses a block of unknown type. */
export function dropServerBlock(block: Place, supported: string): never[] {
  const type = block.at('type');
  if (!SERVER_BLOCK.test(type.string())) type.mustBe(supported, 'unsupported_value');
  block.note('dropped', `a block of type ${quote(type.value)} has no chat equivalent`);
  return [];
}

export function textParts(t: NativeTranslation, block: Place): TextPart[] {
  const text = block.at('text').string();
  const citations = block.at('citations');
  if (Array.isArray(citations.value) && citations.value.length > 0) {
    citations.note('dropped', 'the chat format has no citations');
  }
  const cached = cacheMembers(t, block);
  block.noteUnread();
  return text === '' ? [] : [{ type: 'text', text, ...cached }];
}

function imagePart(t: NativeTranslation, block: Place): ChatPart {
  const source = block.at('source').object();
  const url = dataUrl(source, /^image\//) ?? webUrl(source);
  const cached = cacheMembers(t, block);
  block.noteUnread();
  return { type: 'image_url', image_url: { url }, ...cached };
}

function dataUrl(source: Place, allowed: RegExp): string | undefined {
  if (source.at('type').value !== 'base64') return undefined;
  const mediaType = source.at('media_type');
  const written = mediaType.string();
  if (!allowed.test(written) || !/^[\w.+-]+\/[\w.+-]+$/.test(written)) {
    mediaType.refuse(`${quote(written)} is not supported here`, 'unsupported_value');
  }
  return `data:${written};base64,${source.at('data').string()}`;
}

function webUrl(source: Place): string {
  const type = source.at('type');
  if (type.value === 'url') return source.at('url').string();
  const complaint =
    type.value === 'file'
      ? 'files are stored with another provider: send the data itself'
      : `sources of type ${quote(type.value)} are not supported here`;
  return type.refuse(complaint, 'unsupported_value');
}

function documentParts(t: NativeTranslation, block: Place): ChatPart[] {
  const source = block.at('source').object();
  const title = block.at('title').string('');
  const context = block.at('context').string('');
  noteCitations(block);
  if (context !== '') block.at('context').note('rewritten', 'sent as text before the document');
  const before: ChatPart[] = context === '' ? [] : [{ type: 'text', text: context }];
  const parts = sourceParts(t, source, title);
  const last = parts.pop();
  const cached = cacheMembers(t, block);
  block.noteUnread();
  return last === undefined ? before : [...before, ...parts, { ...last, ...cached }];
}

function sourceParts(t: NativeTranslation, source: Place, title: string): ChatPart[] {
  const { files } = t.traits;
  switch (source.at('type').value) {
    case 'text': {
      const text = source.at('data').string();
      if (files === 'any') return [filePart(textDataUrl(text), title)];
      source.note('rewritten', 'a document of text is sent as text');
      return [{ type: 'text', text: title === '' ? text : `${title}\n\n${text}` }];
    }
    case 'content': {
      source.note('rewritten', 'the blocks of a document are sent as parts of the message');
      const heading: ChatPart[] = title === '' ? [] : [{ type: 'text', text: title }];
      const inner = blocksOf(source, 'content');
      return [...heading, ...inner.flatMap((block) => userParts(t, block))];
    }
    default: {
      const pdf = dataUrl(source, /^application\/pdf$/);
      const url = pdf ?? webUrl(source);
      if (files === 'none' || (pdf === undefined && files === 'pdf')) {
        const what = pdf === undefined ? 'documents by address' : 'PDF files';
        source.refuse(`the upstream takes no ${what}`, 'unsupported_value');
      }
      // OpenAI requires a name with the data. Other upstreams get one only if the client gave one.
      return [filePart(url, title === '' && files === 'pdf' ? 'document.pdf' : title)];
    }
  }
}

function filePart(data: string, filename: string): ChatPart {
  const name = filename === '' ? {} : { filename };
  return { type: 'file', file: { ...name, file_data: data } };
}

function searchResultParts(t: NativeTranslation, block: Place): ChatPart[] {
  noteCitations(block);
  block.note('rewritten', 'a search result is sent as text');
  const title = block.at('title').string();
  const source = block.at('source').string();
  const heading: ChatPart = { type: 'text', text: `${title}\n${source}` };
  const parts = blocksOf(block, 'content').flatMap((inner) => userParts(t, inner));
  const last = parts.pop() ?? heading;
  const rest = last === heading ? [] : [heading, ...parts];
  const cached = cacheMembers(t, block);
  block.noteUnread();
  return [...rest, { ...last, ...cached }];
}

function noteCitations(block: Place): void {
  const citations = block.at('citations');
  if (citations.at('enabled').value === true)
    citations.note('dropped', 'the chat format has no citations');
}
