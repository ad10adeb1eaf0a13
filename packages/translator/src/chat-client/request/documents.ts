/**
 * Translates `file` parts of chat messages to native documents (PDF and text) or images.
 * https://platform.claude.com/docs/en/build-with-claude/pdf-support
 */

import { type Place, quote } from '../../reading/place.js';
import {
  canonicalBase64,
  type DataUrl,
  parseDataUrl,
  sniffType,
  textOf,
} from '../../wire/data-url.js';
import { base64Data, base64Image, isWebUrl } from './images.js';
import type { DocumentBlock, ImageBlock } from './native-request.js';

/** The media types in data URLs of files whose type the sender did not know. */
const UNTYPED = ['', 'application/octet-stream'];

/** The block for a `file`; undefined for a text file without text, which the upstream refuses. */
export function fileBlock(file: Place): DocumentBlock | ImageBlock | undefined {
  const id = file.object().given('file_id');
  const data = file.at('file_data');
  // The client's ids name files in another provider's store. An id of the upstream would name a
  // file of the operator's account.
  if (data.value == null) id?.refuse('send the file as file_data', 'unsupported_value');
  id?.note('ignored', 'file_data is used');
  const name = file.at('filename').string('');
  file.noteUnread();
  return readFile(data, name);
}

/** The block for the data or the address of a file, with the file's name as its title. */
export function readFile(place: Place, name: string): DocumentBlock | ImageBlock | undefined {
  const block = readData(place);
  if (block?.type === 'document' && /\S/.test(name)) block.title = name;
  return block;
}

function readData(place: Place): DocumentBlock | ImageBlock | undefined {
  const data = place.string().trim();
  if (isWebUrl(data)) return { type: 'document', source: { type: 'url', url: data } };
  const written = parseDataUrl(data) ?? { mediaType: '', isBase64: true, payload: data };
  const isUntyped = written.isBase64 && UNTYPED.includes(written.mediaType);
  const url = isUntyped ? { ...written, mediaType: sniffed(written) } : written;
  const { mediaType } = url;
  if (mediaType === 'application/pdf' || mediaType.startsWith('image/')) {
    if (!url.isBase64) place.refuse('must be base64');
    if (mediaType !== 'application/pdf') return base64Image(place, url);
    const pdf = base64Data(place, url.payload);
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data: pdf } };
  }
  return textDocument(place, url);
}

/** The type that the first bytes show, if the client named none. */
function sniffed({ payload }: DataUrl): string {
  // The first 24 digits are 18 bytes, enough for every signature. The rest allows for line breaks.
  const head = canonicalBase64(payload.slice(0, 32).replace(/\s+/g, '').slice(0, 24));
  return sniffType(head ?? '') ?? '';
}

/**
 * Reads a file of any other type as text, if it is UTF-8 without NUL. Source code, Markdown, CSV
 * and the like have too many types to list, and browsers name them differently: TypeScript is
 * `video/mp2t`, and CSV on Windows is `application/vnd.ms-excel`.
 */
function textDocument(place: Place, url: DataUrl): DocumentBlock | undefined {
  const data = textOf(url);
  if (data === undefined || data.includes('\0')) {
    const complaint = `must be PDF, UTF-8 text or an image, got ${quote(url.mediaType)}`;
    return place.refuse(complaint, 'unsupported_value');
  }
  if (/\S/.test(data)) {
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data } };
  }
  place.note('dropped', 'white space only');
  return undefined;
}
