/**
 * Requests for models that bind thinking to what precedes it. That conversations survive as a whole
 * is shown by `preserved-thinking.test.ts` of the gateway, before an upstream that checks.
 */

import { describe, expect, it } from '@jest/globals';
import {
  cacheEveryRequest,
  translateRequest,
  translateResponse,
  optionsOf,
  translateMessage,
  translateResponsesRequest,
} from '../../src/index.js';

const OPTIONS = optionsOf('claude-opus-5-5')!;
const WITH_THINKING = { ...OPTIONS, reasoning: 'thinking_blocks' } as const;
const TOOLS = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }));
const SYSTEM = { role: 'system', content: 'Be brief.' };
const THOUGHT = { type: 'thinking', thinking: '', signature: 'sig' };
const HISTORY = [
  { role: 'user', content: 'one' },
  { role: 'assistant', content: 'two', thinking_blocks: [THOUGHT] },
  { role: 'user', content: 'three' },
];
const ONLY_NEXT = 'This applies to your next reply only.\n';

function chat(request: object, options: Parameters<typeof translateRequest>[1] = WITH_THINKING) {
  const result = translateRequest({ model: 'm', ...request }, options);
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  const body = JSON.parse(result.body) as Record<string, unknown> & { messages: unknown[] };
  return { ...result, body, notes: result.notes.map(({ path, detail }) => `${path} ${detail}`) };
}

describe('an instruction for a model that binds its thinking', () => {
  const messages = [SYSTEM, { role: 'user', content: 'Hi' }];

  it('is at the end, and all tools stay', () => {
    const { body, notes } = chat({
      messages,
      tools: TOOLS,
      tool_choice: { type: 'function', function: { name: 'a' } },
      response_format: { type: 'json_object' },
    });
    expect(body['system']).toEqual([{ type: 'text', text: 'Be brief.' }]);
    expect(body['tools']).toHaveLength(2);
    const [, last] = body.messages as [unknown, { role: string; content: { text: string }[] }];
    expect(last.role).toBe('system');
    expect(last.content).toHaveLength(1);
    expect(last.content[0]?.text).toMatch(
      /^This applies to your next reply only\.\nIn this reply you must call the tool a\.\n.*JSON/,
    );
    expect(notes).toEqual(['tool_choice the model is asked, not forced']);
  });

  it('asks not to call tools that are not allowed', () => {
    const allowed_tools = { mode: 'auto', tools: TOOLS.slice(0, 1) };
    const tool_choice = { type: 'allowed_tools', allowed_tools };
    const { body, notes } = chat({ messages, tools: TOOLS, tool_choice });
    expect(body['tools']).toHaveLength(2);
    const text = `${ONLY_NEXT}Call no other tools than a.`;
    expect(body.messages.at(-1)).toEqual({ role: 'system', content: [{ type: 'text', text }] });
    expect(notes).toEqual(['tool_choice the model is asked, not restricted']);
  });

  it('follows the cache point for the end of the request', () => {
    const response_format = { type: 'json_object' };
    const { body } = chat(
      { messages, response_format },
      { ...WITH_THINKING, cache: cacheEveryRequest },
    );
    expect(body).not.toHaveProperty('cache_control');
    expect(body.messages[0]).toEqual({
      role: 'user',
      content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }],
    });
    expect(body.messages).toHaveLength(2);
  });

  it('is in the system prompt if no thinking is returned', () => {
    const { body, response } = chat(
      { messages, response_format: { type: 'json_object' } },
      OPTIONS,
    );
    expect(body['system']).toHaveLength(2);
    expect(body.messages).toHaveLength(1);
    expect(response.additions).toBeUndefined();
  });
});

describe('what was added', () => {
  it('is carried by the first thinking block of a completion, and put back', () => {
    const first = chat({ messages: HISTORY.slice(0, 2), response_format: { type: 'json_object' } });
    const [, , added, instruction] = first.body.messages as { content: { text: string }[] }[];
    const answer = JSON.stringify({
      id: 'msg_1',
      content: [THOUGHT, { type: 'text', text: 'four' }, THOUGHT],
      stop_reason: 'end_turn',
    });
    const completion = translateResponse(answer, { ...first.response, created: 0 });
    if (completion.outcome !== 'translated') throw new Error(completion.reason);
    const { choices } = JSON.parse(completion.body) as { choices: { message: unknown }[] };
    expect(choices[0]?.message).toMatchObject({
      thinking_blocks: [
        { ...THOUGHT, added_user: 'Continue.', added_system: instruction?.content[0]?.text },
        THOUGHT,
      ],
    });
    const next = chat({ messages: [...HISTORY.slice(0, 2), choices[0]?.message, HISTORY[2]] });
    expect(next.body.messages.slice(2, 4)).toEqual([added, instruction]);
  });

  it('is carried by the first item of a response, and put back', () => {
    const request = { model: 'm', input: 'Hi', text: { format: { type: 'json_object' } } };
    const first = translateResponsesRequest(request, OPTIONS);
    if (first.outcome === 'refused') throw new Error(first.problem.message);
    const text = (said: string) => ({ type: 'text', text: said });
    const content = [THOUGHT, text('four'), THOUGHT, text('five')];
    const answer = translateMessage(JSON.stringify({ id: 'msg_1', content }), {
      ...first.response,
      created: 0,
    });
    if (answer.outcome !== 'translated') throw new Error(answer.reason);
    const { output } = JSON.parse(answer.body) as { output: unknown[] };
    const user = { role: 'user', content: 'Hi' };
    const next = translateResponsesRequest({ model: 'm', input: [user, ...output, user] }, OPTIONS);
    if (next.outcome === 'refused') throw new Error(next.problem.message);
    const sent = (body: string) => (JSON.parse(body) as { messages: unknown[] }).messages;
    expect(sent(next.body).slice(0, 2)).toEqual(sent(first.body));
    // Only the first item has something to put back: the answer stays one message.
    expect(sent(next.body)[2]).toEqual({ role: 'assistant', content });
  });
});

describe('thinking in the history', () => {
  it('comes with the order to leave out what no longer fits, and its beta', () => {
    const { body, betas } = chat({ messages: HISTORY }, OPTIONS);
    const block_binding = { prefix_mismatch_behavior: 'drop_block' };
    expect(body['thinking']).toEqual({ type: 'adaptive', block_binding });
    expect(betas).toEqual(['thinking-binding-controls-2026-08-01']);
  });

  it('needs no order without thinking, or on models that do not check', () => {
    expect(chat({ messages: HISTORY.slice(0, 1) }).betas).toEqual([]);
    const older = chat({ messages: HISTORY }, optionsOf('claude-opus-5'));
    expect(older.betas).toEqual([]);
    expect(older.body).not.toHaveProperty('thinking');
  });

  it('is left out with a note if a call is forced', () => {
    const { body, betas, notes } = chat(
      { messages: HISTORY, tools: TOOLS, tool_choice: 'required' },
      optionsOf('claude-haiku-5-5'),
    );
    expect(body['tool_choice']).toEqual({ type: 'any' });
    expect(JSON.stringify(body)).not.toContain('"thinking"');
    expect(betas).toEqual([]);
    expect(notes).toEqual(['messages no past thinking without thinking']);
  });
});
