/** The Responses API of OpenAI's SDK, both generations, against the running gateway. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import OpenAI from 'openai';
import OpenAI6 from 'openai-6';
import { MODEL, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let keyId: string;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway();
  ({ id: keyId, apiKey } = await gateway.createKey());
});
afterEach(() => {
  gateway.simulator.reset();
});
afterAll(() => gateway.stop());

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tool = (name: string) => ({
  type: 'function' as const,
  name,
  description: 'Tells something of a city',
  parameters: schema,
  strict: false,
});

/** The price of a usage object, recomputed from it alone: 3 and 15 USD per million tokens. */
function priceOf(usage: OpenAI.Responses.ResponseUsage): bigint {
  const { cached_tokens: read, cache_write_tokens: written } = usage.input_tokens_details;
  const rate = parseUsd('3') / 1_000_000n;
  const plain = BigInt(usage.input_tokens - read - written);
  return (
    plain * rate +
    (BigInt(read) * rate * 10n) / 100n +
    (BigInt(written) * rate * 125n) / 100n +
    BigInt(usage.output_tokens) * rate * 5n
  );
}

async function spent(): Promise<bigint> {
  return parseUsd((await gateway.call('showKey', { key_id: keyId })).spent_usd);
}

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

  it('creates a response whose usage determines the charge', async () => {
    const before = await spent();
    const { data, response: http } = await client.responses
      .create({ model: MODEL, instructions: 'Be brief.', input: 'Hello', store: true })
      .withResponse();
    expect(data).toMatchObject({ object: 'response', status: 'completed', model: MODEL });
    expect(data.output_text).toContain('Hello');
    expect(data).toHaveProperty('store', true);
    expect(http.headers.get('x-gateway-translation-notes')).toBe(null);
    const charge = priceOf(data.usage!);
    expect(http.headers.get('x-gateway-charge-usd')).toBe(formatUsd(charge));
    expect((await spent()) - before).toBe(charge);
    const { data: entries } = await gateway.call('listLedger', { key_id: keyId, kind: 'charge' });
    expect(entries[0]).toMatchObject({ endpoint: 'responses', streamed: false });
  });

  it('streams a response from which the stream helper makes the same items as in a plain response', async () => {
    const params = {
      model: MODEL,
      input: 'Call get_weather for Paris',
      tools: [tool('get_weather')],
      reasoning: { summary: 'auto' as const },
    };
    gateway.simulator.script({ splitBytes: 7 });
    const before = await spent();
    const final = await client.responses.stream(params).finalResponse();
    expect((await spent()) - before).toBe(priceOf(final.usage!));
    const plain = await client.responses.create(params);
    const shapeOf = ({ output }: OpenAI.Responses.Response) =>
      output.map((item) => ({
        type: item.type,
        text: item.type === 'message' ? item.content : undefined,
        call: item.type === 'function_call' ? [item.name, item.arguments] : undefined,
      }));
    expect(shapeOf(final)).toMatchObject(shapeOf(plain));
    expect(final.output.at(-1)?.type).toBe('function_call');
  });

  it('replays its output in the next request: thinking, calls, custom calls and their results', async () => {
    const thinking = { type: 'thinking', thinking: 'Hm', signature: 'c2ln' };
    gateway.simulator.script({
      content: [
        thinking,
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
        { type: 'tool_use', id: 'toolu_2', name: 'sh', input: { input: 'ls "a"\n' } },
      ],
      stopReason: 'tool_use',
    });
    const tools = [tool('get_weather'), { type: 'custom' as const, name: 'sh' }];
    const first = await client.responses
      .stream({ model: MODEL, input: 'Go', tools })
      .finalResponse();
    expect(first.output).toMatchObject([
      { type: 'reasoning', summary: [] },
      { type: 'message', content: [{ text: 'Let me see.' }] },
      { type: 'function_call', name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { type: 'custom_tool_call', name: 'sh', input: 'ls "a"\n' },
    ]);
    const second = await client.responses.create({
      model: MODEL,
      tools,
      input: [
        { role: 'user', content: 'Go' },
        ...(first.output as OpenAI.Responses.ResponseInputItem[]),
        { type: 'custom_tool_call_output', call_id: 'toolu_2', output: 'a' },
        { type: 'function_call_output', call_id: 'toolu_1', output: 'rain' },
      ],
    });
    expect(second.output_text).toBe('The tool said: rain; a');
    const { body } = gateway.simulator.journal.requests().at(-1)!;
    expect(JSON.parse(String(body)).messages[1].content).toEqual([
      thinking,
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'toolu_2', name: 'sh', input: { input: 'ls "a"\n' } },
    ]);
  });

  it('parses an answer that satisfies a schema', async () => {
    const format = { type: 'json_schema' as const, name: 'place', strict: true, schema };
    const params = { model: MODEL, input: 'Where is the tower?', text: { format } };
    const parsed = await client.responses.parse(params);
    expect(parsed.output_parsed ?? JSON.parse(parsed.output_text)).toEqual({
      city: expect.any(String),
    });
    const streamed = await client.responses.stream(params).finalResponse();
    expect(JSON.parse(streamed.output_text)).toEqual({ city: expect.any(String) });
  });

  it('sends images and files', async () => {
    const response = await client.responses.create({
      model: MODEL,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            {
              type: 'input_image',
              detail: 'auto',
              image_url: 'data:image/png;base64,iVBORw0KGgo=',
            },
            { type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' },
          ],
        },
      ],
    });
    expect(response.output_text).toContain('What is this?');
    const { body } = gateway.simulator.journal.requests()[0]!;
    expect(JSON.parse(String(body)).messages[0].content).toMatchObject([
      { type: 'text' },
      { type: 'image' },
      { type: 'document' },
    ]);
  });

  it('counts the tokens of a request, which costs nothing', async () => {
    const params = {
      model: MODEL,
      instructions: 'Be brief.',
      input: 'What is the weather in Paris?',
    };
    const before = await spent();
    const counted = await client.responses.inputTokens.count(params);
    expect(await spent()).toBe(before);
    const { usage } = await client.responses.create(params);
    expect(counted).toEqual({
      object: 'response.input_tokens',
      input_tokens: usage!.input_tokens,
    });
  });

  it('reads the status `incomplete` if an answer was cut off or the model refused to answer', async () => {
    const cut = await client.responses.create({
      model: MODEL,
      input: 'Hello',
      max_output_tokens: 3,
    });
    expect(cut).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    gateway.simulator.script({ stopReason: 'refusal', content: [] });
    const refused = await client.responses.stream({ model: MODEL, input: 'Hello' }).finalResponse();
    expect(refused).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'content_filter' },
      output: [{ content: [{ type: 'refusal' }] }],
    });
  });

  it('reads the status, param, code and request id of errors', async () => {
    await expect(
      client.responses.create({ model: MODEL, input: 'Hi', previous_response_id: 'resp_1' }),
    ).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
      code: 'previous_response_not_found',
      requestID: expect.stringMatching(/^req_/),
    });
    await expect(client.responses.retrieve('resp_1')).rejects.toMatchObject({ status: 404 });
    const stranger = create({ baseURL: `${gateway.url}/v1`, apiKey: 'gw_unknown' });
    await expect(stranger.responses.create({ model: MODEL, input: 'Hi' })).rejects.toMatchObject({
      status: 401,
    });
    expect(gateway.simulator.journal.requests()).toEqual([]);
  });

  it('throws on an error in the middle of a stream, which costs nothing', async () => {
    const before = await spent();
    gateway.simulator.script({
      streamError: { afterEvents: 3, type: 'overloaded_error', message: 'Overloaded' },
    });
    const stream = client.responses.stream({ model: MODEL, input: 'Tell me something' });
    await expect(stream.finalResponse()).rejects.toThrow(/Overloaded/);
    expect(await spent()).toBe(before);
  });
});
