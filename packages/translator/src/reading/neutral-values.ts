/** Values in chat requests that ask for the default. Leaving them out needs no note. */

/** For each member, the JSON of the values that ask for the default, separated by blanks. */
export const NEUTRAL_VALUES: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ['n', '1'],
  ['logprobs', 'false'],
  ['top_logprobs', '0'],
  ['logit_bias', '{}'],
  ['frequency_penalty', '0'],
  ['presence_penalty', '0'],
  ['verbosity', '"medium"'],
  ['metadata', '{}'],
  ['service_tier', '"auto" "default"'],
  ['store', 'false'],
  ['modalities', '["text"]'],
  ['include_obfuscation', 'false'],
  ['detail', '"auto"'],
]);

export function isNeutral(name: string, value: unknown): boolean | undefined {
  return NEUTRAL_VALUES.get(name)?.split(' ').includes(JSON.stringify(value));
}
