/** A native request as text: its values, and the very text of those that are passed on as text. */

import { decodeUtf8, encodeUtf8 } from '../bytes.js';
import { fromCacheControl } from '../cache-control.js';
import { scanTopLevel, type JsonShape } from '../json-members.js';
import type { JsonObject } from '../raw-json.js';
import {
  RefusedRequestError,
  createTranslation,
  memberPath,
  refuseType,
  type Translation,
} from '../translation.js';
import type { Cacheable } from './chat-request.js';
import type { ChatTraits } from './traits.js';

export interface NativeTranslation extends Translation {
  readonly traits: ChatTraits;
  /** The text of the object at a path; refuses the request when there is none. */
  readonly rawObject: (path: string) => string;
}

/** Refuses what is no JSON object, names a member twice, is no UTF-8 or is nested too deeply. */
export function readNative(
  body: string | Uint8Array,
  traits: ChatTraits,
): { readonly native: JsonObject; readonly t: NativeTranslation } {
  const bytes = typeof body === 'string' ? encodeUtf8(body) : body;
  const texts = new Map<string, string>();
  const scan = scanTopLevel(bytes, { shape: rawShape(bytes, texts) });
  if (scan.outcome === 'refused') {
    const { message, member = null } = scan;
    throw new RefusedRequestError({ message, param: member, code: 'invalid_json' });
  }
  const rawObject = (path: string): string => {
    const text = texts.get(path);
    if (text?.startsWith('{') === true) return text;
    return refuseType(path, 'an object', text === undefined ? text : JSON.parse(text));
  };
  const native = JSON.parse(decodeUtf8(bytes)) as JsonObject;
  return { native, t: { ...createTranslation(), traits, rawObject } };
}

/** Keeps the text of call inputs and of schemas, by their paths. */
function rawShape(bytes: Uint8Array, texts: Map<string, string>): JsonShape {
  const raw: JsonShape = {
    onValue({ start, end }, path) {
      texts.set(pathOf(path), decodeUtf8(bytes.subarray(start, end)));
    },
  };
  const named = (name: string, shape: JsonShape): JsonShape => ({
    member: (candidate) => (candidate === name ? shape : undefined),
  });
  const message = named('content', { item: named('input', raw) });
  const shapes: Readonly<Record<string, JsonShape>> = {
    messages: { item: message },
    tools: { item: named('input_schema', raw) },
    output_config: named('format', named('schema', raw)),
  };
  return { member: (name) => (Object.hasOwn(shapes, name) ? shapes[name] : undefined) };
}

function pathOf(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${String(step)}]` : memberPath(text, step),
    '',
  );
}

/** The cache point of a block or tool, where the upstream reads it; else a note. */
export function cacheMembers(t: NativeTranslation, holder: JsonObject, path: string): Cacheable {
  const value = holder['cache_control'];
  if (value == null) return {};
  const at = path === '' ? 'cache_control' : `${path}.cache_control`;
  const control = fromCacheControl(t, value, at);
  if (t.traits.cacheControl === 'carried') return { cache_control: control };
  t.notes.take(at, 'dropped', 'the upstream has no cache points');
  return {};
}
