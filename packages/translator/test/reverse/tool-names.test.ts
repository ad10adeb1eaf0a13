/** Names of tools that are too long for the chat format. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createMessageEventStream,
  createMessageStream,
  toMessage,
  translateCompletion,
  translateMessagesRequest,
  type MessageContext,
} from '../../src/reverse/index.js';
import { run } from '../replay-vectors.js';
import { runs } from '../../../../scripts/runs.cjs';
import { traitsNamed } from './vectors.js';

/** `TEST_RUNS=200000` looks for rarer cases. */
const RUNS = runs(__filename, 'names');
const LONG = `mcp__${'a'.repeat(59)}_2`;

function request(names: readonly string[], members: object = {}) {
  const tools = names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } }));
  const messages = [{ role: 'user', content: 'Hi' }];
  const body = JSON.stringify({ model: 'm', max_tokens: 9, tools, messages, ...members });
  return translateMessagesRequest(body, { model: 'gpt-test', traits: traitsNamed() });
}

interface ChatBody {
  readonly tools: readonly { readonly function: { readonly name: string } }[];
  readonly tool_choice: unknown;
  readonly messages: readonly {
    readonly tool_calls?: readonly { readonly function: { readonly name: string } }[];
  }[];
}

function translated(names: readonly string[], members: object = {}) {
  const result = request(names, members);
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  return { ...result, chat: JSON.parse(result.body) as ChatBody };
}

/** The names in an answer that calls these tools: plain, and as streams of text and of objects. */
function namesInAnswers(called: readonly string[], context: MessageContext): string[][] {
  const calls = called.map((name, index) => ({
    index,
    id: `call_${String(index)}`,
    type: 'function',
    function: { name, arguments: '{}' },
  }));
  const choice = { index: 0, finish_reason: 'tool_calls' };
  const completion = { id: 'c', choices: [{ ...choice, message: { tool_calls: calls } }] };
  const chunk = { id: 'c', choices: [{ ...choice, delta: { tool_calls: calls } }] };
  const plain = translateCompletion(JSON.stringify(completion), context);
  const object = toMessage(completion, context);
  if (plain.outcome !== 'translated' || object.outcome !== 'translated') throw new Error();
  const text = Buffer.from(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  const { pushed, end } = run(createMessageStream(context), [text]);
  const pipe = createMessageEventStream(context);
  const events = [...pipe.push(chunk), ...pipe.end().tail];
  const answers = [plain.body, JSON.stringify(object.message)];
  answers.push(Buffer.concat([pushed, end.tail]).toString(), JSON.stringify(events));
  return answers.map((answer) =>
    [...answer.matchAll(/"type":"tool_use","id":"\w+","name":"([^"]*)"/g)].map(
      ([, name = '']) => name,
    ),
  );
}

describe('tools with names of 65 to 128 characters', () => {
  // F329: the name of a tool has more than the 64 characters that OpenAI allows: it is sent
  // shortened, with a hash, and calls in answers and streams have the client's name.
  it('are sent under shorter names, and called under their own', () => {
    const { chat, notes, response } = translated([LONG, 'f'], {
      tool_choice: { type: 'tool', name: LONG },
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: LONG, input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'a' }] },
      ],
    });
    const [sent = '', other] = chat.tools.map((tool) => tool.function.name);
    expect([sent, other]).toEqual([expect.stringMatching(/^mcp__a{50}_[\da-f]{8}$/), 'f']);
    expect(chat.tool_choice).toEqual({ type: 'function', function: { name: sent } });
    expect(chat.messages[1]?.tool_calls?.[0]?.function.name).toBe(sent);
    expect(notes).toEqual([
      { path: 'messages[1].content[0].name', reason: 'rewritten', detail: `sent as ${sent}` },
      { path: 'tools[0].name', reason: 'rewritten', detail: `sent as ${sent}` },
    ]);
    for (const names of namesInAnswers([sent, 'f', 'unknown'], response)) {
      expect(names).toEqual([LONG, 'f', 'unknown']);
    }
  });

  it('are refused with more characters than the native format allows, or when two are equal', () => {
    expect(request(['a'.repeat(128)])).toMatchObject({ outcome: 'translated' });
    for (const names of [['a'.repeat(129)], [`${LONG}.`], [LONG, LONG]]) {
      const param = `tools[${String(names.length - 1)}].name`;
      expect(request(names)).toMatchObject({ outcome: 'refused', problem: { param } });
    }
    const choice = { tool_choice: { type: 'tool', name: `${LONG}3` } };
    expect(request([LONG], choice)).toMatchObject({
      outcome: 'refused',
      problem: { param: 'tool_choice.name' },
    });
  });

  it('come back whatever their characters are', () => {
    const name = fc.oneof(
      fc.stringMatching(/^[\w-]{60,128}$/),
      fc.stringMatching(/^[ab]{1,2}$/).map((end) => 'x'.repeat(100) + end),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 4 }), (names) => {
        const { chat, response } = translated(names);
        const sent = chat.tools.map((tool) => tool.function.name);
        for (const each of sent) expect(each).toMatch(/^[\w-]{1,64}$/);
        for (const called of namesInAnswers(sent, response)) expect(called).toEqual(names);
      }),
      { numRuns: RUNS },
    );
  });
});
