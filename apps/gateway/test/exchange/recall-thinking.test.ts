/** Which kept thinking a request of the chat format needs, found in its bytes. */

import { describe, expect, it } from '@jest/globals';
import {
  keptThinkingIn,
  recallThinking,
  thinkingNamedIn,
} from '../../src/exchange/response-memory/kept-thinking.js';
import { LocalResponses } from '../../src/exchange/response-memory/local-responses.js';

const OWNER = { accountId: 'acct_1', keyId: 'key_1' };
const BLOCKS = [{ type: 'thinking', thinking: 'Hm', signature: 'c2ln' }];

/** The calls whose thinking is read, and the bytes that are reserved for it. */
async function recalledFor(body: object, hasRoom = true) {
  const memory = new LocalResponses({ ttlMs: 60_000, maxBytes: 1_000_000, now: Date.now });
  for (const id of ['chat_toolu_1', 'chat_toolu_2']) {
    const response = Buffer.from(JSON.stringify(BLOCKS));
    await memory.remember(OWNER, id, { conversation: Buffer.from('{}'), response });
  }
  const reserved: number[] = [];
  const measured: string[] = [];
  const measure = memory.measure.bind(memory);
  memory.measure = (owner, ids) => {
    measured.push(...ids);
    return measure(owner, ids);
  };
  const text = Buffer.from(JSON.stringify(body));
  const recalled = await recallThinking(thinkingNamedIn(text), OWNER, memory, (bytes) => {
    reserved.push(bytes);
    return hasRoom;
  });
  memory.close();
  return { calls: recalled && [...keptThinkingIn(recalled)], reserved, measured };
}

const answer = (id: string, more: object = { reasoning_content: 'Hm' }) => ({
  role: 'assistant',
  tool_calls: [{ id }],
  ...more,
});
const SIZE = JSON.stringify(BLOCKS).length;

describe('recallThinking', () => {
  // F236
  it('reads the thinking of the calls in a body, once there is room for it', async () => {
    const messages = [answer('toolu_1'), answer('toolu_3'), answer('toolu_2'), answer('toolu_1')];
    expect(await recalledFor({ messages })).toMatchObject({
      calls: [
        ['toolu_1', BLOCKS],
        ['toolu_2', BLOCKS],
      ],
      reserved: [2 * SIZE],
    });
    expect(await recalledFor({ messages }, false)).toMatchObject({ calls: undefined });
  });

  it.each([
    ['reasoning', { reasoning: 'Hm' }],
    ['a part', { content: [{ type: 'thinking', thinking: 'Hm' }] }],
    ['a part of another type', { content: [{ type: 'reasoning', text: 'Hm' }] }],
  ])('reads it for %s', async (_place, more) => {
    const { calls } = await recalledFor({ messages: [answer('toolu_1', more)] });
    expect(calls).toEqual([['toolu_1', BLOCKS]]);
  });

  it.each([
    ['no thinking', {}],
    ['thinking in a text only', { content: '"reasoning_content"' }],
    ['signed thinking', { reasoning_content: 'Hm', thinking_blocks: BLOCKS }],
    ['signed details', { reasoning: 'Hm', reasoning_details: [] }],
  ])('looks up nothing for an answer with %s', async (_what, more) => {
    const found = await recalledFor({ messages: [answer('toolu_1', more)] });
    expect(found).toEqual({ calls: undefined, reserved: [], measured: [] });
  });

  it('reserves nothing if nothing is kept', async () => {
    const found = await recalledFor({ messages: [answer('toolu_3')] });
    expect(found).toEqual({ calls: undefined, reserved: [], measured: ['chat_toolu_3'] });
  });

  it('looks up a limited number of calls, however many ids a body has', async () => {
    const messages = Array.from({ length: 30_000 }, (_, i) => answer(`toolu_a${String(i)}`));
    const { measured } = await recalledFor({ messages });
    expect(measured).toHaveLength(1_000);
  });
});
