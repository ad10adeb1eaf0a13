/** Reads a native request: its values, and the unchanged JSON text of call inputs and schemas. */

import { fromCacheControl } from '../../reading/cache-control.js';
import { Place, type Translation } from '../../reading/place.js';
import { RefusedRequestError } from '../../reading/refusal.js';
import { createTranslation } from '../../reading/translation.js';
import { decodeUtf8, encodeUtf8 } from '../../wire/bytes.js';
import { type JsonShape, scanTopLevel } from '../../wire/json-scanner.js';
import type { Cacheable } from './chat-request.js';
import type { ChatTraits } from './traits.js';

export interface NativeTranslation extends Translation {
  readonly traits: ChatTraits;
  /** The JSON text of the object at a place. Refuses the request if there is no object. */
  readonly rawObject: (place: Place) => string;
}

/**
 * Refuses a body that is not a JSON object in UTF-8, whose root repeats a member or has more than
 * 1,000 members, or that is nested too deeply.
 */
export function readNative(
  body: string | Uint8Array,
  traits: ChatTraits,
): { readonly native: Place; readonly t: NativeTranslation } {
  const bytes = typeof body === 'string' ? encodeUtf8(body) : body;
  const texts = new Map<string, string>();
  const scan = scanTopLevel(bytes, { shape: rawShape(bytes, texts) });
  if (scan.outcome === 'refused') {
    const { message, member = null } = scan;
    throw new RefusedRequestError({ message, param: member, code: 'invalid_json' });
  }
  const rawObject = (place: Place): string =>
    texts.get(place.object().path) ?? place.mustBe('an object');
  const t = { ...createTranslation(), traits, rawObject };
  return { native: new Place(t, JSON.parse(decodeUtf8(bytes))), t };
}

/** A shape that collects the text of call inputs and of schemas by their paths. */
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

/** Spells a path like {@link Place.path}. The names in `rawShape` need no quotes. */
function pathOf(path: readonly (string | number)[]): string {
  const [first, ...rest] = path;
  return rest.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`),
    String(first),
  );
}

/**
 * The cache point of a block or tool. Leaves it out with a note if the upstream does not read it.
 */
export function cacheMembers({ traits }: NativeTranslation, holder: Place): Cacheable {
  const place = holder.given('cache_control');
  if (place === undefined) return {};
  const control = fromCacheControl(place);
  if (traits.cacheControl === 'carried') return { cache_control: control };
  place.note('dropped', 'the upstream has no cache points');
  return {};
}
