/**
 * Translates the images of chat messages to native image blocks.
 * https://platform.claude.com/docs/en/build-with-claude/vision
 */

import { type Place, quote } from '../../reading/place.js';
import { canonicalBase64, type DataUrl, parseDataUrl, sniffType } from '../../wire/data-url.js';
import type { ImageBlock } from './native-request.js';

/**
 * The block for an `image_url`. A web address is passed on for the upstream to fetch; this package
 * never opens it.
 */
export function imageBlock(image: Place): ImageBlock {
  const place = urlPlace(image);
  const url = place.string().trim();
  if (isWebUrl(url)) return { type: 'image', source: { type: 'url', url } };
  const data = parseDataUrl(url);
  if (!data?.isBase64) return place.refuse('must be a web address or a base64 data URL');
  return base64Image(place, data);
}

function urlPlace(image: Place): Place {
  // OpenAI's form is an object, but a bare string is common, and its meaning is clear.
  if (typeof image.value === 'string') return image;
  const url = image.object().at('url');
  image.noteUnread();
  return url;
}

export function isWebUrl(url: string): boolean {
  return /^https?:\/\//i.test(url);
}

/**
 * The block for image data. Its bytes decide the media type: the upstream refuses an image with a
 * wrong declared type, but chat upstreams accept it, so clients do not always declare the right
 * one.
 */
export function base64Image(place: Place, { payload, mediaType: declared }: DataUrl): ImageBlock {
  const data = base64Data(place, payload);
  const mediaType = sniffType(data);
  if (!mediaType || mediaType === 'application/pdf') {
    const complaint = `is not JPEG, PNG, GIF or WebP data (it was declared as ${quote(declared)})`;
    return place.refuse(complaint, 'unsupported_value');
  }
  if (mediaType !== declared.replace('jpg', 'jpeg')) {
    place.note('rewritten', `media type ${quote(declared)} to ${mediaType}`);
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

export function base64Data(place: Place, payload: string): string {
  return canonicalBase64(payload) ?? place.refuse('must be valid base64');
}
