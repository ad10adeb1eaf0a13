import { objectOf, objectsOf } from '../../wire/raw-json.js';

export const NOT_STRICT = 'not strict: an object is open, or does not require all members';

/**
 * Whether the upstream takes a schema as a strict one: each of its objects is closed and requires
 * all of its members. A native schema may have optional members even if it is strict.
 * https://platform.openai.com/docs/guides/structured-outputs
 */
export function isStrictSchema(value: unknown): boolean {
  const schema = objectOf(value);
  const { type, items, properties, additionalProperties, required } = schema;
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (properties !== undefined || types.includes('object')) {
    const names = new Set<unknown>(Array.isArray(required) ? required : []);
    const isComplete = Object.keys(objectOf(properties)).every((name) => names.has(name));
    if (additionalProperties !== false || !isComplete) return false;
  }
  const named = ['properties', '$defs', 'definitions'].map((name) => objectOf(schema[name]));
  const listed = ['anyOf', 'oneOf', 'allOf'].map((name) => objectsOf(schema[name]));
  return [...named.flatMap((schemas) => Object.values(schemas)), ...listed.flat()]
    .concat(objectsOf([items]))
    .every(isStrictSchema);
}
