/** Answers that searched, and what answers cost, as OpenAI's SDK gets them from the gateway. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import OpenAI from 'openai';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

const MODEL = 'claude-sonnet-4-6';
const ANSWER = [
  { type: 'text', text: 'I look.' },
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'fjords' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [
      {
        type: 'web_search_result',
        url: 'https://example.org/x',
        title: 'X',
        encrypted_content: 'RU5D',
        page_age: null,
      },
    ],
  },
  {
    type: 'text',
    text: 'The deepest is X.',
    citations: [
      {
        type: 'web_search_result_location',
        cited_text: 'deep',
        url: 'https://example.org/x',
        title: 'X',
        encrypted_index: 'SU5E',
      },
    ],
  },
];

let gateway: TestGateway;
let keyId: string;
let client: OpenAI;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { ALLOW_FEATURES: 'web_search' } });
  const key = await gateway.createKey();
  keyId = key.id;
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key.apiKey, maxRetries: 0 });
});
afterEach(() => {
  gateway.simulator.reset();
});
afterAll(() => gateway.stop());

async function spent(): Promise<bigint> {
  return parseUsd((await gateway.call('showKey', { key_id: keyId })).spent_usd);
}

/** The assistant's content in the latest request, without cache points. */
function sentAnswer({ simulator }: TestGateway = gateway): unknown {
  const { body } = simulator.journal.requests().at(-1)!;
  const { messages } = JSON.parse(String(body)) as {
    readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  };
  const content = messages.find(({ role }) => role === 'assistant')?.content;
  return JSON.parse(
    JSON.stringify(content, (name, value: unknown) =>
      name === 'cache_control' ? undefined : value,
    ),
  );
}

// F409
describe.each([
  ['plain', false],
  ['streamed', true],
] as const)('a Responses conversation with a %s answer that searched', (_, stream) => {
  const request = { model: MODEL, tools: [{ type: 'web_search' as const }] };

  async function first(store: boolean): Promise<OpenAI.Responses.Response> {
    gateway.simulator.script({ content: ANSWER, usage: SEARCHED });
    const asked = { ...request, input: 'fjords?', store };
    if (!stream) return client.responses.create(asked);
    return client.responses.stream(asked).finalResponse();
  }

  it('goes on with the search if the gateway keeps it', async () => {
    const { id } = await first(true);
    await client.responses.create({ ...request, input: 'And?', previous_response_id: id });
    expect(sentAnswer()).toEqual(ANSWER);
  });

  it('goes on with the search if the client sends it back', async () => {
    const { output } = await first(false);
    const { response } = await client.responses
      .create({
        ...request,
        store: false,
        input: [
          { role: 'user', content: 'fjords?' },
          ...(output as OpenAI.Responses.ResponseInputItem[]),
          { role: 'user', content: 'And?' },
        ],
      })
      .withResponse();
    expect(sentAnswer()).toEqual(ANSWER);
    expect(response.headers.get('x-gateway-translation-notes')).toBe(null);
  });
});

// F450
it.each([
  ['plain', false],
  ['streamed', true],
] as const)('a chat goes on with the search of a %s answer', async (_, stream) => {
  const env = { ALLOW_FEATURES: 'web_search', CHAT_REASONING: 'thinking_blocks' };
  const shown = await startTestGateway({ env });
  try {
    const { apiKey } = await shown.createKey();
    const sdk = new OpenAI({ baseURL: `${shown.url}/v1`, apiKey, maxRetries: 0 });
    const asked = { role: 'user' as const, content: 'fjords?' };
    const chat = { model: MODEL, messages: [asked], web_search_options: {} };
    shown.simulator.script({ content: ANSWER, usage: SEARCHED });
    const { choices } = stream
      ? await sdk.chat.completions.stream(chat).finalChatCompletion()
      : await sdk.chat.completions.create(chat);
    const messages = [asked, choices[0]!.message, asked];
    const { response } = await sdk.chat.completions.create({ ...chat, messages }).withResponse();
    expect(sentAnswer(shown)).toEqual(ANSWER);
    expect(response.headers.get('x-gateway-translation-notes')).toBe(null);
  } finally {
    await shown.stop();
  }
});

const SEARCHED = { server_tool_use: { web_search_requests: 1 } };

// F411
it('a paused answer is not reported as finished', async () => {
  const paused = { content: ANSWER.slice(0, 2), stopReason: 'pause_turn', usage: SEARCHED };
  const pause = () => {
    gateway.simulator.script(paused);
  };
  const messages = [{ role: 'user' as const, content: 'fjords?' }];
  const chat = { model: MODEL, messages, web_search_options: {} };
  pause();
  const plain = await client.chat.completions.create(chat);
  pause();
  const streamed = await client.chat.completions.stream(chat).finalChatCompletion();
  for (const { choices } of [plain, streamed]) {
    expect(choices[0]).toMatchObject({
      finish_reason: 'length',
      native_finish_reason: 'pause_turn',
    });
  }
  pause();
  const response = await client.responses.create({
    model: MODEL,
    input: 'fjords?',
    tools: [{ type: 'web_search' }],
  });
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens', native_finish_reason: 'pause_turn' },
  });
});

// F414: a client streams, or its SDK returns parsed bodies only, so it sees no header with the
// charge: the usage has it, exactly as it is booked.
describe('the usage of a translated answer has the charge', () => {
  const messages = [{ role: 'user' as const, content: 'Hi' }];

  async function chargeOf(usage: () => Promise<unknown>): Promise<void> {
    const before = await spent();
    const { charge_usd: charge } = (await usage()) as { readonly charge_usd: string };
    expect(charge).toBe(formatUsd((await spent()) - before));
    expect(parseUsd(charge)).toBeGreaterThan(0n);
  }

  it('in a plain chat', () =>
    chargeOf(async () => (await client.chat.completions.create({ model: MODEL, messages })).usage));

  it.each([true, false])('in the last chunk of a chat, include_usage: %s', (include) =>
    chargeOf(async () => {
      let usage: unknown;
      const stream = await client.chat.completions.create({
        model: MODEL,
        messages,
        stream: true,
        stream_options: { include_usage: include },
      });
      for await (const chunk of stream) usage = chunk.usage ?? usage;
      return usage;
    }),
  );

  it('in the completion that the helper makes of a stream', () =>
    chargeOf(async () => {
      const stream = client.chat.completions.stream({
        model: MODEL,
        messages,
        stream_options: { include_usage: true },
      });
      return (await stream.finalChatCompletion()).usage;
    }));

  it('in a plain response', () =>
    chargeOf(async () => (await client.responses.create({ model: MODEL, input: 'Hi' })).usage));

  it('in response.completed', () =>
    chargeOf(async () => {
      const stream = client.responses.stream({ model: MODEL, input: 'Hi' });
      return (await stream.finalResponse()).usage;
    }));

  it('but not in the native format, whose bytes are the upstream’s', async () => {
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': client.apiKey ?? '', 'content-type': 'application/json' },
      body: JSON.stringify({ model: MODEL, max_tokens: 10, messages }),
    });
    expect(await answer.text()).not.toContain('charge_usd');
  });
});
