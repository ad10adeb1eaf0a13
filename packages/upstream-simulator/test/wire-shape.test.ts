/**
 * The exact members of an answer. Clients that check them, such as the Vercel AI SDK, refuse a
 * member that is null where the API leaves it out. The expected shapes are those of responses that
 * other projects recorded from the API in September 2026.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SCENARIOS, startUpstreamSimulator } from '../src/index.js';
import type { JsonObject, UpstreamSimulator } from '../src/index.js';

let simulator: UpstreamSimulator;
beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: 'sim' });
});
afterAll(() => simulator.close());
beforeEach(() => {
  simulator.reset();
});

const QUESTION = {
  model: 'claude-opus-4-8',
  max_tokens: 200,
  messages: [{ role: 'user', content: 'Please call now' }],
};
const TOOL = { name: 'now', input_schema: { type: 'object', properties: {} } };

async function send(body: object): Promise<string> {
  const response = await fetch(`${simulator.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'sim', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return response.text();
}

async function eventsOf(body: object): Promise<JsonObject[]> {
  const text = await send({ ...body, stream: true });
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

const INPUT_USAGE = {
  input_tokens: 4,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};
const CACHE_CREATION = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
const SERVED = { service_tier: 'standard', inference_geo: 'global' };

describe('a message', () => {
  it('has the members that the API sends, and no others', async () => {
    const message = JSON.parse(await send(QUESTION));
    expect(message).toEqual({
      model: 'claude-opus-4-8',
      id: expect.stringMatching(/^msg_01\w{22}$/),
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: expect.any(String) }],
      container: null,
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      usage: {
        ...INPUT_USAGE,
        cache_creation: CACHE_CREATION,
        output_tokens: 43,
        output_tokens_details: { thinking_tokens: 0 },
        ...SERVED,
      },
      diagnostics: null,
    });
  });

  it('names the region of the request, except for models that have no choice of region', async () => {
    const geoOf = async (changes: object): Promise<unknown> =>
      JSON.parse(await send({ ...QUESTION, ...changes })).usage.inference_geo;
    expect(await geoOf({ inference_geo: 'us' })).toBe('us');
    expect(await geoOf({ model: 'claude-haiku-4-5' })).toBe('not_available');
  });
});

describe('a stream', () => {
  it('has the events and members that the API sends, and no others', async () => {
    const events = await eventsOf({ ...QUESTION, tools: [TOOL] });
    expect(events).toEqual([
      {
        type: 'message_start',
        message: {
          model: 'claude-opus-4-8',
          id: expect.any(String),
          type: 'message',
          role: 'assistant',
          content: [],
          container: null,
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          usage: {
            ...INPUT_USAGE,
            input_tokens: 20,
            cache_creation: CACHE_CREATION,
            output_tokens: 1,
            ...SERVED,
          },
          diagnostics: null,
        },
      },
      { type: 'ping' },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...['Let me look that', ' up.'].map((text) => ({
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text },
      })),
      { type: 'content_block_stop', index: 0 },
      {
        type: 'content_block_start',
        index: 1,
        content_block: {
          type: 'tool_use',
          id: expect.stringMatching(/^toolu_01\w{22}$/),
          name: 'now',
          input: {},
          caller: { type: 'direct' },
        },
      },
      {
        type: 'content_block_delta',
        index: 1,
        delta: { type: 'input_json_delta', partial_json: '' },
      },
      { type: 'content_block_stop', index: 1 },
      {
        type: 'message_delta',
        delta: {
          stop_reason: 'tool_use',
          stop_sequence: null,
          stop_details: null,
          container: null,
        },
        usage: {
          ...INPUT_USAGE,
          input_tokens: 20,
          output_tokens: expect.any(Number),
          output_tokens_details: { thinking_tokens: 0 },
        },
      },
      { type: 'message_stop' },
    ]);
  });
});

describe.each(Object.keys(SCENARIOS))('scenario %s', (scenario) => {
  // F84: client that does not expect `citations: null`: the simulator sends no such member, and
  // satisfies a requested schema. These clients worked with the provider's API, but not with the
  // simulator, which is the default upstream.
  it('has the member citations only in text blocks with citations', async () => {
    simulator.scriptWhen(() => true, { scenario });
    const { content } = JSON.parse(await send(QUESTION));
    const openings = (await eventsOf(QUESTION)).flatMap(({ content_block: block }) =>
      block === undefined ? [] : [block],
    );
    for (const block of [...content, ...openings].filter(({ type }) => type === 'text')) {
      const isCited = scenario === 'server_tool';
      expect(Object.keys(block).sort()).toEqual(
        isCited ? ['citations', 'text', 'type'] : ['text', 'type'],
      );
      if (isCited) expect(block.citations).toEqual(expect.any(Array));
    }
  });
});
