/** Responses that later requests continue or refer to, by OpenAI's SDK. */

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import OpenAI from 'openai';
import { Piscina } from 'piscina';
import { startRedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import type { RedisServer } from '../../../../packages/rate-limiter/test/redis-server.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { openRedisLink } from '../support/redis-link.js';
import { eventually } from '../support/until.js';

const MODEL = 'claude-opus-5-5';
const thinking = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
const look = {
  type: 'function' as const,
  name: 'look',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

function clientOf({ url }: TestGateway, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** The native messages of the latest request, without cache points. */
function sentMessages({ simulator }: TestGateway): unknown {
  const { body } = simulator.journal.requests().at(-1)!;
  const { messages } = JSON.parse(String(body)) as { readonly messages: unknown };
  return JSON.parse(
    JSON.stringify(messages, (name, value) => (name === 'cache_control' ? undefined : value)),
  );
}

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

describe.each(['in a process', 'in Redis'] as const)('kept %s', (where) => {
  let gateway: TestGateway;
  let client: OpenAI;
  let closeLink = (): Promise<void> | void => undefined;
  beforeAll(async () => {
    const env: Record<string, string> = { CHAT_REASONING: 'reasoning_content' };
    if (where === 'in Redis') {
      const link = await openRedisLink(redis);
      env['REDIS_URL'] = link.url;
      closeLink = () => link.close();
    }
    gateway = await startTestGateway({ env });
    client = clientOf(gateway, (await gateway.createKey()).apiKey);
  });
  afterEach(() => {
    gateway.simulator.reset();
  });
  afterAll(async () => {
    await gateway.stop();
    await closeLink();
  });

  it('a chain of responses sends the whole conversation upstream, with its thinking', async () => {
    gateway.simulator.script({
      content: [
        thinking,
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
      ],
      stopReason: 'tool_use',
    });
    const tools = [look];
    const first = await client.responses.create({ model: MODEL, input: 'Where?', tools });
    expect(first).toMatchObject({ store: true, previous_response_id: null });
    const second = await client.responses
      .stream({
        model: MODEL,
        tools,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: 'toolu_1', output: 'Here.' }],
      })
      .finalResponse();
    expect(second).toMatchObject({ store: true, previous_response_id: first.id });
    const third = await client.responses.create({
      model: MODEL,
      tools,
      previous_response_id: second.id,
      input: 'Thanks',
    });
    expect(third.status).toBe('completed');
    expect(sentMessages(gateway)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Where?' }] },
      {
        role: 'assistant',
        content: [
          thinking,
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'Here.' }],
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'thinking',
            thinking: expect.any(String),
            signature: expect.stringMatching(/^sim-/),
          },
          { type: 'text', text: second.output_text },
        ],
      },
      { role: 'user', content: [{ type: 'text', text: 'Thanks' }] },
    ]);
  });

  // F331
  it('a body of more than a megabyte continues a response, too', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'Hi' });
    const long = 'long '.repeat(250_000);
    const second = await client.responses.create({
      model: MODEL,
      previous_response_id: first.id,
      input: long,
    });
    expect(second.status).toBe('completed');
    const messages = sentMessages(gateway) as readonly { readonly content: readonly unknown[] }[];
    expect(messages).toHaveLength(3);
    expect(messages[0]).toEqual({ role: 'user', content: [{ type: 'text', text: 'Hi' }] });
    expect(messages[2]?.content).toEqual([{ type: 'text', text: long }]);
  });

  it('a reference to an item is replaced by the item', async () => {
    gateway.simulator.script({ content: [thinking, { type: 'text', text: 'Hello.' }] });
    const first = await client.responses.create({ model: MODEL, input: 'Hi' });
    await client.responses.create({
      model: MODEL,
      input: [
        { role: 'user', content: 'Hi' },
        ...first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id! })),
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(sentMessages(gateway)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [thinking, { type: 'text', text: 'Hello.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
    ]);
  });

  it.each([
    ['long', ['x'.repeat(1_500_000)]],
    ['of many parts', Array.from({ length: 9_000 }, () => 'x')],
  ])(
    'a conversation that is %s is continued, prepared in the worker thread',
    async (_what, texts) => {
      const content = texts.map((text) => ({ type: 'input_text' as const, text }));
      const input = [{ role: 'user' as const, content }];
      const first = await client.responses.create({ model: MODEL, input });
      const run = jest.spyOn(Piscina.prototype, 'run');
      const params = { model: MODEL, previous_response_id: first.id, input: 'Go on' };
      const second = await client.responses.create(params);
      const runs = run.mock.calls.length;
      run.mockRestore();
      expect(runs).toBe(1);
      expect(second).toHaveProperty('store', true);
      expect(sentMessages(gateway)).toMatchObject([
        { role: 'user', content: texts.map((text) => ({ type: 'text', text })) },
        { role: 'assistant' },
        { role: 'user', content: [{ text: 'Go on' }] },
      ]);
    },
  );

  describe('thinking of the chat format', () => {
    const answer = [
      thinking,
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_chat', name: 'look', input: {} },
    ];
    const tools = [{ type: 'function' as const, function: { name: 'look' } }];
    const question = { role: 'user' as const, content: 'Where?' };

    /** Asks, and sends the answer back as many clients do: without `thinking_blocks`. */
    async function ask(
      from: OpenAI,
      { stream = false, ...params }: { store?: false; stream?: boolean },
    ) {
      gateway.simulator.script({ content: answer, stopReason: 'tool_use' });
      const request = { model: MODEL, messages: [question], tools, ...params };
      const completion = stream
        ? await from.chat.completions.stream(request).finalChatCompletion()
        : await from.chat.completions.create(request);
      const { content, tool_calls = [] } = completion.choices[0]!.message;
      return { role: 'assistant' as const, content, tool_calls, reasoning_content: 'Hm' };
    }

    /** @returns the answer as it went upstream, and what was noted about the request */
    async function goOn(from: OpenAI, message: Awaited<ReturnType<typeof ask>>) {
      const { response } = await from.chat.completions
        .create({
          model: MODEL,
          messages: [
            question,
            message,
            { role: 'tool', tool_call_id: 'toolu_chat', content: 'Here.' },
          ],
          tools,
        })
        .withResponse();
      const [, sent] = sentMessages(gateway) as { content: unknown }[];
      const notes = response.headers.get('x-gateway-translation-notes');
      return { sent: sent?.content, notes };
    }

    // F235: a chat client returns the text of the thinking before a call, without its signature:
    // the signed blocks, which the gateway kept for this key, are sent in its place.
    it.each([{ stream: false }, { stream: true }])(
      'is sent upstream if the client sends its text back: %j',
      async (form) => {
        const whole = { sent: answer, notes: null };
        expect(await goOn(client, await ask(client, form))).toEqual(whole);
      },
    );

    // F236: the kept blocks are gone, belong to another key, have no room or cannot be read: the
    // request is served; its note says that the thinking was dropped.
    it('is dropped for another key, and after `store: false`', async () => {
      const dropped = { sent: answer.slice(1), notes: 'messages[1].reasoning_content dropped' };
      const other = clientOf(gateway, (await gateway.createKey()).apiKey);
      expect(await goOn(other, await ask(client, {}))).toEqual(dropped);
      expect(await goOn(other, await ask(other, { store: false }))).toEqual(dropped);
    });

    it('is not a response', async () => {
      await ask(client, {});
      for (const call of ['retrieve', 'delete'] as const) {
        await expect(client.responses[call]('chat_toolu_chat')).rejects.toMatchObject({
          status: 404,
        });
      }
    });
  });

  it('counts the tokens of the conversation that a request continues', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'A longer question' });
    const input = 'Go on';
    const [alone, continued] = await Promise.all([
      client.responses.inputTokens.count({ model: MODEL, input }),
      client.responses.inputTokens.count({ model: MODEL, input, previous_response_id: first.id }),
    ]);
    expect(continued.input_tokens).toBeGreaterThan(alone.input_tokens);
  });

  // F222: a request continues a response that was never kept, expired, or is another key's: 400
  // `previous_response_not_found`; nothing is sent upstream.
  it('a response can be read and deleted by the key that made it, and by no other', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'Hi' });
    expect(await client.responses.retrieve(first.id)).toEqual(first);
    const other = clientOf(gateway, (await gateway.createKey()).apiKey);
    const unknown = { status: 404, code: 'response_not_found' };
    await expect(other.responses.retrieve(first.id)).rejects.toMatchObject(unknown);
    await expect(other.responses.delete(first.id)).rejects.toMatchObject(unknown);
    await expect(
      other.responses.create({ model: MODEL, input: 'Hi', previous_response_id: first.id }),
    ).rejects.toMatchObject({ status: 400, code: 'previous_response_not_found' });
    await client.responses.delete(first.id);
    await expect(client.responses.retrieve(first.id)).rejects.toMatchObject(unknown);
    await expect(
      client.responses.create({ model: MODEL, input: 'Hi', previous_response_id: first.id }),
    ).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
  });

  it('nothing is kept of a request with `store: false`, of a failed stream, and of a refused one', async () => {
    const params = { model: MODEL, input: 'Hi' };
    const plain = await client.responses.create({ ...params, store: false });
    expect(plain).toHaveProperty('store', false);
    await expect(client.responses.retrieve(plain.id)).rejects.toMatchObject({ status: 404 });
    gateway.simulator.script({
      streamError: { afterEvents: 3, type: 'overloaded_error', message: 'Overloaded' },
    });
    let id = '';
    const stream = client.responses.stream(params);
    stream.on('response.created', ({ response }) => (id = response.id));
    await expect(stream.finalResponse()).rejects.toThrow();
    expect(id).toMatch(/^resp_/);
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  // F227: a key is revoked or an account closed: its kept responses are forgotten.
  it('a key that is revoked, or whose account is closed, leaves nothing behind', async () => {
    const { responses } = gateway.running.appParts;
    for (const end of ['revokeKey', 'closeAccount'] as const) {
      const { id: keyId, apiKey } = await gateway.createKey();
      const { account_id: accountId } = await gateway.call('showKey', { key_id: keyId });
      const { id } = await clientOf(gateway, apiKey).responses.create({
        model: MODEL,
        input: 'Hi',
      });
      const owner = { keyId, accountId };
      expect(await responses?.memory.recall(owner, [id])).toEqual([expect.anything()]);
      if (end === 'revokeKey') await gateway.call(end, { key_id: keyId });
      else {
        const closing = { closing_id: keyId, reason: 'the end', rest: 'breakage' } as const;
        await gateway.call(end, { account_id: accountId, ...closing });
      }
      expect(await responses?.memory.recall(owner, [id])).toEqual([undefined]);
    }
  });
});

describe('without a memory', () => {
  it('a reference is refused, and nothing is kept', async () => {
    const gateway = await startTestGateway({ env: { RESPONSE_MEMORY_MINUTES: '0' } });
    const client = clientOf(gateway, (await gateway.createKey()).apiKey);
    const { data, response: http } = await client.responses
      .create({ model: MODEL, input: 'Hi', store: true })
      .withResponse();
    expect(data).toHaveProperty('store', false);
    expect(http.headers.get('x-gateway-translation-notes')).toBe('store ignored');
    await expect(
      client.responses.create({ model: MODEL, input: 'Hi', previous_response_id: data.id }),
    ).rejects.toMatchObject({ status: 400, code: 'unsupported_value' });
    await expect(client.responses.retrieve(data.id)).rejects.toMatchObject({ status: 404 });
    await gateway.stop();
  });
});

describe('with too little memory', () => {
  let gateway: TestGateway;
  let client: OpenAI;
  const MAX_BODY_BYTES = 20_000;
  beforeAll(async () => {
    gateway = await startTestGateway({
      env: { MAX_BODY_BYTES: String(MAX_BODY_BYTES), RESPONSE_MEMORY_BYTES: '60000' },
    });
    client = clientOf(gateway, (await gateway.createKey()).apiKey);
  });
  afterAll(() => gateway.stop());

  // F224: there is no room to keep a response: it says `store: false`; it is made and charged as
  // usual.
  it('a response that cannot be kept says so', async () => {
    const { responses } = gateway.running.appParts;
    const { account_id: accountId } = await gateway.call('showKey', {
      key_id: (await gateway.createKey()).id,
    });
    const taken = responses!.pending.open(accountId);
    expect(taken.resize(30_000)).toBe('reserved');
    const other = responses!.pending.open('acct_other');
    expect(other.resize(14_000)).toBe('reserved');
    const response = await client.responses.create({ model: MODEL, input: 'x'.repeat(17_000) });
    expect(response).toHaveProperty('store', false);
    await expect(client.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
    taken.release();
    other.release();
    const next = await client.responses.create({ model: MODEL, input: 'x'.repeat(17_000) });
    expect(next).toHaveProperty('store', true);
    expect(responses!.pending.reservedBytes).toBe(0);
  });

  // F225: a small body continues a large conversation: both together are limited and reserved as
  // one body, before the conversation is read.
  it('a body and the conversation that it continues are together limited as one body is', async () => {
    const input = 'x'.repeat(12_000);
    const first = await client.responses.create({ model: MODEL, input });
    await expect(
      client.responses.create({ model: MODEL, input, previous_response_id: first.id }),
    ).rejects.toMatchObject({ status: 413 });
    expect(gateway.running.appParts.memory.reservedBytes).toBe(0);
  });
});

describe('while Redis cannot be reached', () => {
  // F236
  // F226: Redis goes away: responses are made but not kept; what needs one is refused with 503, and
  // not charged.
  it('responses are made but not kept, and what needs one is refused with 503 until Redis is back', async () => {
    const link = await openRedisLink(redis);
    const gateway = await startTestGateway({
      env: { REDIS_URL: link.url, CHAT_REASONING: 'reasoning_content' },
    });
    const client = clientOf(gateway, (await gateway.createKey()).apiKey);
    const first = await client.responses.create({ model: MODEL, input: 'Hi' });
    link.cut();
    // Without the kept thinking, a request of the chat format is served as if there were none.
    const answer = { role: 'assistant', content: 'Hi', reasoning_content: 'Hm' } as const;
    const call = { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const { response: http } = await client.chat.completions
      .create({
        model: MODEL,
        messages: [
          { role: 'user', content: 'Hi' },
          { ...answer, tool_calls: [call as OpenAI.ChatCompletionMessageFunctionToolCall] },
          { role: 'tool', tool_call_id: 'toolu_1', content: 'Here.' },
        ],
      })
      .withResponse();
    expect(http.headers.get('x-gateway-translation-notes')).toMatch(/reasoning_content dropped/);
    const second = await client.responses.create({ model: MODEL, input: 'Hi' });
    expect(second.status).toBe('completed');
    const unavailable = { status: 503, type: 'api_error' };
    await expect(
      client.responses.create({ model: MODEL, input: 'Hi', previous_response_id: first.id }),
    ).rejects.toMatchObject(unavailable);
    await expect(client.responses.retrieve(first.id)).rejects.toMatchObject(unavailable);
    link.heal();
    await eventually(async () => {
      expect(await client.responses.retrieve(first.id)).toEqual(first);
    });
    await gateway.stop();
    await link.close();
  });
});
