/**
 * Features that an operator can turn on for OpenAI clients: schemas, thinking, cache points, web
 * search.
 */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd } from '@gateway/billing';
import OpenAI from 'openai';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let client: OpenAI;

async function start(env: Record<string, string>): Promise<void> {
  gateway = await startTestGateway({ env });
  const { apiKey } = await gateway.createKey();
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
}

const messages = [{ role: 'user' as const, content: 'Hi' }];
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer', minimum: 1 } },
  required: ['city', 'people'],
  additionalProperties: false,
};
const format = {
  type: 'json_schema' as const,
  json_schema: { name: 'place', strict: true, schema },
};

/** The last request that the upstream got. */
function sent(): Record<string, unknown> {
  const { body } = gateway.simulator.journal.requests().at(-1)!;
  return JSON.parse(String(body)) as Record<string, unknown>;
}

describe('the gateway by default', () => {
  beforeAll(() => start({}));
  afterAll(() => gateway.stop());

  it('ignores schemas and web searches without an error, and adds neither thinking nor cache points', async () => {
    const { data, response } = await client.chat.completions
      .create({
        model: 'claude-opus-5',
        messages,
        response_format: format,
        web_search_options: {},
      })
      .withResponse();
    expect(data.choices[0]?.message.content).toMatch(/simulator/);
    expect(response.headers.get('x-gateway-translation-notes')).toBe(
      'response_format ignored, web_search_options ignored',
    );
    expect(Object.keys(sent()).sort()).toEqual(['max_tokens', 'messages', 'model']);
  });

  it('caches the steps of an agent, and no single question', async () => {
    const tool = { type: 'function' as const, function: { name: 'run' } };
    const task = `${'Do as the rules say. '.repeat(300)} Call run.`;
    const history: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: task }];
    /** The input in tokens of full price, and all input. */
    let paid = 0;
    let all = 0;
    for (let step = 0; step < 20; step += 1) {
      const { choices, usage } = await client.chat.completions.create({
        model: 'claude-opus-5',
        messages: history,
        tools: [tool],
      });
      const { message } = choices[0]!;
      history.push(message);
      for (const { id } of message.tool_calls ?? []) {
        history.push({ role: 'tool', tool_call_id: id, content: `${String(step)} `.repeat(2_000) });
      }
      if (message.tool_calls === undefined) history.push({ role: 'user', content: 'Call run.' });
      const details = usage!.prompt_tokens_details as {
        cached_tokens: number;
        cache_write_tokens: number;
      };
      const { cached_tokens: read, cache_write_tokens: written } = details;
      all += usage!.prompt_tokens;
      paid += usage!.prompt_tokens - read - written + read * 0.1 + written * 1.25;
    }
    expect(paid / all).toBeLessThan(0.3);

    const single = { model: 'claude-opus-5', messages: [{ role: 'user' as const, content: task }] };
    await client.chat.completions.create(single);
    expect(gateway.simulator.journal.requests().at(-1)?.body?.toString()).not.toContain(
      'cache_control',
    );
    await client.chat.completions.create({ ...single, tools: [tool], tool_choice: 'required' });
    expect(gateway.simulator.journal.requests().at(-1)?.body?.toString()).not.toContain(
      'cache_control',
    );
  });

  it('leaves web searches out of requests of the Responses API, with a note', async () => {
    const { data, response } = await client.responses
      .create({ model: 'claude-opus-5', input: 'search for Bern', tools: [{ type: 'web_search' }] })
      .withResponse();
    expect(response.headers.get('x-gateway-translation-notes')).toContain('tools[0] dropped');
    expect(data.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(sent()).not.toHaveProperty('tools');
  });
});

describe('the gateway with all chat features on', () => {
  beforeAll(() =>
    start({
      CHAT_JSON_SCHEMA: 'native',
      CHAT_REASONING: 'reasoning_content',
      CHAT_CACHE: 'always',
      ALLOW_FEATURES: 'web_search',
    }),
  );
  afterAll(() => gateway.stop());
  afterEach(() => {
    gateway.simulator.reset();
  });

  it.each(['claude-opus-5', 'claude-haiku-4-5'])(
    'gets JSON that satisfies a schema from %s, plain and streamed',
    async (model) => {
      const parsed = await client.chat.completions.parse({
        model,
        messages,
        response_format: format,
      });
      const content: unknown = JSON.parse(parsed.choices[0]?.message.content ?? '');
      expect(content).toEqual({ city: expect.any(String), people: expect.any(Number) });
      const stream = client.chat.completions.stream({ model, messages, response_format: format });
      const streamed = await stream.finalChatCompletion();
      expect(JSON.parse(streamed.choices[0]?.message.content ?? '')).toEqual(content);
    },
  );

  it('refuses a strict schema that cannot be guaranteed, naming its path', async () => {
    const open = { type: 'object', properties: { a: { type: 'object' } }, required: ['a'] };
    const json_schema = { name: 'x', strict: true, schema: open };
    const response_format = { type: 'json_schema' as const, json_schema };
    await expect(
      client.chat.completions.create({ model: 'claude-opus-5', messages, response_format }),
    ).rejects.toMatchObject({
      status: 400,
      param: 'response_format.json_schema.schema',
      message: expect.stringContaining('schema.properties.a allows members of any name'),
    });
  });

  it('streams thinking as it is generated, then again with its signature, and sends it upstream when a client returns it', async () => {
    const stream = await client.chat.completions.create({
      model: 'claude-opus-4-8',
      messages,
      reasoning_effort: 'high',
      stream: true,
    });
    let thought = '';
    let signed: object[] = [];
    let pieces = 0;
    for await (const { choices } of stream) {
      const delta = (choices[0]?.delta ?? {}) as {
        reasoning_content?: string;
        thinking_blocks?: object[];
      };
      if (delta.reasoning_content !== undefined) pieces += 1;
      thought += delta.reasoning_content ?? '';
      signed = [...signed, ...(delta.thinking_blocks ?? [])];
    }
    expect(pieces).toBeGreaterThan(1);
    expect(signed).toEqual([
      { index: 0, type: 'thinking', thinking: thought, signature: expect.stringMatching(/./) },
    ]);
    const answer = { role: 'assistant' as const, content: 'Hello.', thinking_blocks: signed };
    await client.chat.completions.create({
      model: 'claude-opus-4-8',
      messages: [...messages, answer, { role: 'user', content: 'Why?' }],
    });
    expect(sent()['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: thought }, { type: 'text' }] },
      { role: 'user' },
    ]);
  });

  it('lets the upstream read a repeated conversation from its cache', async () => {
    const long = 'A long instruction. '.repeat(200);
    const first = [{ role: 'system' as const, content: long }, ...messages];
    const model = 'claude-opus-5';
    const one = await client.chat.completions.create({ model, messages: first });
    const two = await client.chat.completions.create({
      model,
      messages: [
        ...first,
        { role: 'assistant', content: 'Hello.' },
        { role: 'user', content: 'Go on.' },
      ],
    });
    expect(one.usage?.prompt_tokens_details?.cached_tokens).toBe(0);
    expect(two.usage?.prompt_tokens_details?.cached_tokens).toBeGreaterThanOrEqual(1000);
  });

  it('searches the web, names the cited pages, and charges the usage', async () => {
    const { data: completion, response } = await client.chat.completions
      .create({
        model: 'claude-sonnet-4-6',
        messages: [{ role: 'user', content: 'search for Bern' }],
        web_search_options: {},
      })
      .withResponse();
    expect(sent()['tools']).toMatchObject([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
    ]);
    expect(completion.choices[0]?.message.annotations).toMatchObject([
      { type: 'url_citation', url_citation: { url: 'https://example.org/', start_index: 0 } },
    ]);
    const { prompt_tokens: read, completion_tokens: written } = completion.usage!;
    const details = completion.usage!.prompt_tokens_details as { cache_write_tokens: number };
    const cached = details.cache_write_tokens;
    // 3 and 15 USD per million tokens, in units of 10^-14 USD. Cache writes cost 1.25 times the
    // input rate.
    const charge =
      BigInt(read - cached) * 300_000_000n +
      BigInt(cached) * 375_000_000n +
      BigInt(written) * 1_500_000_000n;
    expect(response.headers.get('x-gateway-charge-usd')).toBe(formatUsd(charge));
  });

  it('searches the web for clients of the Responses API, plain and streamed', async () => {
    const request = {
      model: 'claude-sonnet-4-6',
      input: 'search for Bern',
      tools: [{ type: 'web_search' as const }],
      store: false,
    };
    const { data: plain, response } = await client.responses.create(request).withResponse();
    expect(sent()['tools']).toMatchObject([
      { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
    ]);
    const cited = { type: 'url_citation', url: 'https://example.org/', start_index: 0 };
    const [search, message] = [
      { type: 'web_search_call', status: 'completed', action: { query: expect.any(String) } },
      { type: 'message', content: [{ annotations: [cited] }, { annotations: [] }] },
    ];
    expect(plain.output.filter(({ type }) => type === 'web_search_call')).toMatchObject([search]);
    expect(plain.output.at(-1)).toMatchObject(message);
    // 3 and 15 USD per million tokens, in units of 10^-14 USD. Cache writes cost 1.25 times the
    // input rate.
    const { input_tokens: read, output_tokens: out, input_tokens_details: details } = plain.usage!;
    const { cache_write_tokens: cached } = details;
    const charge =
      BigInt(read - cached) * 300_000_000n +
      BigInt(cached) * 375_000_000n +
      BigInt(out) * 1_500_000_000n;
    expect(response.headers.get('x-gateway-charge-usd')).toBe(formatUsd(charge));

    const events: string[] = [];
    const stream = client.responses.stream(request).on('event', ({ type }) => events.push(type));
    const streamed = await stream.finalResponse();
    expect(streamed.output.map(({ type }) => type)).toEqual(plain.output.map(({ type }) => type));
    expect(streamed.output.at(-1)).toMatchObject(message);
    expect(events).toEqual(
      expect.arrayContaining([
        'response.web_search_call.in_progress',
        'response.web_search_call.searching',
        'response.web_search_call.completed',
        'response.output_text.annotation.added',
      ]),
    );

    // The client sends the whole output again, and the search goes upstream with it.
    const output = streamed.output as OpenAI.Responses.ResponseInputItem[];
    const next = [{ role: 'user' as const, content: 'search for Bern' }, ...output];
    const again = await client.responses
      .create({ ...request, input: [...next, { role: 'user', content: 'And?' }] })
      .withResponse();
    expect(again.response.headers.get('x-gateway-translation-notes')).toBeNull();
    expect(again.data.status).toBe('completed');
  });
});
