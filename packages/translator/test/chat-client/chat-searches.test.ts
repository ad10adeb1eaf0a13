/** Searches of past answers in chats: what a client sends back unchanged is as it was. */

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  createChatStream,
  optionsOf,
  translateRequest,
  translateResponse,
  webSearch,
} from '../../src/index.js';
import { assembled } from '../assembled-completion.js';

const OPTIONS = {
  ...optionsOf('claude-sonnet-4-6')!,
  reasoning: 'thinking_blocks',
  webSearch: webSearch(),
} as const;
const TOOLS = [{ type: 'function', function: { name: 'look' } }];
const ASKED = { role: 'user', content: 'Which is the deepest fjord?' };

interface Message {
  readonly content: string | null;
  readonly thinking_blocks?: readonly Record<string, unknown>[];
  readonly tool_calls?: readonly { readonly id: string }[];
}

const use = (n: number) => ({
  type: 'server_tool_use',
  id: `srvtoolu_0${n}`,
  name: 'web_search',
  input: { query: `fjords ${n}` },
});
const page = (n: number) => ({
  type: 'web_search_result',
  url: `https://example.org/${n}`,
  title: 'P',
  encrypted_content: 'RU5D',
  page_age: null,
});
const result = (n: number) => ({
  type: 'web_search_tool_result',
  tool_use_id: `srvtoolu_0${n}`,
  content: [page(n)],
});
const CITATION = {
  type: 'web_search_result_location',
  cited_text: 'deep',
  url: 'https://example.org/1',
  title: 'P',
  encrypted_index: 'SU5E',
};
const say = (text: string) => ({ type: 'text', text });
const cite = (text: string) => ({ ...say(text), citations: [CITATION] });
const think = (n: number) => ({ type: 'thinking', thinking: `T${n}`, signature: `c2${n}` });
const call = (n: number) => ({ type: 'tool_use', id: `toolu_${n}`, name: 'look', input: {} });

function asked(messages: readonly unknown[], { search = true } = {}) {
  const options = search ? { web_search_options: {} } : {};
  const made = translateRequest({ model: 'm', tools: TOOLS, ...options, messages }, OPTIONS);
  if (made.outcome === 'refused') throw new Error(made.problem.message);
  const sent = JSON.parse(made.body) as {
    readonly messages: readonly { readonly role: string; readonly content: object[] }[];
  };
  const content = sent.messages.find(({ role }) => role === 'assistant')?.content;
  return { ...made, content, notes: made.notes.map(({ detail }) => detail) };
}

/** The message of a plain answer, and what a streamed one adds up to, split at each byte. */
function answersOf(content: readonly object[]): { plain: Message; streamed: Message } {
  const context = { ...asked([ASKED]).response, created: 1 };
  const plain = translateResponse(JSON.stringify({ id: 'msg_1', content }), context);
  if (plain.outcome !== 'translated') throw new Error(plain.reason);
  const events = [
    { type: 'message_start', message: { id: 'msg_1', content: [] } },
    ...content.flatMap((block, index) => {
      const text = 'text' in block ? { ...block, text: '' } : block;
      return [
        { type: 'content_block_start', index, content_block: text },
        ...('text' in block
          ? [
              {
                type: 'content_block_delta',
                index,
                delta: { type: 'text_delta', text: block.text },
              },
            ]
          : []),
        { type: 'content_block_stop', index },
      ];
    }),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    { type: 'message_stop' },
  ];
  const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const stream = createChatStream(context);
  const pieces = [...bytes].map((byte) => stream.push(Buffer.from([byte])));
  const all = Buffer.concat([...pieces, stream.end().tail]);
  return { plain: messageIn(plain.body), streamed: messageIn(assembled(all)) };
}

function messageIn(completion: string): Message {
  const { choices } = JSON.parse(completion) as { choices: [{ message: Message }] };
  return { ...choices[0].message };
}

function nextTurn(message: Message, options = {}) {
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool',
    tool_call_id: id,
    content: 'Here.',
  }));
  const answer = { ...message, role: 'assistant' };
  return asked([ASKED, answer, ...(results[0] ? results : [ASKED])], options);
}

/** What OpenAI's JavaScript SDK keeps of a stream: the last list. */
function last(message: Message): Message {
  return { ...message, thinking_blocks: message.thinking_blocks!.slice(-1) };
}

const parts = fc.array(fc.constantFrom('say', 'cite', 'think', 'search', 'two searches', 'call'), {
  maxLength: 8,
});

function contentOf(kinds: readonly string[]): object[] {
  let n = 10;
  const blocks = kinds.flatMap((kind): object[] => {
    n += 2;
    if (kind === 'say') return [say(` é ${n}`)];
    if (kind === 'cite') return [cite(`C${n}. `)];
    if (kind === 'think') return [think(n)];
    if (kind === 'call') return [call(n)];
    if (kind === 'search') return [use(n), result(n)];
    return [use(n), use(n + 1), result(n + 1), result(n)];
  });
  return [use(1), result(1), ...blocks, say('End.')];
}

// F450: a chat client sends back what it received of an answer that searched: the next turn has the
// answer as the upstream wrote it, with the searches, their results and the citations.
describe('an answer that searched', () => {
  it('comes back as the upstream wrote it', () => {
    fc.assert(
      fc.property(parts, fc.boolean(), (kinds, thinksFirst) => {
        const content = [...(thinksFirst ? [think(1)] : [say('I look.')]), ...contentOf(kinds)];
        const { plain, streamed } = answersOf(content);
        for (const message of [plain, streamed, last(streamed)]) {
          expect(nextTurn(message)).toMatchObject({ content, notes: [] });
        }
      }),
      { numRuns: 40 },
    );
  });

  it('loses its search if the next request offers none', () => {
    const { plain } = answersOf([say('I look.'), use(1), result(1), think(1), cite('It is X.')]);
    expect(nextTurn(plain, { search: false })).toMatchObject({
      content: [say('I look.'), say('It is X.')],
      notes: ['past searches are not sent without the tool'],
    });
  });

  it('loses its search if the client changed the text, or sends only that', () => {
    const { plain } = answersOf([use(1), result(1), cite('It is X.')]);
    const changed = nextTurn({ ...plain, content: 'It is Y, I think.' });
    expect(changed.content).toEqual([say('It is Y, I think.')]);
    expect(changed.notes).toEqual(['the search of this answer is not as it was sent']);
    expect(nextTurn({ content: plain.content }).content).toEqual([say('It is X.')]);
  });

  it('does not come back if its search has no result', () => {
    const { plain } = answersOf([say('I look.'), use(1)]);
    expect(plain.thinking_blocks).toBe(undefined);
  });
});

// F451: a client writes the blocks of such an answer itself: only blocks of the forms that the
// upstream writes are sent, in pairs and in their order, otherwise none of them.
describe('blocks of an answer that a client wrote', () => {
  const TEXT = { type: 'text', from: 0, to: 1 };
  const sentFor = (answer_blocks: unknown) => {
    const carrier = { type: 'thinking', thinking: '', signature: '', answer_blocks };
    return nextTurn({ content: 'A', thinking_blocks: [carrier] }).content;
  };

  it.each([
    ['another tool', [{ ...use(1), name: 'code_execution' }, result(1), TEXT]],
    ['no result', [use(1), TEXT]],
    ['a result before its use', [result(1), use(1), TEXT]],
    ['a file', [use(1), result(1), { type: 'container_upload', file_id: 'file_1' }, TEXT]],
    ['thinking without a signature', [use(1), result(1), { ...think(1), signature: '' }, TEXT]],
    ['thinking at the end', [use(1), result(1), TEXT, think(1)]],
    ['less text', [use(1), result(1), { ...TEXT, to: 0 }]],
    ['more text', [use(1), result(1), { ...TEXT, to: 2 }]],
    ['a part of a character', [use(1), result(1), { ...TEXT, from: 0.5 }]],
    ['text backwards', [use(1), result(1), TEXT, { ...TEXT, to: 0 }]],
    ['a call that is not there', [use(1), result(1), TEXT, { type: 'tool_use' }]],
    ['no text', [use(1), result(1)]],
    ['something else', ['odd', null, 5]],
    ['no list', { a: 1 }],
  ])('are left out with %s', (_, blocks) => {
    expect(sentFor(blocks)).toEqual([say('A')]);
  });

  it('have no other members than those of the upstream', () => {
    const cited = {
      ...TEXT,
      citations: [{ ...CITATION, file_id: 'f' }, { type: 'char_location' }],
    };
    const found = { ...result(1), content: [{ ...page(1), file_id: 'f' }], container: 'c' };
    expect(sentFor([{ ...use(1), cache_control: {} }, found, cited])).toEqual([
      use(1),
      result(1),
      cite('A'),
    ]);
    expect(sentFor([cited, use(1), result(1)])).toEqual([say('A'), use(1), result(1)]);
  });
});
