import { isJsonObject, type JsonObject, objectOf, stringOf } from '../wire/raw-json.js';

/** The object in `$defs` or `definitions` that a reference names. */
export function definition(root: JsonObject, reference: unknown): JsonObject | undefined {
  const [, list = '', name = ''] =
    /^#\/(\$defs|definitions)\/([^/]+)$/.exec(stringOf(reference)) ?? [];
  const definitions = objectOf(root[list]);
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
  const target = Object.hasOwn(definitions, key) ? definitions[key] : undefined;
  return isJsonObject(target) ? target : undefined;
}
