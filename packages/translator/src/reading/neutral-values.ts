/** Values in requests that ask for what happens anyway. They are left out without a note. */

/** For each member, the JSON of the value that asks for what happens anyway. */
export const NEUTRAL_VALUES: Readonly<Record<string, string>> = {
  n: '1',
  logprobs: 'false',
  top_logprobs: '0',
  logit_bias: '{}',
  frequency_penalty: '0',
  presence_penalty: '0',
  verbosity: '"medium"',
  metadata: '{}',
  store: 'false',
  modalities: '["text"]',
  include_obfuscation: 'false',
  detail: '"auto"',
  truncation: '"disabled"',
  defer_loading: 'false',
};

export function isNeutral(name: string, value: unknown): boolean {
  return Object.hasOwn(NEUTRAL_VALUES, name) && NEUTRAL_VALUES[name] === JSON.stringify(value);
}
