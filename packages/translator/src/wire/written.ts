import type { JsonText } from './raw-json.js';

/**
 * The type of a value after writing and reading it as JSON: no undefined members, and not readonly.
 */
export type Written<Value> = Value extends JsonText
  ? Record<string, unknown>
  : Value extends readonly (infer Item)[]
    ? Written<Item>[]
    : Value extends object
      ? { -readonly [Key in keyof Value]: Written<Exclude<Value[Key], undefined>> }
      : Value;
