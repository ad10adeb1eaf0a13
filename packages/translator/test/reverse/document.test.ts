/** The complete example in `docs/reverse.md` is a file here. It compiles and works. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { answerWith } from '../answer-with.js';
import { anthropic } from './chat-upstream.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('docs/reverse.md shows the example unchanged', () => {
  const code = readFileSync(join(__dirname, 'chat-upstream.ts'), 'utf8');
  const document = readFileSync(join(__dirname, '../../docs/reverse.md'), 'utf8');
  expect(document).toContain(`\`\`\`ts\n${code}\`\`\``);
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
