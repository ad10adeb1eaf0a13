/** Requests that refer to a response which the caller keeps. */

import { describe, expect, it } from '@jest/globals';
import {
  createResponseStream,
  responseId,
  responseIdOfItem,
  translateMessage,
  translateResponsesRequest,
  translateTokenCountRequest,
  type ModelTraits,
  type StoredResponses,
} from '../../src/index.js';
import { vectorsIn } from '../vector-files.js';

const TRAITS: ModelTraits = {
  sampling: 'refused',
  forcedToolChoice: 'refused',
  effort: ['low', 'high'],
  thinkingOff: 'never',
  thinkingOn: 'default',
  systemMessages: 'anywhere',
  structuredOutputs: 'accepted',
  bindsThinking: true,
};
const OPTIONS = { model: 'claude-test', traits: TRAITS, maxOutputTokens: 8192 };
const NOTHING: StoredResponses = { items: new Map() };

interface Item {
  readonly id: string;
  readonly type: string;
}

function translated(request: object, stored?: StoredResponses) {
  const result = translateResponsesRequest({ model: 'm', ...request }, { ...OPTIONS, stored });
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  return result;
}

function refused(request: object, stored?: StoredResponses) {
  const result = translateResponsesRequest({ model: 'm', ...request }, { ...OPTIONS, stored });
  if (result.outcome === 'translated') throw new Error('was translated');
  return result.problem;
}

/** The items of an answer with thinking, text and a call. */
const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
const FIRST = { input: 'Where is it?', instructions: 'Be brief.', tools: TOOLS };
const MESSAGE = JSON.stringify({
  id: 'msg_01Ab_c',
  content: [
    { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
    { type: 'text', text: 'Let me look.' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1.0 } },
  ],
  stop_reason: 'tool_use',
  usage: { input_tokens: 1, output_tokens: 2 },
});

function answerTo(request: ReturnType<typeof translated>) {
  const answer = translateMessage(MESSAGE, { ...request.response, created: 1 });
  if (answer.outcome === 'malformed') throw new Error(answer.reason);
  return JSON.parse(answer.body) as { readonly id: string; readonly output: readonly Item[] };
}

const first = translated(FIRST, NOTHING);
const { id, output } = answerTo(first);
const previous = [...(first.conversation ?? []), ...output];
const outcome = { type: 'function_call_output', call_id: 'toolu_1', output: 'Here.' };

describe('a request that continues a kept response', () => {
  it('becomes the same as one that sends the whole conversation', () => {
    const continued = translated(
      { ...FIRST, previous_response_id: id, input: [outcome] },
      { ...NOTHING, previous },
    );
    const whole = translated({
      ...FIRST,
      input: [{ role: 'user', content: FIRST.input }, ...output, outcome],
    });
    expect(continued.body).toBe(whole.body);
    expect(continued.betas).toEqual(whole.betas);
    expect(continued.notes).toEqual(whole.notes);
    expect(JSON.stringify(JSON.parse(continued.body))).toContain('"signature":"c2ln"');
    expect(continued.response.settings).toMatchObject({ previous_response_id: id, store: true });
    expect(continued.conversation).toEqual([...previous, outcome]);
  });

  it('has its own instructions only, and takes a text as input', () => {
    const asked = translated({ input: 'Hello' }, NOTHING);
    const continued = translated(
      { previous_response_id: id, input: 'Go on', instructions: 'Shout.' },
      { ...NOTHING, previous: asked.conversation },
    );
    expect(JSON.parse(continued.body)).toMatchObject({
      system: [{ text: 'Shout.' }],
      messages: [{ content: [{ text: 'Hello' }, { text: 'Go on' }] }],
    });
  });

  it('counts the tokens of the whole conversation', () => {
    const request = { model: 'm', tools: TOOLS, previous_response_id: id, input: [outcome] };
    const stored = { ...NOTHING, previous };
    const count = translateTokenCountRequest(request, { ...OPTIONS, stored });
    if (count.outcome === 'refused') throw new Error(count.problem.message);
    const { messages } = JSON.parse(translated(request, stored).body) as { messages: unknown };
    expect(JSON.parse(count.body)).toMatchObject({ messages });
  });

  it('names the kept item in a refusal', () => {
    const problem = refused(
      { previous_response_id: id, input: 'What about it?', tools: TOOLS },
      { ...NOTHING, previous },
    );
    expect(problem).toMatchObject({
      param: 'previous_response_id[3]',
      message: expect.stringContaining('must be followed by an output'),
    });
  });

  it.each([
    ['is not kept', 'resp_other', NOTHING, 'previous_response_not_found'],
    ['is not text', 7, { ...NOTHING, previous }, 'invalid_type'],
    ['is given although nothing is kept', 'resp_other', undefined, 'unsupported_value'],
  ])('is refused if the id %s', (_what, given, stored, code) => {
    expect(refused({ previous_response_id: given, input: 'Hi' }, stored)).toMatchObject({
      param: 'previous_response_id',
      code,
    });
  });
});

describe('a reference to an item', () => {
  const items = new Map<string, unknown>(output.map((item) => [item.id, item]));
  const references = output.map((item) => ({ type: 'item_reference', id: item.id }));
  const user = { role: 'user', content: FIRST.input };

  it('stands for the item', () => {
    const referring = translated({ ...FIRST, input: [user, ...references, outcome] }, { items });
    const whole = translated({ ...FIRST, input: [user, ...output, outcome] });
    expect(referring.body).toBe(whole.body);
    expect(referring.conversation).toEqual([user, ...output, outcome]);
  });

  // F326: a reference that has an id and no type, which the type of OpenAI's SDK allows: it stands
  // for the item.
  it('needs no type', () => {
    for (const type of [undefined, null]) {
      const bare = output.map((item) => ({ id: item.id, type }));
      const referring = translated({ ...FIRST, input: [user, ...bare, outcome] }, { items });
      expect(referring.conversation).toEqual([user, ...output, outcome]);
    }
  });

  it.each([
    ['is not kept', { id: 'msg_none_0' }, { items }, 'input[1].id', 'invalid_value'],
    ['has no id', {}, { items }, 'input[1].id', 'missing_required_parameter'],
    ['is sent although nothing is kept', references[0]!, undefined, 'input[1].type', undefined],
  ])('is refused if the item %s', (_what, reference, stored, param, code = 'unsupported_value') => {
    const input = [user, { ...reference, type: 'item_reference' }];
    expect(refused({ input }, stored)).toMatchObject({ param, code });
  });
});

describe('the member store', () => {
  it('is true unless the client says otherwise, and is noted only if nothing is kept', () => {
    const keeps = (request: object, stored?: StoredResponses) => {
      const { response, conversation, notes } = translated({ input: 'Hi', ...request }, stored);
      const { body } = translateMessageOf(response);
      return [response.settings.store, body.store, conversation !== undefined, notes.length];
    };
    expect(keeps({}, NOTHING)).toEqual([true, true, true, 0]);
    expect(keeps({ store: null }, NOTHING)).toEqual([true, true, true, 0]);
    expect(keeps({ store: true }, NOTHING)).toEqual([true, true, true, 0]);
    expect(keeps({ store: false }, NOTHING)).toEqual([false, false, true, 0]);
    expect(keeps({ store: true })).toEqual([undefined, false, false, 1]);
    expect(keeps({})).toEqual([undefined, false, false, 0]);
    expect(refused({ input: 'Hi', store: 'yes' }, NOTHING)).toMatchObject({ param: 'store' });
  });
});

function translateMessageOf(response: ReturnType<typeof translated>['response']) {
  const answer = translateMessage(MESSAGE, { ...response, created: 1 });
  if (answer.outcome === 'malformed') throw new Error(answer.reason);
  return { body: JSON.parse(answer.body) as { readonly store: boolean } };
}

describe('a stream', () => {
  const context = { ...first.response, created: 1 };

  it.each(vectorsIn<{ readonly upstream: readonly object[] }>('vectors/responses/stream'))(
    '%s: names the response with which it ended, and its items',
    (_name, { upstream }) => {
      const text = upstream.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
      const pipe = createResponseStream(context);
      pipe.push(Buffer.from(text));
      expect(pipe.finished()).toBe(undefined);
      const end = pipe.end();
      const finished = pipe.finished();
      if (end.outcome === 'failed') {
        expect(finished).toBe(undefined);
        return;
      }
      expect(finished?.id).toBe(responseId(end.messageId));
      expect(Buffer.from(end.tail).toString()).toContain(`"response":${finished!.body}`);
      const response = JSON.parse(finished!.body) as { id: string; output: readonly Item[] };
      expect(response.id).toBe(finished!.id);
      for (const item of response.output) expect(responseIdOfItem(item.id)).toBe(finished!.id);
    },
  );

  it.each(['', 'msg', 'msg_1', 'item_x', '_a_1', 'msg_a_b', 'resp_1_x'])(
    'has no item with the id %j',
    (odd) => {
      expect(responseIdOfItem(odd)).toBe(undefined);
    },
  );
});
