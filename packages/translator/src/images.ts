/**
 * Images of chat messages, to native image blocks.
 * https://platform.claude.com/docs/en/build-with-claude/vision
 */

import { canonicalBase64, firstBytes, parseDataUrl } from './data-url.js';
import type { ImageBlock, ImageMediaType } from './native-request.js';
import type { JsonObject } from './raw-json.js';
import {
  noteUnknownMembers,
  quote,
  readObject,
  readString,
  refuse,
  type Translation,
} from './translation.js';

const IMAGE_MEMBERS = new Set(['url', 'detail']);

/**
 * The block for an `image_url` part. A web address is handed on for upstream to fetch; nothing here
 * ever opens it.
 */
export function imageBlock(t: Translation, part: JsonObject, path: string): ImageBlock {
  const { url, at } = readUrl(t, part['image_url'], `${path}.image_url`);
  if (isWebUrl(url)) return { type: 'image', source: { type: 'url', url } };
  const data = parseDataUrl(url);
  if (data === undefined) {
    refuse(at, 'invalid_value', 'must be an http, https or data URL');
  }
  if (!data.isBase64) {
    refuse(at, 'invalid_value', 'the data URL of an image must be base64');
  }
  return base64Image(t, data.payload, data.mediaType, at);
}

function readUrl(t: Translation, value: unknown, path: string): { url: string; at: string } {
  // The bare string is not OpenAI's form, but a common one, and it leaves no doubt.
  if (typeof value === 'string') return { url: value.trim(), at: path };
  const image = readObject(value, path);
  const url = readString(image['url'], `${path}.url`);
  const { detail } = image;
  if (detail != null && detail !== 'auto') {
    t.notes.take(`${path}.detail`, 'ignored', 'upstream chooses the resolution itself');
  }
  noteUnknownMembers(t, image, IMAGE_MEMBERS, path);
  return { url: url.trim(), at: `${path}.url` };
}

export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/**
 * The block for image data. The bytes decide the media type, because upstream refuses an image
 * whose declared type is wrong, while clients of the chat format never had to get it right.
 */
export function base64Image(
  t: Translation,
  payload: string,
  declaredType: string,
  path: string,
): ImageBlock {
  const data = readBase64(payload, path);
  const mediaType = sniffImage(data);
  if (mediaType === undefined) {
    const complaint = `the data must be JPEG, PNG, GIF or WebP (declared as ${quote(declaredType)})`;
    refuse(path, 'unsupported_value', complaint);
  }
  if (mediaType !== normalizeType(declaredType)) {
    t.notes.take(path, 'rewritten', `media type ${quote(declaredType)} to ${mediaType}`);
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

export function readBase64(payload: string, path: string): string {
  return canonicalBase64(payload) ?? refuse(path, 'invalid_value', 'the data is not valid base64');
}

function normalizeType(mediaType: string): string {
  return mediaType === 'image/jpg' ? 'image/jpeg' : mediaType;
}

/**
 * The media type that canonical base64 data begins like; undefined when it is none that upstream
 * reads.
 */
export function sniffImage(base64: string): ImageMediaType | undefined {
  const bytes = firstBytes(base64);
  if (bytes.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (bytes.startsWith('\x89PNG')) return 'image/png';
  if (bytes.startsWith('GIF8')) return 'image/gif';
  if (bytes.startsWith('RIFF') && bytes.slice(8, 12) === 'WEBP') return 'image/webp';
  return undefined;
}
