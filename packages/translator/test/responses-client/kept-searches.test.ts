/** Searches of past answers in conversations of the Responses API. */

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  createResponseStream,
  optionsOf,
  translateMessage,
  translateResponsesRequest,
  webSearch,
  type ResponsesContext,
} from '../../src/index.js';
import { bytewise, run } from '../replay-vectors.js';

const MODELS = ['claude-sonnet-4-6', 'claude-fable-5-1'];
const TOOLS = [{ type: 'web_search' }];
const ASKED = { role: 'user', content: 'Which is the deepest fjord?' };

const use = (id: number) => ({
  type: 'server_tool_use',
  id: `srvtoolu_0${id}`,
  name: 'web_search',
  input: { query: `fjords ${id}` },
});
const page = (id: number) => ({
  type: 'web_search_result',
  url: `https://example.org/${id}`,
  title: `Page ${id}`,
  encrypted_content: 'RU5D',
  page_age: null,
});
const result = (id: number, content: unknown = [page(id), page(id + 1)]) => ({
  type: 'web_search_tool_result',
  tool_use_id: `srvtoolu_0${id}`,
  content,
});
const FAILED = { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' };
const citation = (id: number) => ({
  type: 'web_search_result_location',
  cited_text: 'deep',
  url: `https://example.org/${id}`,
  title: id % 2 ? null : 'Page',
  encrypted_index: 'SU5E',
});
const say = (text: string, citations?: readonly object[]) => ({
  type: 'text',
  text,
  ...(citations && { citations }),
});
const THOUGHT = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };

interface NativeBlock {
  readonly type: string;
  readonly [member: string]: unknown;
}

function asked(model: string, request: object, stored?: readonly unknown[]) {
  const options = { ...optionsOf(model)!, webSearch: webSearch() };
  const kept = stored && { items: new Map(), previous: stored };
  const made = translateResponsesRequest({ model: 'm', ...request }, { ...options, stored: kept });
  if (made.outcome === 'refused') throw new Error(made.problem.message);
  const { messages } = JSON.parse(made.body) as {
    messages: readonly { readonly role: string; readonly content: readonly NativeBlock[] }[];
  };
  return { ...made, messages };
}

function outputOf(content: readonly object[], context: ResponsesContext) {
  const native = JSON.stringify({ id: 'msg_1', content, stop_reason: 'end_turn' });
  const answer = translateMessage(native, { ...context, created: 1 });
  if (answer.outcome !== 'translated') throw new Error(answer.reason);
  return (JSON.parse(answer.body) as { readonly output: readonly Item[] }).output;
}

interface Item {
  readonly type: string;
  readonly encrypted_content?: string;
}

/** The content of the answer, as the next turn sends it. */
function comesBack(
  model: string,
  content: readonly object[],
  {
    tools = TOOLS,
    change = (items: readonly Item[]) => items,
  }: {
    readonly tools?: readonly object[];
    readonly change?: (items: readonly Item[]) => readonly object[];
  } = {},
) {
  const first = asked(model, { tools: TOOLS, input: [ASKED] });
  const output = change(outputOf(content, first.response));
  const next = { role: 'user', content: 'And the second?' };
  const sent = asked(model, { tools, store: false, input: [ASKED, ...output, next] });
  return { content: sent.messages[1]?.content, notes: sent.notes.map(({ path }) => path), output };
}

const answers = fc.array(
  fc.oneof(
    fc.constantFrom(say('A'), say(' b '), say('c', [citation(1), citation(2)]), THOUGHT),
    fc.constant('search' as const),
    fc.constant('failed search' as const),
    fc.constant('two searches' as const),
  ),
  { minLength: 1, maxLength: 8 },
);

function contentOf(parts: readonly (object | string)[]): object[] {
  let id = 10;
  const blocks = parts.flatMap((part) => {
    id += 2;
    if (typeof part !== 'string') return [part];
    if (part === 'search') return [use(id), result(id)];
    if (part === 'failed search') return [use(id), result(id, FAILED)];
    return [use(id), use(id + 1), result(id + 1), result(id)];
  });
  // An upstream cites nothing before it has searched, and ends with text.
  return [use(1), result(1), ...blocks, say('End.')];
}

// F409: an answer searches the web, and its conversation goes on: the next turn has the answer as
// the upstream wrote it, with the searches, their results and the citations.
describe.each(MODELS)('an answer of %s that searched', (model) => {
  it('comes back as the upstream wrote it, sent back by the client', () => {
    fc.assert(
      fc.property(answers, (parts) => {
        const content = contentOf(parts);
        expect(comesBack(model, content)).toMatchObject({ content, notes: [] });
      }),
      { numRuns: 30 },
    );
  });

  it('comes back as the upstream wrote it, kept by the caller', () => {
    const content = contentOf([say('I look.'), 'search', say('It is X.', [citation(1)])]);
    const first = asked(model, { tools: TOOLS, input: [ASKED] }, []);
    const kept = [...(first.conversation ?? []), ...outputOf(content, first.response)];
    const request = { tools: TOOLS, previous_response_id: 'resp_1', input: 'And the second?' };
    const next = asked(model, request, kept);
    expect(next.messages[1]?.content).toEqual(content);
    expect(next.notes).toEqual([]);
  });

  it('has the same output in a stream, split at each byte', () => {
    const content = contentOf([say('I look.'), 'two searches', say('It is X.', [citation(1)])]);
    const { response } = asked(model, { tools: TOOLS, input: [ASKED] });
    const events = [
      { type: 'message_start', message: { id: 'msg_1', content: [], usage: USAGE } },
      ...content.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: USAGE },
      { type: 'message_stop' },
    ];
    const bytes = Buffer.from(
      events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    );
    for (const pieces of [[bytes], bytewise(bytes)]) {
      const pipe = createResponseStream({ ...response, created: 1 });
      run(pipe, pieces);
      const { output } = JSON.parse(pipe.finished()!.body) as { output: object[] };
      expect(output).toEqual(outputOf(content, response));
    }
  });

  it('loses its searches if the next request offers none', () => {
    const content = contentOf([say('It is X.', [citation(1)])]);
    expect(comesBack(model, content, { tools: [] })).toMatchObject({
      content: [say('It is X.'), say('End.')],
      notes: ['input'],
    });
  });

  it('loses its searches and citations if the client sends no results', () => {
    const content = contentOf([say('It is X.', [citation(1)])]);
    const change = (items: readonly Item[]) => items.filter(({ type }) => type !== 'reasoning');
    expect(comesBack(model, content, { change })).toMatchObject({
      content: [say('It is X.'), say('End.')],
      notes: ['input[1]', 'input[2]'],
    });
  });
});

const USAGE = { input_tokens: 1, output_tokens: 2 };

// F410: a client writes the results of searches itself: only blocks of the forms that the upstream
// writes are sent, in pairs, without members that could name something of the operator's account.
describe('results of searches that a client wrote', () => {
  const sentFor = (blocks: unknown) => {
    const text = typeof blocks === 'string' ? blocks : JSON.stringify(blocks);
    const item = {
      type: 'reasoning',
      summary: [],
      encrypted_content: `{"type":"server_blocks","blocks":${text}}`,
    };
    const said = { role: 'assistant', content: 'A' };
    const sent = asked(MODELS[0]!, { tools: TOOLS, input: [ASKED, item, said, ASKED] });
    return sent.messages[1]?.content;
  };

  it.each([
    ['another tool', [{ ...use(1), name: 'code_execution' }, result(1)]],
    ['no result', [use(1)]],
    ['no use', [result(1)]],
    ['a result before its use', [result(1), use(1)]],
    [
      'another id',
      [
        { ...use(1), id: 'toolu_1' },
        { ...result(1), tool_use_id: 'toolu_1' },
      ],
    ],
    ['a query that is no text', [{ ...use(1), input: { query: { a: 1 } } }, result(1)]],
    ['a page without content', [use(1), result(1, [{ ...page(1), encrypted_content: 5 }])]],
    ['a page of another type', [use(1), result(1, [{ type: 'document', source: {} }])]],
    ['text', [say('B')]],
    ['a file', [{ type: 'container_upload', file_id: 'file_1' }]],
    ['no list', {}],
    ['something else than JSON', '[{'],
    ['too many levels', `[${'['.repeat(1_000_000)}`],
    ['too many values', JSON.stringify(Array.from({ length: 20_000 }, () => ({})))],
  ])('are left out with %s', (_, blocks) => {
    expect(sentFor(blocks)).toEqual([say('A')]);
  });

  it('have no other members than those of the upstream', () => {
    const blocks = [
      { ...use(1), cache_control: { type: 'ephemeral' }, input: { query: 'a', file_id: 'f' } },
      { ...result(1, [{ ...page(1), file_id: 'file_1' }]), container: 'c' },
      use(1),
      result(1),
    ];
    expect(sentFor(blocks)).toEqual([
      { ...use(1), input: { query: 'a' } },
      result(1, [page(1)]),
      say('A'),
    ]);
  });

  it('can be cited, but only by the citations of searches', () => {
    const citations = [
      { ...citation(1), file_id: 'f' },
      { type: 'char_location', file_id: 'f', document_index: 0 },
      'odd',
    ];
    const change = (items: readonly Item[]) => [
      ...items.slice(0, -1),
      { role: 'assistant', content: [{ type: 'output_text', text: 'A', citations }] },
    ];
    const content = [use(1), result(1), say('A')];
    expect(() => comesBack(MODELS[0]!, content, { change })).toThrow('citations[2]');
    citations.pop();
    expect(comesBack(MODELS[0]!, content, { change })).toMatchObject({
      content: [use(1), result(1), say('A', [citation(1)])],
      notes: ['input[3].content[0].citations[1]'],
    });
  });
});
