/** The complete examples in the README are the files in `examples`. They compile and work. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import OpenAI from 'openai';
import { anthropic } from './examples/chat-upstream.js';
import { chatCompletions } from './examples/native-upstream.js';

const README = readFileSync(join(__dirname, '../README.md'), 'utf8');

/** Makes the global `fetch` return a response. @returns the bodies that are sent */
function answerWith(status: number, body: string, type: string): unknown[] {
  const sent: unknown[] = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation((_url, init) => {
    sent.push(JSON.parse(init?.body as string));
    return Promise.resolve(new Response(body, { status, headers: { 'content-type': type } }));
  });
  return sent;
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('README', () => {
  it.each(['native-upstream', 'chat-upstream'])('shows the example %s unchanged', (name) => {
    const code = readFileSync(join(__dirname, `examples/${name}.ts`), 'utf8');
    expect(README).toContain(`\`\`\`ts\n${code}\`\`\``);
  });
});

describe('the example of a native upstream', () => {
  const client = new OpenAI({
    apiKey: 'key',
    maxRetries: 0,
    fetch: (url, init) => chatCompletions(new Request(url, init)),
  });
  const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

  it('answers OpenAI clients', async () => {
    const sent = answerWith(
      200,
      JSON.stringify({
        id: 'msg_1',
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 2 },
      }),
      'application/json',
    );
    const completion = await client.chat.completions.create(ask);
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(completion.usage?.total_tokens).toBe(3);
    expect(sent).toMatchObject([{ model: 'claude-sonnet-5', max_tokens: 128_000 }]);
  });

  it('refuses a request that it cannot translate', async () => {
    const bad = { ...ask, messages: [] };
    await expect(client.chat.completions.create(bad)).rejects.toMatchObject({
      status: 400,
      param: 'messages',
    });
  });
});

describe('the example of a chat upstream', () => {
  const ask = {
    model: 'claude-sonnet-5',
    max_tokens: 10,
    messages: [{ role: 'user' as const, content: 'Hi' }],
  };
  const chunk = (delta: object, rest: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c1', choices: [{ index: 0, delta, ...rest }] })}\n\n`;

  it('answers Anthropic clients', async () => {
    const choice = { message: { content: 'Hello' }, finish_reason: 'stop' };
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const body = JSON.stringify({ id: 'c1', choices: [choice], usage });
    const sent = answerWith(200, body, 'application/json');
    const message = await anthropic.messages.create(ask);
    expect(message.content).toEqual([{ type: 'text', text: 'Hello' }]);
    expect(message.usage).toMatchObject({ input_tokens: 1, output_tokens: 2 });
    expect(sent).toEqual([{ model: 'gpt-5', max_completion_tokens: 10, messages: ask.messages }]);
  });

  it('streams to Anthropic clients', async () => {
    const body = chunk({ content: 'Hel' }) + chunk({ content: 'lo' }, { finish_reason: 'stop' });
    answerWith(200, `${body}data: [DONE]\n\n`, 'text/event-stream');
    const message = await anthropic.messages.stream(ask).finalMessage();
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello' }]);
    expect(message.stop_reason).toBe('end_turn');
  });

  it('answers Anthropic clients with native errors', async () => {
    const error = { message: 'Check your plan.', code: 'insufficient_quota' };
    answerWith(429, JSON.stringify({ error }), 'application/json');
    await expect(anthropic.messages.create(ask)).rejects.toMatchObject({
      status: 402,
      type: 'billing_error',
    });
    await expect(anthropic.messages.create({ ...ask, max_tokens: 0 })).rejects.toMatchObject({
      status: 400,
      type: 'invalid_request_error',
    });
  });
});
