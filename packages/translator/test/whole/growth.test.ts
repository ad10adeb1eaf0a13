/** The work of a translation is in proportion to the lists of its request. */

import { describe, expect, it } from '@jest/globals';
import {
  cacheConversations,
  nativeSchemas,
  translateRequest,
  translateResponsesRequest,
  webSearch,
  type ModelTraits,
} from '../../src/index.js';
import { countingReads } from '../counting-reads.js';

const SMALL = 60;
const GROWTH = 4;

/** Offers all tools, and asks for what it cannot demand: the most work. */
const BOUND: ModelTraits = {
  sampling: 'refused',
  forcedToolChoice: 'refused',
  effort: ['low', 'high'],
  thinkingOff: 'never',
  thinkingOn: 'default',
  systemMessages: 'anywhere',
  structuredOutputs: 'accepted',
  bindsThinking: true,
};
const CLASSIC: ModelTraits = {
  sampling: 'accepted',
  forcedToolChoice: 'accepted',
  effort: [],
  thinkingOff: 'omit',
};
const OPTIONS = {
  model: 'claude-test',
  maxOutputTokens: 8192,
  cache: cacheConversations,
  webSearch: webSearch(),
};

type Build = (count: number) => object;

const HI = { role: 'user', content: 'Hi' };
const named = (index: number) => `f${index}`;
const fn = (index: number) => ({ name: named(index), parameters: { type: 'object' } });
const THOUGHT = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
const PARTS: Build = (n) => list(n, () => ({ type: 'text', text: 'a' }));

/** Every list of a chat request that the translation reads, each of `n` items. */
const CHAT: Readonly<Record<string, Build>> = {
  messages: (n) => ({ messages: list(n, (i) => ({ role: ROLES[i % 3], content: 'a' })) }),
  'messages, all of the system': (n) => ({
    messages: [...list(n, () => ({ role: 'system', content: 'a' })), HI],
  }),
  'messages[].content': (n) => ({ messages: [{ role: 'user', content: PARTS(n) }] }),
  'messages[].content of results': (n) => ({
    messages: calls(n, (ids) => [
      {
        role: 'user',
        content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'a' })),
      },
    ]),
  }),
  'messages[].tool_calls': (n) => ({
    messages: calls(n, (ids) =>
      ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'a' })),
    ),
  }),
  'messages[].tool_calls with one id': (n) => ({
    messages: calls(
      n,
      (ids) => ids.map((id) => ({ role: 'tool', tool_call_id: id, content: 'a' })),
      () => 'call_0',
    ),
  }),
  'messages[].thinking_blocks': (n) => ({
    messages: [HI, { role: 'assistant', content: 'a', thinking_blocks: list(n, () => THOUGHT) }],
  }),
  'messages[].reasoning_details': (n) => ({
    messages: [
      HI,
      {
        role: 'assistant',
        content: 'a',
        reasoning_details: list(n, () => ({ type: 'reasoning.text', text: 'a', signature: 'b' })),
      },
    ],
  }),
  tools: (n) => ({ messages: [HI], tools: chatTools(n) }),
  'tools of types without equivalent': (n) => ({
    messages: [HI],
    tools: [...chatTools(1), ...list(n, (i) => ({ type: `other_${i}` }))],
  }),
  functions: (n) => ({ messages: [HI], functions: list(n, fn) }),
  'tool_choice.allowed_tools.tools': (n) => ({
    messages: [HI],
    tools: chatTools(n + 1),
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: chatTools(n) } },
  }),
  stop: (n) => ({ messages: [HI], stop: list(n, named) }),
};

const ROLES = ['system', 'user', 'assistant'];

/** Every list of a request of the Responses API that the translation reads. */
const RESPONSES: Readonly<Record<string, Build>> = {
  input: (n) => ({ input: list(n, (i) => ({ role: ROLES[i % 3], content: 'a' })) }),
  'input of calls': (n) => ({
    input: [
      HI,
      ...list(n, (i) => ({ type: 'function_call', call_id: `c${i}`, name: 'f0', arguments: '{}' })),
      ...list(n, (i) => ({ type: 'function_call_output', call_id: `c${i}`, output: 'a' })),
    ],
  }),
  'input of searches': (n) => ({
    tools: [{ type: 'web_search' }],
    input: [
      HI,
      ...list(n, (i) => [
        { type: 'web_search_call', id: `ws_${i}`, status: 'completed' },
        {
          type: 'reasoning',
          summary: [],
          encrypted_content: JSON.stringify({ type: 'thinking', thinking: '', signature: 's' }),
        },
      ]).flat(),
    ],
  }),
  'input of references': (n) => ({
    input: list(n, () => ({ type: 'item_reference', id: 'msg_1_0' })),
  }),
  'input[].content': (n) => ({ input: [{ role: 'user', content: PARTS(n) }] }),
  'input[].output': (n) => ({
    input: [
      HI,
      { type: 'function_call', call_id: 'c', name: 'f0', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: PARTS(n) },
    ],
  }),
  'input[].action.commands': (n) => ({
    input: [
      HI,
      { type: 'shell_call', call_id: 'c', action: { commands: list(n, named) } },
      { type: 'shell_call_output', call_id: 'c', output: list(n, () => ({ stdout: 'a' })) },
    ],
  }),
  'input[].tools': (n) => ({
    input: [{ type: 'additional_tools', tools: responsesTools(n) }, HI],
  }),
  'input[].tools that were found': (n) => ({
    tools: responsesTools(1),
    input: [
      HI,
      { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: {} },
      { type: 'tool_search_output', call_id: 'c', execution: 'client', tools: responsesTools(n) },
    ],
  }),
  tools: (n) => ({ input: 'Hi', tools: responsesTools(n) }),
  'tools of types without equivalent': (n) => ({
    input: 'Hi',
    tools: [...responsesTools(1), ...list(n, (i) => ({ type: `other_${i}` }))],
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [...responsesTools(1), ...list(n, (i) => ({ type: `other_${i}` }))],
    },
  }),
  'tools[].tools': (n) => ({
    input: 'Hi',
    tools: [{ type: 'namespace', name: 'n', tools: responsesTools(n) }],
  }),
  'tools[].environment.skills': (n) => ({
    input: 'Hi',
    tools: [
      {
        type: 'shell',
        environment: {
          type: 'local',
          skills: list(n, (i) => ({ name: named(i), path: 'p', description: 'd' })),
        },
      },
    ],
  }),
  'tools[].filters.allowed_domains': (n) => ({
    input: 'Hi',
    tools: [{ type: 'web_search', filters: { allowed_domains: list(n, named) } }],
  }),
  'tool_choice.tools': (n) => ({
    input: 'Hi',
    tools: responsesTools(n + 1),
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: responsesTools(n) },
  }),
  include: (n) => ({ input: 'Hi', include: list(n, named) }),
};

function list<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function chatTools(count: number) {
  return list(count, (index) => ({ type: 'function', function: fn(index) }));
}

function responsesTools(count: number) {
  return list(count, (index) => ({ type: 'function', ...fn(index) }));
}

function calls(
  count: number,
  results: (ids: readonly string[]) => readonly object[],
  idOf = (index: number) => `call_${index}`,
): object[] {
  const ids = list(count, idOf);
  const tool_calls = ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'f0', arguments: '{}' },
  }));
  return [HI, { role: 'assistant', content: null, tool_calls }, ...results(ids)];
}

// F413: a body of some megabytes consists of one long list, such as the tools that may be called:
// the work of its translation is in proportion to the length of the list.
describe.each(Object.entries({ bound: BOUND, classic: CLASSIC }))('on a %s model', (_, traits) => {
  it.each(Object.entries(CHAT))('a chat costs in proportion to its list %s', (_, build) => {
    const options = { ...OPTIONS, traits, jsonSchema: nativeSchemas };
    expectLinear((count) => {
      const request = { model: 'm', ...build(count) };
      return () => translateRequest(request, options);
    });
  });

  it.each(Object.entries(RESPONSES))(
    'a response costs in proportion to its list %s',
    (_, build) => {
      const stored = { items: new Map([['msg_1_0', HI]]) };
      expectLinear((count) => {
        const request = { model: 'm', ...build(count) };
        return () => translateResponsesRequest(request, { ...OPTIONS, traits, stored });
      });
    },
  );
});

/** Four lengths cost four times as much. Work on pairs of items would cost 16 times as much. */
function expectLinear(prepare: (count: number) => () => { readonly outcome: string }): void {
  const costOf = (count: number): number => {
    const translate = prepare(count);
    const { result, reads } = countingReads(translate);
    // A refusal would hide the work that comes after it.
    expect(result).toMatchObject({ outcome: 'translated' });
    return reads;
  };
  expect(costOf(SMALL * GROWTH)).toBeLessThan(costOf(SMALL) * (GROWTH + 1));
}
