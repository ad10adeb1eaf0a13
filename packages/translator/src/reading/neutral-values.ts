/** What chat requests may say without asking for anything: no note is due when it is left out. */

/** By the member's name, the JSON of each value that asks for nothing beyond what happens anyway. */
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
