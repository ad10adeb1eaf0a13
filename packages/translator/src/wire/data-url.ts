/**
 * Turns the forms of data URLs and base64 that clients send into the one form that the upstream
 * accepts.
 */

import { decodeStrictly } from './bytes.js';
import { PIECE_LENGTH } from './raw-json.js';

/** The parts of a `data:` URL; `payload` is still encoded. */
export interface DataUrl {
  /** Lower case, without parameters; empty when the URL names none. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly payload: string;
}

const MAX_HEADER_LENGTH = 1000;

/** Splits a `data:` URL into its parts; undefined if the text is not a data URL. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',');
  // A media type and its parameters are short, so a longer text before the comma is not a header.
  if (comma === -1 || comma > MAX_HEADER_LENGTH || !/^data:/i.test(url)) return undefined;
  const [mediaType = '', ...parameters] = url
    .slice('data:'.length, comma)
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return { mediaType, isBase64: parameters.includes('base64'), payload: url.slice(comma + 1) };
}

/**
 * Returns standard base64 with padding. Accepts either alphabet, missing padding, white space and
 * percent-escapes. Undefined when the text is not base64 or holds no data. Text that is already in
 * the canonical form is returned as it is, without a copy.
 */
export function canonicalBase64(text: string): string | undefined {
  return padded(text) ?? padded(standardDigits(text));
}

/** Undefined unless the text consists of digits of the standard alphabet and then padding. */
function padded(text: string): string | undefined {
  // A search for one character that is not a digit cannot backtrack, even in a large payload.
  const found = text.search(/[^A-Za-z0-9+/]/);
  const end = found === -1 ? text.length : found;
  // A single last digit holds six bits, which is less than a byte.
  if (end === 0 || end % 4 === 1 || !/^={0,2}$/.test(text.slice(end))) return undefined;
  return text.length % 4 === 0 ? text : text.slice(0, end).padEnd(Math.ceil(end / 4) * 4, '=');
}

/** Works piece by piece, because `replace` keeps memory for each match until it is done. */
function standardDigits(text: string): string {
  let digits = '';
  for (let at = 0, end; at < text.length; at = end) {
    end = endOfPiece(text, at);
    const unescaped = decodePercent(text.slice(at, end));
    // The empty string is not base64 either, so the caller rejects the whole text.
    if (unescaped === undefined) return '';
    digits += unescaped.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  }
  return digits;
}

/** Ends a piece so that an escape such as `%3D` stays in one piece. */
function endOfPiece(text: string, start: number): number {
  const end = start + PIECE_LENGTH;
  // A search through the whole text, again for each piece, would take seconds for a large payload.
  const near = end - 2;
  const escape = text.slice(near, end).indexOf('%');
  return escape === -1 ? end : near + escape;
}

/** The first bytes of each file type, one character per byte. WebP has its length in between. */
const SIGNATURES = [
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^\x89PNG/, 'image/png'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^%PDF/, 'application/pdf'],
] as const;

/**
 * Detects the media type from the first bytes of canonical base64. Undefined if the upstream does
 * not read the type.
 */
export function sniffType(base64: string): (typeof SIGNATURES)[number][1] | undefined {
  const bytes = atob(base64.slice(0, 24));
  return SIGNATURES.find(([signature]) => signature.test(bytes))?.[1];
}

/** The text in a data URL; undefined when it is damaged or not valid UTF-8. */
export function textOf({ isBase64, payload }: DataUrl): string | undefined {
  if (!isBase64) return decodePercent(payload);
  const base64 = payload && canonicalBase64(payload);
  if (base64 === undefined) return undefined;
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return decodeStrictly(bytes);
}

/** Decodes percent-escapes; undefined when one is malformed. */
function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
