/** Structured outputs: replies to `output_config.format`, and refused formats. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startUpstreamSimulator } from '../src/index.js';
import type { UpstreamSimulator } from '../src/index.js';
import { QUESTION, answerTo, asking, formatOf, refusalOf, send } from './format-requests.js';

let simulator: UpstreamSimulator;
beforeAll(async () => {
  simulator = await startUpstreamSimulator({ apiKey: 'sim' });
});
afterAll(() => simulator.close());

const BETA = { 'anthropic-beta': 'effort-2025-11-24, structured-outputs-2025-11-13' };
const PLACE = {
  type: 'object',
  properties: {
    zone: { type: 'string' },
    name: { type: 'string' },
    founded: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
    tags: { type: 'array', items: { enum: ['old', 'new'] }, minItems: 1 },
  },
  required: ['tags', 'name', 'founded'],
  additionalProperties: false,
};
const ANSWER = '{"name":"Paris","founded":"2026-01-01","tags":["old"]}';

describe('an answer in a format', () => {
  // F84
  it('is one text that satisfies the schema, its members in the order of the schema', async () => {
    const message = await answerTo(simulator, asking(PLACE));
    expect(message.content).toEqual([{ type: 'text', text: ANSWER }]);
    expect(message.stop_reason).toBe('end_turn');
    expect(await answerTo(simulator, asking(PLACE))).toMatchObject({ content: message.content });
  });

  it('is streamed in pieces of text', async () => {
    const text = await (await send(simulator, { ...asking(PLACE), stream: true })).text();
    const events = text.match(/(?<=^data: ).*/gm)?.map((json) => JSON.parse(json)) ?? [];
    const pieces = events.flatMap(({ delta }) => (delta?.type === 'text_delta' ? delta.text : []));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join('')).toBe(ANSWER);
    expect(events.filter(({ type }) => type === 'content_block_start')).toHaveLength(1);
    expect(events.at(-2).delta.stop_reason).toBe('end_turn');
  });

  it('may be cut off by max_tokens', async () => {
    const message = await answerTo(simulator, { ...asking(PLACE), max_tokens: 3 });
    expect(message).toMatchObject({
      content: [{ type: 'text', text: ANSWER.slice(0, 12) }],
      stop_reason: 'max_tokens',
      usage: { output_tokens: 3 },
    });
  });

  it('comes after thinking, and after tool results', async () => {
    const thought = await answerTo(simulator, {
      ...asking(PLACE),
      max_tokens: 2_000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
    });
    expect(thought.content).toMatchObject([{ type: 'thinking' }, { type: 'text', text: ANSWER }]);
    const use = { type: 'tool_use', id: 't1', name: 'get_weather', input: {} };
    const result = { type: 'tool_result', tool_use_id: 't1', content: 'sunny' };
    const messages = [
      ...QUESTION.messages,
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result] },
    ];
    const message = await answerTo(simulator, { ...asking(PLACE), messages });
    expect(message.content).toEqual([{ type: 'text', text: ANSWER }]);
  });

  it('may be replaced by a tool call without text before it', async () => {
    const tools = [{ name: 'get_weather', input_schema: PLACE }];
    const message = await answerTo(simulator, { ...asking(PLACE), tools });
    expect(message.content).toMatchObject([{ type: 'tool_use', input: JSON.parse(ANSWER) }]);
    expect(message.stop_reason).toBe('tool_use');
  });

  it('is also sent for the deprecated field with its beta', async () => {
    const request = { ...QUESTION, output_format: formatOf(PLACE) };
    const message = await answerTo(simulator, request, { headers: BETA });
    expect(message.content).toEqual([{ type: 'text', text: ANSWER }]);
    expect(await refusalOf(simulator, request)).toBe(
      "output_format: This field is deprecated. Use 'output_config.format' instead.",
    );
  });

  it('has the tokens of its schema in its usage; count_tokens counts them without checking the schema', async () => {
    const tokensOf = async ({ max_tokens: _unused, ...request }: typeof QUESTION) =>
      (await answerTo(simulator, request, { path: '/count_tokens' })).input_tokens;
    const extra = (await tokensOf(asking(PLACE))) - (await tokensOf(QUESTION));
    expect(extra).toBe(Math.ceil(JSON.stringify(PLACE).length / 4));
    const { usage } = await answerTo(simulator, asking(PLACE));
    expect(usage.input_tokens).toBe(await tokensOf(asking(PLACE)));
    expect(await tokensOf(asking({ oneOf: [] }))).toBeGreaterThan(0);
  });

  it('is not sent for a format of null, nor for an output_config without a format', async () => {
    for (const config of [{ format: null }, { effort: 'low' }]) {
      const request = { ...QUESTION, model: 'claude-sonnet-4-6', output_config: config };
      const message = await answerTo(simulator, request);
      expect(message.content[0].text).toContain('upstream simulator');
    }
  });
});

describe('a format that the API refuses', () => {
  it.each<[object, string]>([
    [{ type: 'json_object' }, "type: Input should be 'json_schema'"],
    [{ type: 'json_schema' }, 'schema: Input should be a valid dictionary'],
    [{ ...formatOf(PLACE), name: 'place' }, 'name: Extra inputs are not permitted'],
  ])('is %j', async (format, message) => {
    const request = { ...QUESTION, output_config: { format } };
    expect(await refusalOf(simulator, request)).toBe(`output_config.format.${message}`);
  });

  it('is any format in a request with a prefilled reply or with citations', async () => {
    const begun = [...QUESTION.messages, { role: 'assistant', content: '{' }];
    expect(await refusalOf(simulator, { ...asking(PLACE), messages: begun })).toContain('prefill');
    const source = { type: 'text', media_type: 'text/plain', data: 'Paris is old.' };
    const document = { type: 'document', source, citations: { enabled: true } };
    const cited = [{ role: 'user', content: [document, { type: 'text', text: 'Where?' }] }];
    expect(await refusalOf(simulator, { ...asking(PLACE), messages: cited })).toContain(
      'citations',
    );
  });

  it('is refused under the name output_format if it is in that deprecated field', async () => {
    const request = { ...QUESTION, output_format: formatOf({ oneOf: [] }) };
    expect(await refusalOf(simulator, request, { headers: BETA })).toBe(
      "output_format.schema: Schema type 'oneOf' is not supported",
    );
  });
});
