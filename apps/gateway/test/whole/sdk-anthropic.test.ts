/** Anthropic's own SDK, both generations, against the running gateway. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import Anthropic0 from 'anthropic-sdk-0';
import { z } from 'zod';
import { MODEL, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ apiKey } = await gateway.createKey());
});
afterAll(() => gateway.stop());

const weather = {
  name: 'get_weather',
  description: 'Tells the weather of a city',
  input_schema: {
    type: 'object' as const,
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
const question = { role: 'user' as const, content: 'Please call get_weather for Paris' };

describe.each([
  [
    '1.x',
    (options: { baseURL: string; apiKey: string }) => new Anthropic({ ...options, maxRetries: 0 }),
  ],
  [
    '0.137',
    // The members used here have the same types in both generations.
    (options: { baseURL: string; apiKey: string }) =>
      new Anthropic0({ ...options, maxRetries: 0 }) as unknown as Anthropic,
  ],
] as const)('@anthropic-ai/sdk %s', (_generation, create) => {
  let client: Anthropic;
  beforeAll(() => {
    client = create({ baseURL: gateway.url, apiKey });
  });

  it('creates a message', async () => {
    const message = await client.messages.create({
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(message).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' });
    expect(message.content[0]).toMatchObject({ type: 'text' });
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  it('streams a message from which its helper makes the same message as without a stream', async () => {
    const params = {
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Tell me something' }],
    };
    const plain = await client.messages.create(params);
    const events: string[] = [];
    const stream = client.messages.stream(params);
    stream.on('streamEvent', (event) => events.push(event.type));
    const final = await stream.finalMessage();
    expect(final.content).toEqual(plain.content);
    expect(final.usage.output_tokens).toBe(plain.usage.output_tokens);
    expect(events[0]).toBe('message_start');
    expect(events.at(-1)).toBe('message_stop');
  });

  it('runs a tool loop: call, result, answer', async () => {
    const first = await client.messages.create({
      model: MODEL,
      max_tokens: 200,
      tools: [weather],
      messages: [question],
    });
    expect(first.stop_reason).toBe('tool_use');
    const call = first.content.find((block) => block.type === 'tool_use');
    expect(call).toMatchObject({ name: 'get_weather', input: { city: expect.any(String) } });
    const second = await client.messages.create({
      model: MODEL,
      max_tokens: 200,
      tools: [weather],
      messages: [
        question,
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call!.id, content: 'sunny' }],
        },
      ],
    });
    expect(second.stop_reason).toBe('end_turn');
  });

  it('completes a tool loop with its tool runner, which in 1.x first asks for a server-side conversation', async () => {
    const cities: unknown[] = [];
    const final = await client.beta.messages.toolRunner({
      model: MODEL,
      max_tokens: 200,
      messages: [question],
      tools: [
        {
          ...weather,
          type: 'custom',
          parse: (input: unknown) => input,
          run: (input: unknown) => {
            cities.push(input);
            return 'sunny';
          },
        },
      ],
    });
    expect(cities).toEqual([{ city: 'Paris' }]);
    expect(final.content).toMatchObject([{ type: 'text', text: 'The tool said: sunny' }]);
  });

  it('parses answers into the types of the client, plain and streamed', async () => {
    const format = zodOutputFormat(
      z.object({
        name: z.string().describe('The city'),
        founded: z.iso.date().nullable(),
        population: z.number().int().positive().max(9),
        twins: z.array(z.object({ name: z.string(), kind: z.enum(['sister', 'partner']) })),
        seat: z.discriminatedUnion('of', [
          z.object({ of: z.literal('state'), email: z.email() }),
          z.object({ of: z.literal('county'), id: z.uuid().optional() }),
        ]),
      }),
    );
    const params = {
      model: MODEL,
      max_tokens: 200,
      messages: [{ role: 'user' as const, content: 'Describe Paris' }],
      output_config: { format },
    };
    const parsed = await client.messages.parse(params);
    expect(parsed.parsed_output).toEqual({
      name: 'Paris',
      founded: '2026-01-01',
      population: 9,
      twins: [{ name: 'Paris', kind: 'sister' }],
      seat: { of: 'state', email: 'user@example.com' },
    });
    const streamed = await client.messages.stream(params).finalMessage();
    expect(streamed.parsed_output).toEqual(parsed.parsed_output);
  });

  it('counts tokens, free of charge', async () => {
    const before = await gateway.call('listLedger', { kind: 'charge', limit: 1000 });
    const count = await client.messages.countTokens({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(count.input_tokens).toBeGreaterThan(0);
    const after = await gateway.call('listLedger', { kind: 'charge', limit: 1000 });
    expect(after.data).toHaveLength(before.data.length);
  });

  // F83
  it('lists and retrieves models', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain(MODEL);
    // Page by page, from either end.
    const inPages: string[] = [];
    let page = await client.models.list({ limit: 3 });
    for (; ; page = await page.getNextPage()) {
      inPages.push(...page.data.map(({ id }) => id));
      expect(page.data.length).toBeLessThanOrEqual(3);
      if (!page.hasNextPage()) break;
    }
    expect(inPages).toEqual(ids);
    const upwards: string[] = [];
    for await (const model of client.models.list({ limit: 4, before_id: ids.at(-1)! })) {
      upwards.push(model.id);
    }
    expect(upwards.sort()).toEqual(ids.slice(0, -1).sort());
    expect(await client.models.retrieve(MODEL)).toMatchObject({ id: MODEL, type: 'model' });
    await expect(client.models.retrieve('nothing')).rejects.toMatchObject({ status: 404 });
  });

  it('creates a message in its beta namespace, and the betas reach the upstream', async () => {
    const message = await client.beta.messages.create({
      model: MODEL,
      max_tokens: 100,
      betas: ['interleaved-thinking-2025-05-14'],
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(message.type).toBe('message');
    const [request] = gateway.simulator.journal.requests().slice(-1);
    expect(request?.headers['anthropic-beta']).toBe('interleaved-thinking-2025-05-14');
  });

  it('sends `safeguards` with its beta, and without it gets the error of the upstream', async () => {
    const params = {
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Hello' }],
      // No published type has this member.
      safeguards: [{ type: 'dangerous_tool_use' }],
    };
    const betas = ['dangerous-tool-use-2026-09-03'];
    const message = await client.beta.messages.create({ ...params, betas });
    expect(message.type).toBe('message');
    await expect(client.beta.messages.create(params)).rejects.toMatchObject({
      status: 400,
      error: { error: { message: 'safeguards: Extra inputs are not permitted' } },
    });
  });

  it('reads the status, type and request id of errors', async () => {
    const stranger = create({ baseURL: gateway.url, apiKey: 'gw_nobody' });
    const params = {
      model: MODEL,
      max_tokens: 10,
      messages: [{ role: 'user' as const, content: 'Hello' }],
    };
    await expect(stranger.messages.create(params)).rejects.toMatchObject({
      name: expect.any(String),
      status: 401,
      requestID: expect.stringMatching(/^req_/),
      error: { error: { type: 'authentication_error' } },
    });
    await expect(client.messages.create({ ...params, model: 'nothing' })).rejects.toMatchObject({
      status: 404,
      error: { error: { type: 'not_found_error' } },
    });
    await expect(client.messages.create({ ...params, messages: [] })).rejects.toMatchObject({
      status: 400,
    });
  });

  it('retries only errors that a retry can fix', async () => {
    const { apiKey: limited } = await gateway.createKey({ burst: 1, requests_per_minute: 60 });
    const patient = create({ baseURL: gateway.url, apiKey: limited }).withOptions({
      maxRetries: 2,
    });
    const params = {
      model: MODEL,
      max_tokens: 10,
      messages: [{ role: 'user' as const, content: 'Hello' }],
    };
    await patient.messages.create(params);
    expect(await patient.messages.create(params)).toMatchObject({ type: 'message' });

    gateway.simulator.reset();
    gateway.simulator.script({
      status: 401,
      error: { type: 'authentication_error', message: 'invalid x-api-key' },
    });
    const retrying = create({ baseURL: gateway.url, apiKey }).withOptions({ maxRetries: 2 });
    await expect(retrying.messages.create(params)).rejects.toMatchObject({ status: 502 });
    expect(gateway.simulator.journal.requests()).toHaveLength(1);
  });

  it('throws on an error in the middle of a stream', async () => {
    gateway.simulator.script({
      streamError: { afterEvents: 3, type: 'overloaded_error', message: 'Overloaded' },
    });
    const stream = client.messages.stream({
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Tell me something' }],
    });
    await expect(stream.finalMessage()).rejects.toMatchObject({ type: 'overloaded_error' });
  });
});
