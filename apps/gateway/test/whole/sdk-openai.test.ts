/** OpenAI's SDK, both generations, against the running gateway. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { MODEL, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ apiKey } = await gateway.createKey());
});
afterAll(() => gateway.stop());

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
};
const tool = (name: string) => ({
  type: 'function' as const,
  function: { name, description: 'Tells something of a city', parameters },
});

describe.each([
  [
    '7.x',
    (options: { baseURL: string; apiKey: string }) => new OpenAI({ ...options, maxRetries: 0 }),
  ],
  [
    '6.x',
    // The members used here have the same types in both generations.
    (options: { baseURL: string; apiKey: string }) =>
      new OpenAI6({ ...options, maxRetries: 0 }) as unknown as OpenAI,
  ],
] as const)('openai %s', (_generation, create) => {
  let client: OpenAI;
  beforeAll(() => {
    client = create({ baseURL: `${gateway.url}/v1`, apiKey });
  });

  it('creates one completion although n is 3, with usage that adds up', async () => {
    const completion = await client.chat.completions.create({
      model: MODEL,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      n: 3,
      seed: 7,
      logprobs: true,
      temperature: 1.5,
    });
    expect(completion).toMatchObject({ object: 'chat.completion', model: MODEL });
    expect(completion.choices).toHaveLength(1);
    expect(completion.choices[0]).toMatchObject({
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', content: expect.any(String) },
    });
    const { prompt_tokens, completion_tokens, total_tokens } = completion.usage!;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
  });

  it('assembles from a stream the same text and total usage as the plain response has', async () => {
    const params = {
      model: MODEL,
      messages: [{ role: 'user' as const, content: 'Tell me something' }],
    };
    const plain = await client.chat.completions.create(params);
    const stream = client.chat.completions.stream({
      ...params,
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]!.message.content).toBe(plain.choices[0]!.message.content);
    expect(await stream.totalUsage()).toMatchObject({ total_tokens: plain.usage!.total_tokens });
  });

  it('ends every stream with usage: in a chunk of its own if requested, otherwise with the finish reason', async () => {
    const params = {
      model: MODEL,
      stream: true as const,
      messages: [{ role: 'user' as const, content: 'Hello' }],
    };
    const unasked = await collect(await client.chat.completions.create(params));
    expect(unasked.every((chunk) => chunk.choices.length === 1)).toBe(true);
    expect(unasked.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
    expect(unasked.at(-1)!.usage!.total_tokens).toBeGreaterThan(0);

    const asked = await collect(
      await client.chat.completions.create({ ...params, stream_options: { include_usage: true } }),
    );
    expect(asked.at(-1)).toMatchObject({ choices: [] });
    expect(asked.at(-1)!.usage).toEqual(unasked.at(-1)!.usage);
    expect(asked.slice(0, -1).every((chunk) => chunk.usage == null)).toBe(true);
  });

  it('receives parallel tool calls, plain and streamed', async () => {
    const params = {
      model: MODEL,
      tools: [tool('get_weather'), tool('get_time')],
      messages: [{ role: 'user' as const, content: 'Call get_weather and get_time for Paris' }],
    };
    const plain = await client.chat.completions.create(params);
    const names = (calls: readonly unknown[] | undefined): unknown[] =>
      (calls ?? []).map((call) => (call as { function: { name: string } }).function.name);
    expect(plain.choices[0]!.finish_reason).toBe('tool_calls');
    expect(names(plain.choices[0]!.message.tool_calls)).toEqual(['get_weather', 'get_time']);
    const streamed = await client.chat.completions.stream(params).finalChatCompletion();
    expect(names(streamed.choices[0]!.message.tool_calls)).toEqual(['get_weather', 'get_time']);
  });

  it('completes a tool loop', async () => {
    const cities: string[] = [];
    const runner = client.chat.completions.runTools({
      model: MODEL,
      messages: [{ role: 'user', content: 'Please call get_weather for Paris' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Tells the weather of a city',
            parameters,
            parse: JSON.parse,
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return 'sunny';
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toEqual(expect.any(String));
    expect(cities).toHaveLength(1);
  });

  it('gets a JSON object if it asks for one, and text if it asks for a schema, which is ignored', async () => {
    const ask = (response_format: OpenAI.ChatCompletionCreateParams['response_format']) =>
      client.chat.completions.create({
        model: MODEL,
        messages: [{ role: 'user', content: 'Give me an object' }],
        ...(response_format === undefined ? {} : { response_format }),
      });
    const object = await ask({ type: 'json_object' });
    expect(JSON.parse(object.choices[0]!.message.content!)).toEqual(expect.any(Object));
    const schema = await ask({
      type: 'json_schema',
      json_schema: { name: 'thing', strict: true, schema: { type: 'object' } },
    });
    expect(schema.choices[0]!.message.content).toEqual(expect.any(String));
  });

  it('parses tool calls with its own helper, which throws on text that is not JSON', async () => {
    const parsed = await client.chat.completions.parse({
      model: MODEL,
      messages: [{ role: 'user', content: 'Please call get_weather for Paris' }],
      tools: [
        { ...tool('get_weather'), function: { ...tool('get_weather').function, strict: true } },
      ],
    });
    expect(parsed.choices[0]!.message.tool_calls).toMatchObject([
      { function: { name: 'get_weather', parsed_arguments: { city: expect.any(String) } } },
    ]);
    const prose = client.chat.completions.parse({
      model: MODEL,
      messages: [{ role: 'user', content: 'Give me an object' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'thing', strict: true, schema: { type: 'object' } },
      },
    });
    // A schema is ignored, so the model may answer in prose, which the helper cannot parse.
    await expect(prose).rejects.toMatchObject({ name: 'SyntaxError' });
  });

  it('replays a conversation with system messages, parallel calls and their results', async () => {
    const call = (id: string, name: string) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: '{"city":"Paris","n":12345678901234567890}' },
    });
    const completion = await client.chat.completions.create({
      model: MODEL,
      stop: ['\n\nHuman:', ''],
      tools: [tool('get_weather'), tool('get_time')],
      messages: [
        { role: 'system', content: 'First.' },
        { role: 'user', content: 'Weather and time?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [call('call:1', 'get_weather'), call('call:2', 'get_time')],
        },
        { role: 'tool', tool_call_id: 'call:2', content: 'noon' },
        { role: 'tool', tool_call_id: 'call:1', content: 'sunny' },
        { role: 'developer', content: 'Second.' },
      ],
    });
    expect(completion.choices[0]!.message.content).toContain('sunny; noon');
    const [request] = gateway.simulator.journal.requests().slice(-1);
    const sent = request!.body!.toString();
    expect(JSON.parse(sent)).toMatchObject({
      system: [{ text: 'First.' }],
      stop_sequences: ['\n\nHuman:'],
    });
    // A system message after the first answer stays in its place. In `system` it would change the
    // cached prefix.
    expect(sent.indexOf('Second.')).toBeGreaterThan(sent.indexOf('sunny'));
    expect(sent).toContain('12345678901234567890');
  });

  it('sends images by URL and as data', async () => {
    const png =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
    await client.chat.completions.create({
      model: MODEL,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'https://images.test/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: `data:image/jpg;base64,${png}` } },
          ],
        },
      ],
    });
    const [request] = gateway.simulator.journal.requests().slice(-1);
    expect(JSON.parse(request!.body!.toString()).messages[0].content).toEqual([
      { type: 'text', text: 'What is this?' },
      { type: 'image', source: { type: 'url', url: 'https://images.test/a.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
    ]);
  });

  it('lists and retrieves models', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain(MODEL);
    expect(await client.models.retrieve(MODEL)).toMatchObject({ id: MODEL, object: 'model' });
  });

  it('reads the status, type, code, param and request id of errors', async () => {
    const params = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hello' }] };
    const stranger = create({ baseURL: `${gateway.url}/v1`, apiKey: 'gw_nobody' });
    await expect(stranger.chat.completions.create(params)).rejects.toMatchObject({
      status: 401,
      type: 'authentication_error',
      code: 'invalid_api_key',
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(
      client.chat.completions.create({ ...params, model: 'nothing' }),
    ).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    await expect(
      client.chat.completions.create({ ...params, tools: [tool('')] }),
    ).rejects.toMatchObject({ status: 400, param: 'tools[0].function.name' });
  });

  it('retries only errors that a retry can fix', async () => {
    const { apiKey: limited } = await gateway.createKey({ burst: 1, requests_per_minute: 60 });
    const params = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hello' }] };
    const patient = create({ baseURL: `${gateway.url}/v1`, apiKey: limited }).withOptions({
      maxRetries: 2,
    });
    await patient.chat.completions.create(params);
    expect(await patient.chat.completions.create(params)).toMatchObject({
      object: 'chat.completion',
    });

    gateway.simulator.reset();
    gateway.simulator.script({ error: { type: 'billing_error', message: 'pay' } });
    const retrying = create({ baseURL: `${gateway.url}/v1`, apiKey }).withOptions({
      maxRetries: 2,
    });
    await expect(retrying.chat.completions.create(params)).rejects.toMatchObject({ status: 503 });
    expect(gateway.simulator.journal.requests()).toHaveLength(1);
  });

  it('throws on an error in the middle of a stream', async () => {
    gateway.simulator.script({
      streamError: { afterEvents: 3, type: 'overloaded_error', message: 'Overloaded' },
    });
    const stream = client.chat.completions.stream({
      model: MODEL,
      messages: [{ role: 'user', content: 'Tell me something' }],
    });
    await expect(stream.finalChatCompletion()).rejects.toThrow(/Overloaded/);
  });
});

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
