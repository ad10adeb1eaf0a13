/**
 * Answers whose thinking stands between text and calls, through the chat format and back: each
 * block of thinking returns to its place, or none is sent.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createChatStream,
  optionsOf,
  translateMessage,
  translateRequest,
  translateResponse,
  translateResponsesRequest,
  webSearch,
} from '../../src/index.js';
import { THINKING_CONTEXT } from '../answer-contexts.js';
import { assembled } from '../assembled-completion.js';
import { runs } from '../../../../scripts/runs.cjs';

const RUNS = runs(__filename, 'answers');
const OPTIONS = { ...optionsOf('claude-opus-5')!, reasoning: 'reasoning_content' } as const;
const TOOLS = [{ type: 'function', function: { name: 'look' } }];

interface Block {
  readonly type: string;
  readonly text?: string;
}
interface Message {
  readonly content: string | null;
  readonly thinking_blocks?: readonly object[];
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly [member: string]: unknown;
}

const think = (n: number) => ({ type: 'thinking', thinking: `T${n}`, signature: `s${n}` });
const secret = (n: number) => ({ type: 'redacted_thinking', data: `d${n}` });
const say = (text: string) => ({ type: 'text', text });
const use = (n: number) => ({ type: 'tool_use', id: `toolu_${n}`, name: 'look', input: {} });
const search = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'q' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
];

/** What a plain answer has, and what the chunks of a stream add up to. */
function completions(
  content: readonly object[],
  context: object = THINKING_CONTEXT,
): [Message, Message] {
  const message = { id: 'msg_1', role: 'assistant', type: 'message', content };
  const all = { ...THINKING_CONTEXT, ...context };
  const plain = translateResponse(JSON.stringify({ ...message, stop_reason: 'tool_use' }), all);
  if (plain.outcome !== 'translated') throw new Error(plain.reason);
  const stream = createChatStream(all);
  const pieces = streamOf(content).map((event) =>
    stream.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)),
  );
  const { tail } = stream.end();
  const streamed = assembled(Buffer.concat([...pieces, tail]));
  return [messageIn(plain.body), messageIn(streamed)];
}

function messageIn(completion: string): Message {
  const { choices } = JSON.parse(completion) as { choices: [{ message: Message }] };
  return { role: 'assistant', ...choices[0].message };
}

/** The events of an answer. Text comes in deltas, as the upstream sends it. */
function streamOf(content: readonly object[]): { readonly type: string }[] {
  const blocks = content.flatMap((block, index) => {
    const text = (block as Block).text ?? '';
    const start = 'text' in block ? { ...block, text: '' } : block;
    return [
      { type: 'content_block_start', index, content_block: start },
      ...text.split(/(?<=[ é])/).flatMap((piece) =>
        piece === ''
          ? []
          : {
              type: 'content_block_delta',
              index,
              delta: { type: 'text_delta', text: piece },
            },
      ),
      { type: 'content_block_stop', index },
    ];
  });
  return [
    { type: 'message_start', message: { id: 'msg_1', content: [] } } as { type: string },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: 'tool_use' } } as { type: string },
    { type: 'message_stop' },
  ];
}

/** The blocks of the answer in the next request, and the notes about it. */
function replayed(message: Message, options: object = {}) {
  const results = (message.tool_calls ?? []).map(({ id }) => ({
    role: 'tool',
    tool_call_id: id,
    content: 'Here.',
  }));
  const question = { role: 'user', content: 'Go on.' };
  const messages = [question, message, ...(results.length > 0 ? results : [question])];
  const request = { model: 'm', tools: TOOLS, messages };
  const result = translateRequest(request, { ...OPTIONS, ...options });
  if (result.outcome === 'refused') throw new Error(result.problem.message);
  const body = JSON.parse(result.body) as { messages: { role: string; content: Block[] }[] };
  const answer = body.messages.find(({ role }) => role === 'assistant');
  return { content: answer?.content ?? [], notes: result.notes.map(({ detail }) => detail) };
}

const isThinking = ({ type }: Block): boolean => type.endsWith('thinking');

/** The client's list after the helper of OpenAI's Python SDK, which joins items by their index. */
function joined(message: Message): Message {
  const blocks: Record<string, unknown>[] = [];
  for (const { index, ...block } of (message.thinking_blocks ?? []) as { index: number }[]) {
    const known = blocks[index];
    if (!known) blocks[index] = { index, ...block };
    else {
      for (const [name, value] of Object.entries(block)) {
        const isText = typeof known[name] === 'string' && name !== 'type';
        known[name] = isText ? `${known[name] as string}${String(value)}` : value;
      }
    }
  }
  return blocks.length === 0 ? message : { ...message, thinking_blocks: blocks };
}

const word = fc.oneof(
  fc.constantFrom('A', 'Let me see. ', '\n\n', 'é 😀', '"\\'),
  fc.string({ unit: 'grapheme', minLength: 1 }),
);
/** Thinking, then text, then calls, several times. Only the last time may have no thinking. */
const answers = fc
  .array(
    fc.record({
      thoughts: fc.integer({ min: 1, max: 2 }),
      isSecret: fc.boolean(),
      text: fc.option(word, { nil: undefined }),
      calls: fc.integer({ min: 0, max: 2 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((segments) => {
    let n = 0;
    const blocks = segments.flatMap(({ thoughts, isSecret, text, calls }) => [
      ...Array.from({ length: thoughts }, () => (isSecret ? secret : think)((n += 1))),
      ...(text === undefined ? [] : [say(text)]),
      ...Array.from({ length: calls }, () => use((n += 1))),
    ]);
    return [...blocks, use((n += 1))];
  });

describe('thinking of chat answers, between text and calls', () => {
  // F322: an answer whose thinking stands between its text and its calls, sent back unchanged: the
  // next request has each block in its place.
  it('returns to its places', () => {
    fc.assert(
      fc.property(answers, fc.boolean(), (content, startsWithText) => {
        const blocks = startsWithText ? [say('First. '), ...content] : content;
        const sent = blocks.filter(
          (block) => !('text' in block) || /[^\s\p{Cc}]/u.test(block.text),
        );
        const [plain, streamed] = completions(blocks);
        for (const message of [plain, streamed, joined(streamed)]) {
          const { content: got, notes } = replayed(message);
          expect(got).toEqual(sent);
          expect(notes.filter((note) => note !== 'white space only')).toEqual([]);
        }
        expect(plain.thinking_blocks).toEqual(withoutIndex(joined(streamed)).thinking_blocks);
      }),
      { numRuns: RUNS },
    );
  });

  // F323: the client sends back only a part of such thinking, or has edited the answer: no thinking
  // is sent, and a note says so.
  it('is left out as a whole if a part is missing', () => {
    fc.assert(
      fc.property(answers, fc.nat(), fc.nat(), (content, which, how) => {
        const between = content.findLastIndex(isThinking) >= content.filter(isThinking).length;
        for (const message of completions(content).map(joined)) {
          const thoughts = message.thinking_blocks ?? [];
          if (thoughts.length < 2) continue;
          const at = which % thoughts.length;
          const rest = thoughts.filter((_, index) => index !== at);
          const edits: object[] = [
            { thinking_blocks: rest },
            { thinking_blocks: [...thoughts, ...thoughts.slice(at, at + 1)] },
            { thinking_blocks: thoughts.toReversed() },
            { thinking_blocks: thoughts.slice(-1) },
            ...(between ? [{ content: `${message.content ?? ''}!` }] : []),
            ...(between ? [{ tool_calls: message.tool_calls?.slice(1) }] : []),
          ];
          const { content: got, notes } = replayed({ ...message, ...edits[how % edits.length] });
          expect(got.filter(isThinking)).toEqual([]);
          expect(notes.join()).toContain('not the whole thinking of its answer');
        }
      }),
      { numRuns: RUNS },
    );
  });

  it.each<[string, (blocks: object[]) => object[]]>([
    ['the last list of a stream, as the helper of the JavaScript SDK', (all) => all.slice(-1)],
    ['no more than the first list', (all) => [{ ...all[1], index: 1 }]],
    ['places of a wrong type', (all) => all.map((b) => ({ ...b, preceded_by: 'x' }))],
    ['no size of the answer', (all) => all.slice(0, 2)],
  ])('is left out if a client keeps %s', (_what, keep) => {
    const [, streamed] = completions([think(1), say('A'), think(2), use(3)]);
    const thinking_blocks = keep([...(streamed.thinking_blocks ?? [])]);
    const { content, notes } = replayed({ ...streamed, thinking_blocks });
    expect(content).toEqual([say('A'), use(3)]);
    expect(notes).toEqual(['not the whole thinking of its answer, or not in its place']);
  });

  it('may come before edited text and calls', () => {
    const [message] = completions([think(1), secret(2), say(' A '), use(3)]);
    const { content } = replayed({ ...message, content: 'A' });
    expect(content).toEqual([think(1), secret(2), say('A'), use(3)]);
  });

  it('is left out if a search stood between it, which a chat message does not have', () => {
    for (const message of completions([think(1), ...search, think(2), say('A')])) {
      expect(replayed(message)).toEqual({
        content: [say('A')],
        notes: ['not the whole thinking of its answer, or not in its place'],
      });
    }
    const [before] = completions([...search, think(1), say('A')]);
    expect(replayed(before)).toEqual({ content: [think(1), say('A')], notes: [] });
  });

  it('keeps its places where the caller keeps it', () => {
    const kept = new Map<string, readonly object[]>();
    const onThinking = (id: string, blocks: readonly object[]) => {
      if (kept.has(id)) expect(blocks).toEqual(kept.get(id));
      kept.set(id, JSON.parse(JSON.stringify(blocks)) as object[]);
    };
    const content = [think(1), say('A'), think(2), use(3)];
    for (const message of completions(content, { onThinking })) {
      const { thinking_blocks: _, ...rest } = message;
      expect(replayed(rest, { keptThinking: kept })).toEqual({ content, notes: [] });
    }
  });

  it('keeps the order of the parts of a message', () => {
    const message = (content: object[]) => ({ role: 'assistant', content }) as unknown as Message;
    const parts = [think(1), say('A'), think(2), say('B')];
    expect(replayed(message(parts))).toEqual({ content: parts, notes: [] });
    expect(replayed(message([say('A'), think(1)])).content).toEqual([think(1), say('A')]);
    expect(replayed(message([think(1), say('A'), think(2)])).content).toEqual([say('A')]);
  });
});

function withoutIndex(message: Message): Message {
  const blocks = (message.thinking_blocks ?? []) as { index?: number }[];
  return { ...message, thinking_blocks: blocks.map(({ index: _, ...block }) => block) };
}

describe('thinking of responses, around a search', () => {
  const options = { ...optionsOf('claude-opus-5')!, webSearch: webSearch() };

  /** What comes back through a client that drops the items with the results, or keeps them. */
  function next(content: readonly object[], { keepsResults = false } = {}) {
    const tools = [{ type: 'web_search' }];
    const user = { role: 'user', content: 'Hi' };
    const first = translateResponsesRequest({ model: 'm', tools, input: [user] }, options);
    if (first.outcome === 'refused') throw new Error(first.problem.message);
    const native = JSON.stringify({ id: 'msg_1', content });
    const answer = translateMessage(native, { ...first.response, created: 0 });
    if (answer.outcome !== 'translated') throw new Error(answer.reason);
    const { output } = JSON.parse(answer.body) as { output: object[] };
    const isKept = (item: object) =>
      keepsResults || !JSON.stringify(item).includes('server_blocks');
    const input = [user, ...output.filter(isKept), user];
    const result = translateResponsesRequest({ model: 'm', tools, input }, options);
    if (result.outcome === 'refused') throw new Error(result.problem.message);
    const { messages } = JSON.parse(result.body) as { messages: { content: Block[] }[] };
    return {
      content: messages[1]?.content,
      notes: result.notes.map(({ path, detail }) => `${path} ${detail}`),
    };
  }

  // F324: an answer that searched the web between its thinking, and whose client drops the result:
  // the search is not sent again, nor is any of the thinking, which the upstream would refuse.
  it('is left out, because the search between it is not sent', () => {
    const content = [think(1), ...search, think(2), say('A')];
    expect(next(content)).toEqual({
      content: [say('A')],
      notes: [
        'input[2] its result was not sent back',
        'input[3] a search between the thinking of this answer is not sent',
      ],
    });
    expect(next([think(1), ...search]).content).toEqual(undefined);
  });

  it('stays if it is on one side of the search', () => {
    expect(next([think(1), ...search, say('A')]).content).toEqual([think(1), say('A')]);
    expect(next([...search, think(1), say('A')]).content).toEqual([think(1), say('A')]);
  });

  // F409
  it('stays if the client sends the result back', () => {
    for (const content of [
      [think(1), ...search, think(2), say('A')],
      [...search, think(1), say('A')],
      [say('A'), ...search, think(1), say('B')],
    ]) {
      expect(next(content, { keepsResults: true })).toEqual({ content, notes: [] });
    }
  });
});

// F449: a client writes places of thinking that are no whole numbers: the thinking is left out, and
// the translation ends.
it.each([1.5, '1.5', 1e-9, Infinity])('thinking at the place %p is left out', (text) => {
  const answer_has = { thinking: 1, text: 3, calls: 0 };
  const placed = { ...think(1), preceded_by: { thinking: 0, text, calls: 0 }, answer_has };
  const { content, notes } = replayed({
    role: 'assistant',
    content: 'abc',
    thinking_blocks: [placed],
  });
  expect(content).toEqual([say('abc')]);
  expect(notes).toEqual(['not the whole thinking of its answer, or not in its place']);
});
