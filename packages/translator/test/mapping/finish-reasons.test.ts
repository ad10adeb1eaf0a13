/** How each way in which a message can end is reported to clients of both formats. */

import { describe, expect, it } from '@jest/globals';
import {
  addUsageMembers,
  createChatStream,
  createResponseStream,
  translateMessage,
  translateResponse,
  type TranslateMessageContext,
} from '../../src/index.js';
import { STOP_REASONS } from '../../src/mapping/stop-reasons.js';
import { bytesOf, CONTEXT, run, vectorNamed } from '../replay-vectors.js';

const RESPONSES_CONTEXT: TranslateMessageContext = {
  model: 'm',
  created: 1,
  tools: new Map(),
  showsSummaries: false,
  settings: {} as TranslateMessageContext['settings'],
};
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const TEXT = { type: 'text', text: 'I search' };

/** The only reasons with which a message is finished. */
const FINISHED = ['end_turn', 'stop_sequence', 'tool_use'];
const WITH_A_WORD = [...FINISHED, 'max_tokens', 'model_context_window_exceeded', 'refusal'];
const REASONS = [...STOP_REASONS, 'a_future_reason', 'paused', 'error'];

function chatOf(reason: string, content: readonly object[]) {
  const native = JSON.stringify({ id: 'msg_1', content, stop_reason: reason });
  const answer = translateResponse(native, CONTEXT);
  if (answer.outcome === 'malformed') throw new Error(answer.reason);
  return (JSON.parse(answer.body) as { choices: [Record<string, unknown>] }).choices[0];
}

function responseOf(reason: string, content: readonly object[]) {
  const native = JSON.stringify({ id: 'msg_1', content, stop_reason: reason });
  const answer = translateMessage(native, RESPONSES_CONTEXT);
  if (answer.outcome === 'malformed') throw new Error(answer.reason);
  return JSON.parse(answer.body) as Record<string, unknown>;
}

// F411: a message ends unfinished, by a pause or a reason that a later version adds: it is not
// reported as finished, and the answer names the reason.
describe.each(REASONS)('a message that ends with %s', (reason) => {
  const isFinished = FINISHED.includes(reason);
  const native = WITH_A_WORD.includes(reason) ? undefined : reason;

  it.each([
    ['text', [TEXT]],
    ['a call', [TEXT, CALL]],
  ])('is finished in both formats, or in neither, with %s', (_, content) => {
    const chat = chatOf(reason, content);
    expect(['stop', 'tool_calls'].includes(String(chat['finish_reason']))).toBe(isFinished);
    expect(chat['native_finish_reason']).toBe(native);
    const response = responseOf(reason, content);
    expect(response['status']).toBe(isFinished ? 'completed' : 'incomplete');
    const details = response['incomplete_details'] as Record<string, unknown> | null;
    expect(details?.['native_finish_reason']).toBe(native);
  });
});

it('a reason in another form than the upstream uses is not repeated', () => {
  for (const reason of ['Rate limit of org_1: 5', 'a'.repeat(65), 'é']) {
    expect(chatOf(reason, [TEXT])).toMatchObject({ finish_reason: 'length' });
    expect(chatOf(reason, [TEXT])).not.toHaveProperty('native_finish_reason');
  }
});

// F414
describe('members that are added to the usage of a written answer', () => {
  const members = { charge_usd: '0.000123' };
  const vector = vectorNamed('usage-cache');
  const read = (text: string) => [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => json!);

  it.each([true, false])('are in the last chunk of a chat, include_usage: %s', (includeUsage) => {
    const { end } = run(createChatStream({ ...CONTEXT, includeUsage }), [bytesOf(vector)]);
    const before = read(Buffer.from(end.tail).toString());
    const after = read(Buffer.from(addUsageMembers(end.tail, members)).toString());
    const last = JSON.parse(before.at(-1)!) as { readonly usage: object };
    expect(JSON.parse(after.at(-1)!)).toEqual({ ...last, usage: { ...last.usage, ...members } });
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
  });

  it('are in the last event of a response', () => {
    const { end } = run(createResponseStream(RESPONSES_CONTEXT), [bytesOf(vector)]);
    const before = read(Buffer.from(end.tail).toString());
    const after = read(Buffer.from(addUsageMembers(end.tail, members)).toString());
    const last = JSON.parse(before.at(-1)!) as { readonly response: { readonly usage: object } };
    const usage = { ...last.response.usage, ...members };
    expect(JSON.parse(after.at(-1)!)).toEqual({ ...last, response: { ...last.response, usage } });
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
  });

  it.each([
    ['a chat', (native: string) => translateResponse(native, CONTEXT)],
    ['a response', (native: string) => translateMessage(native, RESPONSES_CONTEXT)],
  ])('are in the body of %s, unless it has no usage', (_, translate) => {
    const counts = { input_tokens: 1, output_tokens: 2 };
    for (const usage of [counts, null]) {
      const answer = translate(JSON.stringify({ id: 'msg_1', content: [TEXT], usage }));
      if (answer.outcome === 'malformed') throw new Error(answer.reason);
      const before = JSON.parse(answer.body) as { readonly usage?: object | null };
      const after: unknown = JSON.parse(addUsageMembers(answer.body, members));
      expect(after).toEqual(usage ? { ...before, usage: { ...before.usage, ...members } } : before);
    }
  });

  it('leave a failed stream as it is', () => {
    for (const pipe of [createChatStream(CONTEXT), createResponseStream(RESPONSES_CONTEXT)]) {
      const { end } = run(pipe, [bytesOf(vectorNamed('error-after-usage'))]);
      expect(addUsageMembers(end.tail, members)).toBe(end.tail);
    }
  });
});
