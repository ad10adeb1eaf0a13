/**
 * Thinking that clients of the chat format send back in other places than `thinking_blocks`, and
 * without its signature. The caller can keep the signed blocks.
 */

import { describe, expect, it } from '@jest/globals';
import {
  createChatStream,
  translateRequest,
  translateResponse,
  optionsOf,
} from '../../src/index.js';
import { THINKING_CONTEXT } from '../answer-contexts.js';

const OPTIONS = { ...optionsOf('claude-opus-5-5')!, reasoning: 'reasoning_content' } as const;
const HM = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
const SECRET = { type: 'redacted_thinking', data: 'c2VjcmV0' };
const CALL = { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{}' } };
const RESULT = { role: 'tool', tool_call_id: 'toolu_1', content: 'Here.' };

type Kept = ReadonlyMap<string, readonly unknown[]>;

/** The types of the blocks of the answer in the request, and the notes about it. */
function sent(answer: object, keptThinking?: Kept) {
  const messages = [
    { role: 'user', content: 'Where?' },
    { role: 'assistant', content: 'Let me see.', ...answer },
    ...('tool_calls' in answer ? [RESULT] : [{ role: 'user', content: 'And?' }]),
  ];
  const tools = [{ type: 'function', function: { name: 'look' } }];
  const request = { model: 'm', messages, tools };
  const result = translateRequest(request, { ...OPTIONS, keptThinking });
  if (result.outcome === 'refused') return result.problem.message;
  const body = JSON.parse(result.body) as { messages: { role: string; content: object[] }[] };
  const [, said] = body.messages;
  return {
    content: said?.content.filter((block) => !('text' in block) && !('input' in block)),
    notes: result.notes.map(({ path, reason }) => `${path} ${reason}`),
  };
}

describe('thinking in a part of a message', () => {
  it('is used if it is signed, in order', () => {
    const content = [HM, SECRET, { type: 'text', text: 'Let me see.' }];
    expect(sent({ content })).toEqual({ content: [HM, SECRET], notes: [] });
  });

  it('is a copy if the message itself has thinking', () => {
    const content = [
      { ...HM, thinking: 'Other' },
      { type: 'text', text: 'Let me see.' },
    ];
    expect(sent({ content, thinking_blocks: [HM] })).toEqual({ content: [HM], notes: [] });
  });

  it.each([
    { type: 'thinking', thinking: 'Hm' },
    { type: 'reasoning', text: 'Hm' },
  ])('is dropped if it is not signed: %j', (part) => {
    const content = [part, { type: 'text', text: 'Let me see.' }];
    expect(sent({ content })).toEqual({
      content: [],
      notes: ['messages[1].content[0] dropped'],
    });
  });
});

describe('kept thinking', () => {
  const kept: Kept = new Map([['toolu_1', [HM, SECRET]]]);

  it.each<[string, object]>([
    ['reasoning_content', { reasoning_content: 'Hm' }],
    ['reasoning', { reasoning: 'Hm' }],
    ['a part', { content: [{ type: 'reasoning', text: 'Hm' }] }],
    ['an unsigned part', { content: [{ type: 'thinking', thinking: 'Hm' }] }],
  ])('is used for %s of an answer with this call', (_place, answer) => {
    expect(sent({ ...answer, tool_calls: [CALL] }, kept)).toEqual({
      content: [HM, SECRET],
      notes: [],
    });
  });

  it('is not used for an answer without the thinking, or with signed thinking', () => {
    expect(sent({ tool_calls: [CALL] }, kept)).toEqual({ content: [], notes: [] });
    const signed = { tool_calls: [CALL], reasoning_content: 'Hm', thinking_blocks: [HM] };
    expect(sent(signed, kept)).toEqual({ content: [HM], notes: [] });
  });

  it('is not used for another call, or for an answer without calls', () => {
    const dropped = { content: [], notes: ['messages[1].reasoning_content dropped'] };
    const other = new Map([['toolu_2', [HM]]]);
    expect(sent({ reasoning_content: 'Hm', tool_calls: [CALL] }, other)).toEqual(dropped);
    expect(sent({ reasoning_content: 'Hm' }, kept)).toEqual(dropped);
  });
});

describe('onThinking', () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} });
  const text = { type: 'text', text: 'Let me see.' };

  /** What is reported of an answer with these blocks, in both forms. */
  function reported(
    content: readonly object[],
    reasoning: typeof THINKING_CONTEXT.reasoning | undefined,
  ) {
    const reports: unknown[] = [];
    const onThinking = (...report: unknown[]) => reports.push(report);
    const message = { id: 'msg_1', role: 'assistant', type: 'message', content };
    translateResponse(JSON.stringify({ ...message, stop_reason: 'tool_use' }), {
      ...THINKING_CONTEXT,
      reasoning,
      onThinking,
    });
    const stream = createChatStream({ ...THINKING_CONTEXT, reasoning, onThinking });
    const events = [
      { type: 'message_start', message: { ...message, content: [] } },
      ...content.flatMap((content_block, index) => [
        { type: 'content_block_start', index, content_block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ];
    for (const event of events) {
      stream.push(Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`));
    }
    stream.end();
    return reports;
  }

  it('reports the blocks by the first call, of both forms of an answer', () => {
    const places = [
      { answer_has: { thinking: 2, text: 11, calls: 2 } },
      { preceded_by: { thinking: 1, text: 0, calls: 0 } },
    ];
    const report = [
      'toolu_1',
      [
        { ...HM, ...places[0] },
        { ...SECRET, ...places[1] },
      ],
    ];
    const answer = [HM, SECRET, text, use('toolu_1'), use('toolu_2')];
    expect(reported(answer, 'reasoning_content')).toEqual([report, report]);
  });

  it('reports nothing without calls, without thinking, and if thinking is not returned', () => {
    expect(reported([HM, text], 'reasoning_content')).toEqual([]);
    expect(reported([text, use('toolu_1')], 'reasoning_content')).toEqual([]);
    expect(reported([HM, use('toolu_1')], undefined)).toEqual([]);
  });

  it('reports nothing of a stream that is cut off', () => {
    const reports: unknown[] = [];
    const onThinking = (...report: unknown[]) => reports.push(report);
    const stream = createChatStream({ ...THINKING_CONTEXT, onThinking });
    const message = { id: 'msg_1', content: [HM, use('toolu_1')] };
    stream.push(Buffer.from(`data: ${JSON.stringify({ type: 'message_start', message })}\n\n`));
    expect(stream.end().outcome).toBe('failed');
    expect(reports).toEqual([]);
  });
});
