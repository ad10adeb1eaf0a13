/** Each rule of the API by itself: a simulator can be told not to apply it. */

import { expect, it } from '@jest/globals';
import { RULE_NAMES, startUpstreamSimulator } from '../src/index.js';
import type { RuleName, UpstreamSimulatorOptions } from '../src/index.js';
import { send } from './format-requests.js';

interface Example {
  readonly headers?: Readonly<Record<string, string>>;
  readonly request: object;
}

async function answersOf(options: UpstreamSimulatorOptions, examples: readonly Example[]) {
  const simulator = await startUpstreamSimulator(options);
  const answers: (string | undefined)[] = [];
  for (const { request, headers = {} } of examples) {
    const response = await send(simulator, { ...valid, ...request }, { headers });
    answers.push((await response.json()).error?.message);
  }
  await simulator.close();
  return answers;
}

const user = { role: 'user', content: 'Hi' };
const valid = { model: 'claude-opus-5', max_tokens: 100, messages: [user] };
const OLDER = { model: 'claude-opus-4-6' };
const UNFORCED = { model: 'claude-opus-5-5' };
const NEWEST = { 'anthropic-version': '2026-10-21' };
const ADAPTIVE = { thinking: { type: 'adaptive' } };
const DISABLED = { thinking: { type: 'disabled' } };
const input_schema = { type: 'object', properties: {}, additionalProperties: false };
const tool = (name: string) => ({ name, input_schema });
const forced = { tools: [tool('f')], tool_choice: { type: 'any' } };
const screen = { display_width_px: 800, display_height_px: 600 };
const marked = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } };
const call = { type: 'tool_use', id: 't', name: 'f', input: {} };
const result = { type: 'tool_result', tool_use_id: 't', content: '1' };
const after = (...content: object[]) => ({ role: 'assistant', content });

/** A request for each rule that breaks this rule and no other. */
const EXAMPLES: Readonly<Record<RuleName, Example>> = {
  'known-betas': { request: {}, headers: { 'anthropic-beta': 'hologram-2026-11-24' } },
  'model-member': { request: { model: undefined } },
  'known-members': { request: { seed: 1 } },
  'max-tokens': { request: { max_tokens: -1 } },
  'sampling-members': { request: { ...OLDER, temperature: 0.5 }, headers: NEWEST },
  'thinking-members': { request: { thinking: { type: 'often' } } },
  'message-shape': { request: { messages: [{ role: 'tool', content: 'a' }, user] } },
  'block-places': {
    request: { messages: [user, after({ type: 'document', source: {} }), user] },
    headers: NEWEST,
  },
  'tool-types': { request: { tools: [{ type: 'hologram_20261124', name: 'h' }] } },
  'tool-definitions': { request: { tools: [tool('a name')] } },
  'known-model': { request: { model: 'claude-unheard-of' } },
  'model-sampling': { request: { temperature: 0.5 } },
  'sampling-range': { request: { ...OLDER, temperature: 2 } },
  'thinking-kind': { request: { ...UNFORCED, ...DISABLED } },
  'thinking-budget': { request: { ...OLDER, thinking: { type: 'enabled', budget_tokens: 1 } } },
  'thinking-tool-choice': { request: { ...OLDER, ...ADAPTIVE, ...forced } },
  'thinking-sampling': { request: { ...OLDER, ...ADAPTIVE, temperature: 0.5 } },
  effort: { request: { ...OLDER, output_config: { effort: 'xhigh' } } },
  'effort-without-thinking': { request: { ...DISABLED, output_config: { effort: 'max' } } },
  'model-tools': {
    request: { ...UNFORCED, tools: [{ type: 'computer_20251124', name: 'computer', ...screen }] },
  },
  'unique-tools': { request: { tools: [tool('f'), tool('f')] } },
  'strict-tools': {
    request: {
      tools: Array.from({ length: 21 }, (_, at) => ({ ...tool(`f${String(at)}`), strict: true })),
    },
  },
  'tool-choice': { request: { tools: [tool('f')], tool_choice: { type: 'tool', name: 'g' } } },
  'forced-tools': { request: { ...UNFORCED, ...forced } },
  'tool-results': { request: { messages: [user, after(call), user] } },
  blocks: { request: { messages: [{ role: 'user', content: ' ' }] } },
  'unique-calls': {
    request: { messages: [user, after(call, call), { role: 'user', content: [result] }] },
  },
  prefill: { request: { messages: [user, after({ type: 'text', text: 'a' })] } },
  'system-messages': { request: { messages: [user, { role: 'system', content: 'a' }, user] } },
  'bound-thinking': {
    request: {
      ...UNFORCED,
      messages: [user, after({ type: 'thinking', thinking: 'a', signature: 'forged' }), user],
    },
  },
  'cache-points': { request: { system: [marked, marked, marked, marked, marked] } },
  'output-format': { request: { output_config: { format: { type: 'json_object' } } } },
};

it.each(RULE_NAMES)(
  'a request that breaks the rule %s is refused, and accepted without it',
  async (rule) => {
    const examples = [EXAMPLES[rule]];
    expect(await answersOf({}, examples)).toEqual([expect.any(String)]);
    expect(await answersOf({ lenient: [rule] }, examples)).toEqual([undefined]);
    // Without the others, this rule still applies.
    const others = RULE_NAMES.filter((name) => name !== rule);
    expect(await answersOf({ lenient: others }, examples)).toEqual([expect.any(String)]);
  },
);

it('a simulator that is lenient about every rule answers a request that breaks many', async () => {
  const broken = { seed: 1, thinking: { type: 'no' }, messages: [{ role: 'x', content: [{}] }] };
  expect(await answersOf({ lenient: RULE_NAMES }, [{ request: broken }])).toEqual([undefined]);
});

it('a simulator is not started with a rule that does not exist', async () => {
  const lenient = ['blocks', 'blocs'] as RuleName[];
  await expect(startUpstreamSimulator({ lenient })).rejects.toThrow('no rule is called "blocs"');
});
