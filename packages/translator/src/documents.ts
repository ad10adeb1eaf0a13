/**
 * `file` parts of chat messages, to native document blocks (PDF and plain text) or image blocks.
 * https://platform.claude.com/docs/en/build-with-claude/pdf-support
 */

import {
  canonicalBase64,
  decodePercent,
  decodeUtf8,
  firstBytes,
  parseDataUrl,
  type DataUrl,
} from './data-url.js';
import { base64Image, isWebUrl, readBase64, sniffImage } from './images.js';
import type { DocumentBlock, ImageBlock } from './native-request.js';
import type { JsonObject } from './raw-json.js';
import {
  noteUnknownMembers,
  quote,
  readObject,
  readString,
  refuse,
  type Translation,
} from './translation.js';

const FILE_MEMBERS = new Set(['file_data', 'file_id', 'filename']);

/** What data URLs say of files whose type their sender did not know. */
const UNTYPED = new Set(['', 'application/octet-stream']);

/** The block for a `file` part; undefined for a text file without text, which upstream refuses. */
export function fileBlock(
  t: Translation,
  part: JsonObject,
  path: string,
): DocumentBlock | ImageBlock | undefined {
  const at = `${path}.file`;
  const file = readObject(part['file'], at);
  const { file_data: data, file_id: id, filename } = file;
  if (data == null && id != null) {
    // Ids belong to another store; upstream's own would address files of the operator's account.
    refuse(`${at}.file_id`, 'unsupported_value', 'not supported, send the file as file_data');
  }
  const written = readString(data, `${at}.file_data`).trim();
  const name = readString(filename ?? '', `${at}.filename`);
  if (id != null) t.notes.take(`${at}.file_id`, 'ignored', 'file_data is used');
  noteUnknownMembers(t, file, FILE_MEMBERS, at);

  const block = readFile(t, written, name, `${at}.file_data`);
  if (block?.type === 'document' && /\S/.test(name)) block.title = name;
  return block;
}

function readFile(
  t: Translation,
  data: string,
  filename: string,
  path: string,
): DocumentBlock | ImageBlock | undefined {
  if (isWebUrl(data)) return { type: 'document', source: { type: 'url', url: data } };
  const written = parseDataUrl(data);
  const isTyped = written !== undefined && !(written.isBase64 && UNTYPED.has(written.mediaType));
  const url = isTyped ? written : guessType(written?.payload ?? data, filename);
  if (url.mediaType === 'text/plain') return textDocument(t, url, path);
  if (!url.isBase64) {
    refuse(path, 'invalid_value', 'only text/plain may come without base64');
  }
  if (url.mediaType.startsWith('image/')) return base64Image(t, url.payload, url.mediaType, path);
  if (url.mediaType !== 'application/pdf') {
    const complaint = `file type ${quote(url.mediaType)} is not supported, only PDF, plain text and images`;
    refuse(path, 'unsupported_value', complaint);
  }
  const pdf = readBase64(url.payload, path);
  return {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: pdf },
  };
}

/** Where no type is named, the first bytes tell it, or else the file's name. */
function guessType(payload: string, filename: string): DataUrl {
  // 32 characters are 24 bytes: enough for every signature, even with line breaks among them.
  const head = canonicalBase64(payload.slice(0, 32).replace(/\s+/g, '').slice(0, 24));
  const mediaType =
    head !== undefined && firstBytes(head).startsWith('%PDF')
      ? 'application/pdf'
      : ((head === undefined ? undefined : sniffImage(head)) ??
        (/\.txt$/i.test(filename) ? 'text/plain' : ''));
  return { mediaType, isBase64: true, payload };
}

function textDocument(t: Translation, url: DataUrl, path: string): DocumentBlock | undefined {
  const text = url.isBase64 ? textOfBase64(url.payload) : decodePercent(url.payload);
  if (text === undefined) refuse(path, 'invalid_value', 'not valid UTF-8 text');
  if (!/\S/.test(text)) {
    t.notes.take(path, 'dropped', 'the file has no text');
    return undefined;
  }
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } };
}

function textOfBase64(payload: string): string | undefined {
  if (payload === '') return '';
  const base64 = canonicalBase64(payload);
  return base64 === undefined ? undefined : decodeUtf8(base64);
}
