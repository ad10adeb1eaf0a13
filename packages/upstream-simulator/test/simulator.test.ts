import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import Anthropic0 from 'anthropic-sdk-0';
import { ERROR_STATUS, SCENARIOS, startUpstreamSimulator } from '../src/index.js';
import type { ErrorType, UpstreamSimulator } from '../src/index.js';

const MODEL = 'claude-sonnet-4-6';
const ask = (content: string) => ({
  model: MODEL,
  max_tokens: 200,
  messages: [{ role: 'user' as const, content }],
});

let simulator: UpstreamSimulator;
beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: 'sim', allowScriptText: true });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
});

describe.each([
  ['1.x', () => new Anthropic({ baseURL: simulator.url, apiKey: 'sim', maxRetries: 0 })],
  [
    '0.137',
    () =>
      new Anthropic0({
        baseURL: simulator.url,
        apiKey: 'sim',
        maxRetries: 0,
      }) as unknown as Anthropic,
  ],
] as const)('@anthropic-ai/sdk %s', (_generation, create) => {
  let client: Anthropic;
  beforeAll(() => {
    client = create();
  });

  it('gets the same reply to a repeated request and to a streamed one, and the journal has each usage', async () => {
    const first = await client.messages.create(ask('Hello'));
    const second = await client.messages.create(ask('Hello'));
    const streamed = await client.messages.stream(ask('Hello')).finalMessage();
    expect(second.content).toEqual(first.content);
    expect(streamed.content).toEqual(first.content);
    expect(streamed.usage.output_tokens).toBe(first.usage.output_tokens);
    const usages = simulator.journal.usages();
    expect(usages).toHaveLength(3);
    expect(usages[0]).toMatchObject({
      messageId: first.id,
      streamed: false,
      usage: { input_tokens: first.usage.input_tokens, output_tokens: first.usage.output_tokens },
    });
  });

  it.each(Object.keys(SCENARIOS))(
    'accumulates the stream of scenario %s into the message that it gets without a stream',
    async (scenario) => {
      const text = `[[script:${JSON.stringify({ scenario })}]]`;
      const plain = await client.messages.create(ask(text));
      // The beta helper knows every block type, in beta or not.
      const streamed = await client.beta.messages.stream(ask(text)).finalMessage();
      expect(streamed.content).toEqual(plain.content);
      expect(streamed.stop_reason).toBe(plain.stop_reason);
    },
  );

  it('receives a tool call, and a reply to the result of the tool', async () => {
    const tools = [
      {
        name: 'get_weather',
        input_schema: {
          type: 'object' as const,
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
      },
    ];
    const first = await client.messages.create({ ...ask('Use get_weather'), tools });
    const call = first.content.find((block) => block.type === 'tool_use');
    expect(first.stop_reason).toBe('tool_use');
    expect(call?.input).toEqual({ city: 'Paris' });
    const second = await client.messages.create({
      ...ask(''),
      tools,
      messages: [
        { role: 'user', content: 'Use get_weather' },
        { role: 'assistant', content: first.content },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call!.id, content: 'sunny' }],
        },
      ],
    });
    expect(second.content).toMatchObject([{ type: 'text', text: 'The tool said: sunny' }]);
  });

  it('calls a tool with the input of a line `tool:NAME {…}`, or with a sampled one if there is none', async () => {
    const input_schema = {
      type: 'object' as const,
      properties: { city: { type: 'string' } },
      required: ['city'],
    };
    const inputsOf = async (content: string) => {
      const tools = ['look_up', 'look'].map((name) => ({ name, input_schema }));
      const message = await client.messages.stream({ ...ask(content), tools }).finalMessage();
      return message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ [block.name]: block.input }] : [],
      );
    };
    const given = { city: 'Os\nlo', size: 1 };
    const lines = `Do this:\ntool:look ${JSON.stringify(given)}\ntool:look_up {"city":"Rome"}\nNow.`;
    expect(await inputsOf(lines)).toEqual([{ look_up: { city: 'Rome' } }, { look: given }]);
    const sampled = [{ look: { city: 'Paris' } }];
    expect(await inputsOf('tool:look {"city":}')).toEqual(sampled);
    expect(await inputsOf('Not a line of its own: tool:look {"city":"Rome"}')).toEqual(sampled);
  });

  it('parses a reply in the requested format, plain and streamed', async () => {
    const format = jsonSchemaOutputFormat({
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where?' },
        since: { type: ['integer', 'null'] },
        tags: { type: 'array', items: { enum: ['old', 'new'] }, minItems: 1 },
      },
      required: ['city', 'since', 'tags'],
    } as const);
    const request = { ...ask('Where?'), output_config: { format } };
    const expected = { city: 'Paris', since: 42, tags: ['old'] };
    const { messages } = client.beta;
    const answers = [
      await client.messages.parse(request),
      await client.messages.stream(request).finalMessage(),
      await messages.parse(request),
      await messages.stream(request).finalMessage(),
      await messages.parse({ ...ask('Where?'), output_format: format }),
    ];
    for (const { content, parsed_output: parsed } of answers) {
      expect(parsed).toEqual(expected);
      expect(content).toMatchObject([{ type: 'text', text: JSON.stringify(expected) }]);
    }
  });

  it('reads every error type with its status', async () => {
    for (const [type, status] of Object.entries(ERROR_STATUS)) {
      simulator.script({ error: { type: type as ErrorType, message: 'No.' } });
      await expect(client.messages.create(ask('Hello'))).rejects.toMatchObject({ status });
    }
  });

  it('counts tokens and lists models', async () => {
    const { max_tokens: _unused, ...request } = ask('Hello there');
    expect((await client.messages.countTokens(request)).input_tokens).toBeGreaterThan(0);
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toContain(MODEL);
    await expect(client.models.retrieve('none')).rejects.toMatchObject({ status: 404 });
  });
});

describe('the simulator', () => {
  const send = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${simulator.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': 'sim',
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  it('writes a marked prefix to its cache once, and reads it after', async () => {
    const marked = (ttl: '5m' | '1h') => ({
      ...ask('Hello'),
      system: [
        { type: 'text', text: `long `.repeat(1_000), cache_control: { type: 'ephemeral', ttl } },
      ],
    });
    const first = (await (await send(marked('1h'))).json()).usage;
    const second = (await (await send(marked('1h'))).json()).usage;
    expect(first.cache_creation_input_tokens).toBe(1_250);
    expect(first.cache_creation).toEqual({
      ephemeral_5m_input_tokens: 0,
      ephemeral_1h_input_tokens: first.cache_creation_input_tokens,
    });
    expect(second).toMatchObject({
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: first.cache_creation_input_tokens,
      input_tokens: first.input_tokens,
    });
  });

  describe('its prompt cache', () => {
    const long = 'A long question. '.repeat(300);
    const mark = { cache_control: { type: 'ephemeral' } };
    const marked = (text: string) => [{ type: 'text', text, ...mark }];
    const usageOf = async (...messages: (string | object[])[]) => {
      const turns = messages.map((content, index) => ({
        role: index % 2 === 0 ? 'user' : 'assistant',
        content,
      }));
      return (await (await send({ ...ask('a'), messages: turns })).json()).usage;
    };

    it.each([
      ['20 blocks', 9, 1_275],
      ['22 blocks', 10, 0],
    ])('reads an entry from a mark at most 20 blocks later: %s', async (_title, rounds, read) => {
      await usageOf(marked(long));
      const between = Array.from({ length: 2 * rounds }, (_, index) => `turn ${String(index)}`);
      const usage = await usageOf(long, ...between.slice(1), marked('more'));
      expect(usage.cache_read_input_tokens).toBe(read);
    });

    it('does not cache a short prefix', async () => {
      await usageOf(marked('short'));
      expect(await usageOf(marked('short'))).toMatchObject({
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      });
    });
  });

  it.each([
    ['no max_tokens', { ...ask('a'), max_tokens: undefined }, 'max_tokens: Field required'],
    ['an unknown field', { ...ask('a'), seed: 1 }, 'seed: Extra inputs are not permitted'],
    ['empty text', ask(''), 'text content blocks must be non-empty'],
    ['blank text', ask(' \n'), 'must contain non-whitespace text'],
    [
      'temperature and top_p',
      { ...ask('a'), temperature: 1, top_p: 0.5 },
      'cannot both be specified',
    ],
    [
      'sampling on a new model',
      { ...ask('a'), model: 'claude-opus-5-5', temperature: 0.5 },
      'deprecated for this model',
    ],
    [
      'a forced tool on a model that does not support it',
      {
        ...ask('a'),
        model: 'claude-opus-5-5',
        tools: [{ name: 't', input_schema: { type: 'object' } }],
        tool_choice: { type: 'any' },
      },
      'not supported for this model',
    ],
    [
      'tool_choice without tools',
      { ...ask('a'), tool_choice: { type: 'auto' } },
      'while providing tools',
    ],
    [
      'a call without its result',
      {
        ...ask('a'),
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'n', input: {} }] },
          { role: 'user', content: 'b' },
        ],
      },
      'without `tool_result` blocks immediately after',
    ],
    [
      'a final assistant message',
      {
        ...ask('a'),
        messages: [
          { role: 'user', content: 'a' },
          { role: 'assistant', content: 'b' },
        ],
      },
      'prefill',
    ],
  ])('refuses %s', async (_what, body, text) => {
    const response = await send(body);
    const answer = await response.json();
    expect(response.status).toBe(400);
    expect(answer.error.type).toBe('invalid_request_error');
    expect(answer.error.message).toContain(text);
    expect(simulator.journal.usages()).toHaveLength(0);
  });

  it('refuses a wrong credential, path or version', async () => {
    expect((await send(ask('a'), { 'x-api-key': 'other' })).status).toBe(401);
    expect((await send(ask('a'), { 'anthropic-version': '2020-01-01' })).status).toBe(400);
    const elsewhere = await fetch(`${simulator.url}/v1/files`, { headers: { 'x-api-key': 'sim' } });
    expect(elsewhere.status).toBe(404);
  });

  it('gives simultaneous requests different ids', async () => {
    const responses = await Promise.all(Array.from({ length: 50 }, () => send(ask('Hello'))));
    const messages = await Promise.all(responses.map((response) => response.json()));
    expect(new Set(messages.map(({ id }) => id)).size).toBe(50);
    expect(new Set(responses.map(({ headers }) => headers.get('request-id'))).size).toBe(50);
  });

  it('journals the bytes of a request and none of its credentials', async () => {
    await send(ask('Hello'), { 'x-custom': 'kept' });
    const [request] = simulator.journal.requests();
    expect(request?.body?.toString()).toBe(JSON.stringify(ask('Hello')));
    expect(request?.headers['x-custom']).toBe('kept');
    expect(JSON.stringify(request?.headers)).not.toContain('"sim"');
  });

  it('breaks streams as scripted: cut, reset, error, stall, garbage, one byte at a time', async () => {
    const streamed = { ...ask('Hello'), stream: true };
    const whole = await (await send(streamed)).text();

    simulator.script({ splitBytes: 1 });
    const split = await (await send(streamed)).text();
    expect(split.replace(/msg_\w+/g, '')).toBe(whole.replace(/msg_\w+/g, ''));

    simulator.script({ cut: { afterEvents: 4 } });
    const cut = await (await send(streamed)).text();
    expect(cut).not.toContain('message_stop');
    expect(cut.split('\n\n').length).toBe(5);

    simulator.script({ cut: { afterEvents: 4, how: 'reset' } });
    await expect(send(streamed).then((response) => response.text())).rejects.toThrow();

    simulator.script({ streamError: { afterEvents: 2, type: 'overloaded_error' } });
    expect(await (await send(streamed)).text()).toContain('event: error\ndata: {"type":"error"');

    simulator.script({ garbage: { afterEvents: 2, bytes: '\0\0not an event' } });
    expect(await (await send(streamed)).text()).toContain('not an event');

    simulator.script({ stallAfterEvents: 2 });
    const stalled = await send(streamed, {});
    const reader = stalled.body!.getReader();
    expect((await reader.read()).done).toBe(false);
    const silence = await Promise.race([
      reader.read().then(() => 'bytes'),
      new Promise((resolve) => setTimeout(() => resolve('silence'), 100)),
    ]);
    expect(silence).toBe('silence');
    await reader.cancel();
    expect(simulator.journal.usages()).toHaveLength(3);
  });
});
