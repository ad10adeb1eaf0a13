/** What the API refuses, in its own words: tools, thinking, and the place of system messages. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
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

async function post(request: object) {
  const headers = { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' };
  const body = JSON.stringify({ max_tokens: 100, messages: [user], ...request });
  const response = await fetch(`${simulator.url}/v1/messages`, { method: 'POST', headers, body });
  const { error, content, usage } = await response.json();
  return { error: error?.message as string | undefined, content, usage };
}

const ADAPTIVE = { thinking: { type: 'adaptive' } };

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
