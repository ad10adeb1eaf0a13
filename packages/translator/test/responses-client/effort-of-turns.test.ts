/** The effort of single turns of a conversation of the Responses API. */

import { describe, expect, it } from '@jest/globals';
import {
  cacheEveryRequest,
  optionsOf,
  translateMessage,
  translateResponsesRequest,
} from '../../src/index.js';

const BETA = 'mid-conversation-output-config-2026-07-01';
const BOUND = 'claude-opus-5-5';
const THOUGHT = { type: 'thinking', thinking: '', signature: 'c2ln' };
const user = (content: string) => ({ role: 'user', content });

interface Message {
  readonly role: string;
  readonly content: readonly object[];
  readonly output_config?: object;
}

function sent(request: object, model = BOUND) {
  const options = { ...optionsOf(model)!, cache: cacheEveryRequest };
  const made = translateResponsesRequest({ model: 'm', ...request }, options);
  if (made.outcome === 'refused') throw new Error(made.problem.message);
  const body = JSON.parse(made.body) as { messages: readonly Message[]; output_config?: object };
  const notes = made.notes.map(({ path, reason }) => `${path} ${reason}`);
  return { ...made, ...body, notes };
}

/** The messages without cache points. */
const withoutPoints = (messages: readonly Message[]): unknown =>
  JSON.parse(
    JSON.stringify(messages, (name, value: unknown) =>
      name === 'cache_control' ? undefined : value,
    ),
  );

function outputOf({ response }: ReturnType<typeof sent>, text: string): readonly object[] {
  const content = [THOUGHT, { type: 'text', text }];
  const native = JSON.stringify({ id: 'msg_1', content, stop_reason: 'end_turn' });
  const answer = translateMessage(native, { ...response, created: 1 });
  if (answer.outcome === 'malformed') throw new Error(answer.reason);
  return (JSON.parse(answer.body) as { readonly output: readonly object[] }).output;
}

const update = (effort: string | null) => ({ type: 'configuration_update', reasoning: { effort } });

// F415: the effort changes within a conversation: the beginning that the provider has cached stays
// as it was, and the request is not refused.
describe('an effort that changes from one request to the next', () => {
  it('is in a message of its turn, in each later request, too', () => {
    const input: object[] = [user('one')];
    const efforts = ['high', 'low', 'low', 'high', 'medium'];
    let before: readonly Message[] = [];
    for (const [turn, effort] of efforts.entries()) {
      const request = sent({ input, reasoning: { effort } });
      expect(request.output_config).toEqual({ effort: 'high' });
      expect(request.response.settings.reasoning.effort).toBe(effort);
      const last = request.messages.at(-1);
      expect(last?.output_config).toEqual(effort === 'high' ? undefined : { effort });
      expect(request.betas.includes(BETA)).toBe(turn > 0);
      const messages = withoutPoints(request.messages) as Message[];
      expect(messages.slice(0, before.length)).toEqual(before);
      before = messages;
      input.push(...outputOf(request, `answer ${turn}`), user(`turn ${turn}`));
    }
  });

  it('changes the request of a model without efforts of turns', () => {
    const model = 'claude-opus-4-6';
    const first = sent({ input: [user('one')], reasoning: { effort: 'high' } }, model);
    const input = [user('one'), ...outputOf(first, 'a'), user('two')];
    const next = sent({ input, reasoning: { effort: 'low' } }, model);
    expect(next.output_config).toEqual({ effort: 'low' });
    expect(next.betas).not.toContain(BETA);
  });

  it('is an effort of the model, whatever a client writes into the blocks', () => {
    const sealed = JSON.stringify({ ...THOUGHT, first_effort: 'most', added_effort: '{"a":1}' });
    const item = { type: 'reasoning', summary: [], encrypted_content: sealed };
    const said = { role: 'assistant', content: 'a' };
    const next = sent({
      input: [user('one'), item, said, user('two')],
      reasoning: { effort: 'low' },
    });
    expect(next.output_config).toEqual({ effort: 'low' });
    expect(next.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });
});

// F415
describe('an item that sets the effort', () => {
  const said = { role: 'assistant', content: 'a' };

  it('applies to all turns after it, until the next such item', () => {
    const first = [user('one'), said, update('low'), user('two')];
    const [one, two] = [
      sent({ input: first, reasoning: { effort: 'high' } }),
      sent({
        input: [...first, said, user('three'), said, update('high'), user('four')],
        reasoning: { effort: 'high' },
      }),
    ];
    expect(one.messages.at(-1)).toEqual({
      role: 'system',
      content: [],
      output_config: { effort: 'low' },
    });
    expect(one.betas).toContain(BETA);
    expect(one.notes).toEqual([]);
    const messages = withoutPoints(two.messages) as Message[];
    expect(messages.slice(0, one.messages.length)).toEqual(withoutPoints(one.messages));
    expect(messages.map(({ role, output_config: set }) => (set ? set : role))).toEqual([
      'user',
      'assistant',
      'user',
      { effort: 'low' },
      'assistant',
      'user',
      { effort: 'low' },
      'assistant',
      'user',
    ]);
  });

  it('is sent with a cache point before the answer', () => {
    const input = [user('one'), said, update('low'), user('two'), said, user('three')];
    const { messages } = sent({ input, reasoning: { effort: 'high' } });
    expect(messages[2]?.content.at(-1)).toHaveProperty('cache_control');
  });

  it('applies to the whole request on other models', () => {
    const input = [user('one'), said, update('low'), user('two')];
    const next = sent({ input, reasoning: { effort: 'high' } }, 'claude-opus-4-6');
    expect(next.output_config).toEqual({ effort: 'low' });
    expect(next.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(next.notes).toEqual(['input[2].reasoning.effort rewritten', 'reasoning.effort ignored']);
  });

  it('sets nothing but an effort', () => {
    const format = { format: { type: 'text' } };
    const input = [user('one'), { ...update(null), text: format }, user('two')];
    const next = sent({ input });
    expect(next.messages.map(({ role }) => role)).toEqual(['user']);
    expect(next.notes).toEqual(['input[1].text ignored']);
  });
});
