/**
 * What the API refuses, in its own words: tools, thinking, effort, the place of system messages.
 */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '../src/index.js';
import type { UpstreamSimulator } from '../src/index.js';

let simulator: UpstreamSimulator;
beforeAll(async () => {
  simulator = await startUpstreamSimulator();
});
afterAll(() => simulator.close());

const user = { role: 'user', content: 'Hi' };
const assistant = { role: 'assistant', content: 'Hello.' };
const system = { role: 'system', content: 'Be brief.' };
const tool = { name: 'f', input_schema: { type: 'object' } };
const forced = { tools: [tool], tool_choice: { type: 'any' } };
const open = { type: 'object', properties: {} };

function strictTools(count: number) {
  const input_schema = { ...open, additionalProperties: false };
  return Array.from({ length: count }, (_, at) => ({ name: `f${at}`, strict: true, input_schema }));
}

async function post(request: object, others: Readonly<Record<string, string>> = {}) {
  const headers = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...others };
  const body = JSON.stringify({ max_tokens: 100, messages: [user], ...request });
  const response = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', headers, body });
  const { error, content, usage } = await response.json();
  return { error: error?.message as string | undefined, content, usage };
}

const ADAPTIVE = { thinking: { type: 'adaptive' } };
const DISABLED = { thinking: { type: 'disabled' } };
const BETWEEN_TOOLS = { thinking: { type: 'between_tools' } };
const budget = (budget_tokens: unknown, max_tokens = 2_000) => ({
  thinking: { type: 'enabled', budget_tokens },
  max_tokens,
});
const effort = (level: string | null) => ({ output_config: { effort: level } });
const CONTROL =
  'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.';
const unsupported = (kind: string) => `"thinking.type.${kind}" is not supported for this model.`;

it.each([
  ['claude-opus-4-6', ADAPTIVE, undefined],
  ['claude-opus-4-5', ADAPTIVE, 'adaptive thinking is not supported on this model'],
  [
    'claude-opus-4-6',
    { ...ADAPTIVE, ...forced },
    'Thinking may not be enabled when tool_choice forces tool use.',
  ],
  ['claude-opus-4-6', { ...ADAPTIVE, temperature: 0.5 }, '`temperature` may only be set to 1'],
  ['claude-opus-4-8', { messages: [user, assistant, user, system] }, undefined],
  ['claude-opus-4-8', { messages: [user, system, assistant, user] }, undefined],
  ['claude-opus-4-8', { messages: [user, assistant, system, user] }, 'must follow a user message'],
  ['claude-opus-4-8', { messages: [user, system, user] }, 'must follow a user message'],
  ['claude-opus-4-7', { messages: [user, system] }, 'not supported on this model'],
  [
    'claude-opus-4-8',
    { tools: [{ name: 'f', input_schema: { type: 'object', anyOf: [open] } }] },
    'input_schema does not support oneOf, allOf, or anyOf at the top level',
  ],
  [
    'claude-opus-4-8',
    { tools: [{ name: 'f', strict: true, input_schema: open }] },
    "'additionalProperties' must be explicitly set to false",
  ],
  ['claude-opus-4-8', { tools: strictTools(20) }, undefined],
  [
    'claude-opus-4-8',
    { tools: strictTools(21) },
    'Too many strict tools (21). The maximum number of strict tools supported is 20.',
  ],
])(
  'a request for %s with %j is answered as by the API (error: %s)',
  async (model, request, problem) => {
    const { error } = await post({ model, ...request });
    if (problem === undefined) expect(error).toBeUndefined();
    else expect(error).toContain(problem);
  },
);

describe.each([
  ['claude-fable-5-2', { adaptive: true, disabled: false, budget: false, between: false }],
  ['claude-opus-5-5', { adaptive: true, disabled: false, budget: false, between: false }],
  ['claude-haiku-5-5', { adaptive: true, disabled: true, budget: false, between: false }],
  ['claude-sonnet-5-5', { adaptive: true, disabled: false, budget: false, between: true }],
  ['claude-opus-5', { adaptive: true, disabled: true, budget: false, between: false }],
  ['claude-opus-4-8', { adaptive: true, disabled: true, budget: false, between: false }],
  ['claude-opus-4-6', { adaptive: true, disabled: true, budget: true, between: false }],
  ['claude-sonnet-4-5', { adaptive: false, disabled: true, budget: true, between: false }],
])('%s', (model, accepts) => {
  it('accepts the kinds of thinking that it has', async () => {
    const kinds = { adaptive: ADAPTIVE, disabled: DISABLED, budget: budget(1_024) };
    for (const [kind, request] of Object.entries({ ...kinds, between: BETWEEN_TOOLS })) {
      const { error } = await post({ model, ...request });
      expect([kind, error === undefined]).toEqual([kind, accepts[kind as keyof typeof accepts]]);
    }
  });
});

const INTERLEAVED = { 'anthropic-beta': 'interleaved-thinking-2025-05-14' };
const CONTROLS = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
const binding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };

it.each<[string, object, string | undefined, Record<string, string>?]>([
  ['claude-opus-5-5', DISABLED, `${unsupported('disabled')} ${CONTROL}`],
  ['claude-opus-5-5', budget(1_024), `${unsupported('enabled')} ${CONTROL}`],
  ['claude-opus-5', BETWEEN_TOOLS, unsupported('between_tools')],
  [
    'claude-sonnet-5-5',
    DISABLED,
    `${unsupported('disabled')} Use "thinking.type.between_tools" for the lowest thinking setting, or ${CONTROL.replace('Use ', '')}`,
  ],
  [
    'claude-opus-5',
    { thinking: { type: 'often' } },
    "thinking: Input tag 'often' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'",
  ],
  [
    'claude-sonnet-5-5',
    { thinking: { type: 'between_tools', display: 'omitted' } },
    'thinking.between_tools.display: Extra inputs are not permitted',
  ],
  ['claude-fable-5-2', { thinking: { type: 'adaptive', ...binding } }, undefined, CONTROLS],
  [
    'claude-fable-5-2',
    { thinking: { type: 'adaptive', ...binding } },
    'thinking.adaptive.block_binding: Extra inputs are not permitted',
  ],
  [
    'claude-haiku-5-5',
    { thinking: { type: 'disabled', ...binding } },
    'thinking.disabled.block_binding: Extra inputs are not permitted',
    CONTROLS,
  ],
  [
    'claude-sonnet-4-5',
    budget(1_023),
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ],
  [
    'claude-sonnet-4-5',
    budget('many'),
    'thinking.enabled.budget_tokens: Input should be a valid integer',
  ],
  ['claude-sonnet-4-5', budget(undefined), 'thinking.enabled.budget_tokens: Field required'],
  [
    'claude-sonnet-4-5',
    budget(2_000, 2_000),
    '`max_tokens` must be greater than `thinking.budget_tokens`.',
  ],
  ['claude-sonnet-4-5', budget(2_000, 2_000), undefined, INTERLEAVED],
  ['claude-sonnet-4-5', effort('low'), 'This model does not support the effort parameter.'],
  ['claude-sonnet-4-5', effort(null), undefined],
  [
    'claude-opus-4-6',
    effort('xhigh'),
    "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
  ],
  [
    'claude-opus-5',
    effort('most'),
    "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
  ],
  ['claude-opus-5', { ...DISABLED, ...effort('high') }, undefined],
  [
    'claude-opus-5',
    { ...DISABLED, ...effort('xhigh') },
    "output_config.effort 'xhigh' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
  ],
  [
    'claude-sonnet-5-5',
    { ...BETWEEN_TOOLS, ...effort('max') },
    "output_config.effort 'max' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.",
  ],
  ['claude-opus-4-8', { ...DISABLED, ...effort('max') }, undefined],
])('%s answers %j with the error %j', async (model, request, problem, ...[headers]) => {
  const { error } = await post({ model, ...request }, headers);
  expect(error).toBe(problem);
});

const NEWEST = { 'anthropic-version': '2026-10-21' };
const text = { type: 'text', text: 'Hi' };
const source = { type: 'text', media_type: 'text/plain', data: 'a' };
const document = { type: 'document', source };
const said = (role: string, ...content: object[]) => ({
  messages: [...(role === 'assistant' ? [user] : []), { role, content }, user],
});

it.each<[string, object, string | undefined]>([
  [
    'temperature',
    { model: 'claude-sonnet-4-6', temperature: 0.5 },
    'temperature: Extra inputs are not permitted',
  ],
  [
    'a document of the assistant',
    said('assistant', text, document),
    "messages.1.content.1: Input tag 'document' found using 'type' is not permitted in messages of role 'assistant'",
  ],
  ['a document of the user', said('user', document), undefined],
  [
    'citations in a text of the user',
    said('user', { ...text, citations: [] }),
    'messages.0.content.0.text.citations: Extra inputs are not permitted',
  ],
  ['no citations in a text of the user', said('user', { ...text, citations: null }), undefined],
  ['citations of the assistant', said('assistant', { ...text, citations: [] }), undefined],
])('only API version 2026-10-21 refuses %s, or none does', async (_what, request, problem) => {
  const body = { model: 'claude-opus-5', ...request };
  expect((await post(body, NEWEST)).error).toBe(problem);
  expect((await post(body)).error).toBeUndefined();
});

it.each([
  ['claude-opus-5-5', true],
  ['claude-sonnet-5-5', true],
  ['claude-haiku-5-5', false],
  ['claude-opus-5', false],
])('the tool computer_20251124 of %s is refused: %j', async (model, isRefused) => {
  const screen = { display_width_px: 800, display_height_px: 600 };
  const tools = [{ type: 'computer_20251124', name: 'computer', ...screen }];
  const { error } = await post({ model, tools });
  const refusal = `'${model}' does not support tool types: computer_20251124. Did you mean one of `;
  if (isRefused) expect(error).toContain(refusal);
  else expect(error).toBeUndefined();
});

it('a tool of an unknown type is refused', async () => {
  const tools = [tool, { type: 'hologram_20261124', name: 'h' }];
  const { error } = await post({ model: 'claude-opus-5', tools });
  expect(error).toContain(
    "tools.1: Input tag 'hologram_20261124' found using 'type' does not match",
  );
});

it.each<[string, string | undefined]>([
  ['interleaved-thinking-2025-05-14', undefined],
  ['claude-code-20250219, oauth-2025-04-20', undefined],
  ['one-2025-01-01,effort-2025-11-24 , two-2025-01-01', '`one-2025-01-01`, `two-2025-01-01`'],
  ['', '``'],
])('the betas %j are refused for their unknown values: %s', async (betas, unknown) => {
  // The header is checked first.
  const request = unknown === undefined ? { model: 'claude-opus-5' } : { model: 1 };
  const { error } = await post(request, { 'anthropic-beta': betas });
  if (unknown === undefined) expect(error).toBeUndefined();
  else expect(error).toContain(`Unexpected value(s) ${unknown} for the \`anthropic-beta\` header.`);
});

it('`safeguards` is known with its beta only', async () => {
  const request = { model: 'claude-opus-5', safeguards: [{ type: 'dangerous_tool_use' }] };
  expect((await post(request)).error).toBe('safeguards: Extra inputs are not permitted');
  const headers = { 'anthropic-beta': 'dangerous-tool-use-2026-09-03' };
  expect((await post(request, headers)).error).toBeUndefined();
});

it('a refusal before any output counts one token of output, and one after it all', async () => {
  const usageOf = async (scenario: string) => {
    simulator.script({ scenario });
    return (await post({ model: 'claude-opus-5' })).usage;
  };
  const none = { output_tokens: 1, output_tokens_details: { thinking_tokens: 0 } };
  expect(await usageOf('refusal')).toMatchObject(none);
  expect((await usageOf('refusal_after_text')).output_tokens).toBeGreaterThan(1);
});

it('a call that is forced is made after a result too, of a tool that was not called yet', async () => {
  const called = {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }],
  };
  const result = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 't', content: '1' }],
  };
  const request = { model: 'claude-sonnet-4-6', tools: [tool], messages: [user, called, result] };
  expect((await post({ ...request, ...forced })).content).toMatchObject([
    { type: 'text' },
    { type: 'tool_use', name: 'f' },
  ]);
  const tools = [tool, { ...tool, name: 'g' }];
  expect((await post({ ...request, ...forced, tools })).content).toMatchObject([
    { type: 'text' },
    { type: 'tool_use', name: 'g' },
  ]);
  expect((await post(request)).content).toMatchObject([{ text: 'The tool said: 1' }]);
});

it('the simulator searches the web if the tool is offered and the user asks for it', async () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const messages = [{ role: 'user', content: 'Search for Bern' }];
  const { content, usage } = await post({ model: 'claude-opus-4-8', tools, messages });
  expect(content).toMatchObject([
    { type: 'server_tool_use' },
    { type: 'web_search_tool_result' },
    { type: 'text', citations: [{ type: 'web_search_result_location' }] },
    { type: 'text' },
  ]);
  expect(usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
  const unasked = await post({ model: 'claude-opus-4-8', tools });
  expect(unasked.content).toMatchObject([{ type: 'text' }]);
});

it('the simulator omits the text of thinking on request, and keeps its signature', async () => {
  const thinking = { type: 'adaptive', display: 'omitted' };
  const { content } = await post({ model: 'claude-opus-4-8', thinking });
  expect(content[0]).toEqual({
    type: 'thinking',
    thinking: '',
    signature: expect.stringMatching(/./),
  });
});

describe('a message of role system without content', () => {
  const change = (output_config: object) => ({
    model: 'claude-opus-4-8',
    messages: [user, { role: 'system', content: [], output_config }],
  });

  // F362: Claude Code changes the effort of a conversation after `/compact`.
  it('is accepted if it changes the effort, and refused if it says nothing', async () => {
    expect((await post(change({ effort: 'medium' }))).error).toBeUndefined();
    expect((await post(change({}))).error).toContain('must have non-empty content');
  });
});

// F363: what the API verifies on every model: signatures of thinking, and the format of an image.
describe('content that the API has verified', () => {
  const after = (block: object) => ({
    model: 'claude-opus-4-6',
    messages: [user, { role: 'assistant', content: [block, { type: 'text', text: 'a' }] }, user],
  });

  it('is a signature that the simulator made or was scripted to send', async () => {
    const forged = { type: 'thinking', thinking: 'a', signature: 'sim-abc-abc-abc' };
    expect((await post(after(forged))).error).toContain('Invalid `signature`');
    const scripted = { type: 'thinking', thinking: 'a', signature: 'c2NyaXB0ZWQ=' };
    simulator.script({ content: [scripted, { type: 'text', text: 'b' }] });
    await post({ model: 'claude-opus-4-6' });
    expect((await post(after(scripted))).error).toBeUndefined();
    const { content } = await post({ model: 'claude-opus-4-6', ...ADAPTIVE });
    expect((await post(after(content[0]))).error).toBeUndefined();
  });

  it.each([
    ['image/jpeg', 'appears to be a image/png image'],
    ['image/png', undefined],
  ])('is an image in its own format: a PNG as %s', async (media_type, problem) => {
    const source = { type: 'base64', media_type, data: 'iVBORw0KGgoAAAANSUhEUg==' };
    const content = [{ type: 'image', source }];
    const { error } = await post({
      model: 'claude-opus-4-6',
      messages: [{ role: 'user', content }],
    });
    if (problem === undefined) expect(error).toBeUndefined();
    else expect(error).toContain(problem);
  });
});

it('the simulator caches a shorter prefix on Sonnet 5.5', async () => {
  const system = [
    { type: 'text', text: 'word '.repeat(520), cache_control: { type: 'ephemeral' } },
  ];
  const written = async (model: string) =>
    ((await post({ model, system })).usage as { cache_creation_input_tokens: number })
      .cache_creation_input_tokens;
  expect(await written('claude-sonnet-5-5')).toBeGreaterThan(600);
  expect(await written('claude-opus-4-8')).toBe(0);
});
