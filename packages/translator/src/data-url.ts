/** Data URLs and base64 as clients really write them, to the one canonical form upstream reads. */

import { encodeUtf8 } from './bytes.js';

/** The parts of a `data:` URL; `payload` is still encoded. */
export interface DataUrl {
  /** Lower case, without parameters; empty when the URL names none. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly payload: string;
}

/** Takes a `data:` URL apart; undefined when the text is none. */
export function parseDataUrl(url: string): DataUrl | undefined {
  if (!/^data:/i.test(url)) return undefined;
  const comma = url.indexOf(',');
  if (comma === -1) return undefined;
  const [mediaType = '', ...parameters] = url
    .slice('data:'.length, comma)
    .split(';')
    .map((part) => part.trim().toLowerCase());
  return { mediaType, isBase64: parameters.includes('base64'), payload: url.slice(comma + 1) };
}

/**
 * Standard base64 with padding, from either alphabet, with or without padding, with white space or
 * percent-escapes in it. Undefined when the text is not base64 or holds no data. Text that is
 * canonical already is returned as it is, without a copy.
 */
export function canonicalBase64(text: string): string | undefined {
  if (isCanonical(text)) return text;
  const unescaped = text.includes('%') ? decodePercent(text) : text;
  if (unescaped === undefined) return undefined;
  const standard = unescaped.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  const digits = standard.slice(0, endOfDigits(standard));
  // A lone last digit holds six bits: not a byte.
  if (digits.length === 0 || digits.length % 4 === 1) return undefined;
  if (standard.length - digits.length > 2 || !/^=*$/.test(standard.slice(digits.length))) {
    return undefined;
  }
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}

function isCanonical(text: string): boolean {
  if (text.length === 0 || text.length % 4 !== 0) return false;
  const padding = text.slice(endOfDigits(text));
  return padding === '' || padding === '=' || padding === '==';
}

/** A search for what does not belong never backtracks, whatever the size of the payload. */
function endOfDigits(text: string): number {
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end === -1 ? text.length : end;
}

/** Undoes percent-escapes; undefined when they are malformed. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The first bytes of canonical base64, one character per byte: enough to tell a format by its
 * signature.
 */
export function firstBytes(base64: string): string {
  return atob(base64.slice(0, 24));
}

/** The text behind canonical base64; undefined when the bytes are not UTF-8. */
export function decodeUtf8(base64: string): string | undefined {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i += 1) bytes[i] = binary.charCodeAt(i);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

const PIECE_LENGTH = 0x8000;

/** A data URL of the text as UTF-8. */
export function textDataUrl(text: string): string {
  const bytes = encodeUtf8(text);
  let binary = '';
  for (let at = 0; at < bytes.length; at += PIECE_LENGTH) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE_LENGTH));
  }
  return `data:text/plain;base64,${btoa(binary)}`;
}
