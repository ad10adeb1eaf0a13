/** The complete example in the README is the file in `examples`. It compiles and works. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import OpenAI from 'openai';
import { answerWith } from '../answer-with.js';
import { chatCompletions } from '../examples/native-upstream.js';

const README = readFileSync(join(__dirname, '../../README.md'), 'utf8');

afterEach(() => {
  jest.restoreAllMocks();
});

describe('README', () => {
  it('shows the example unchanged', () => {
    const code = readFileSync(join(__dirname, '../examples/native-upstream.ts'), 'utf8');
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
    expect(sent).toMatchObject([{ model: 'claude-sonnet-5', max_tokens: 21_333 }]);
  });

  it('refuses a request that it cannot translate', async () => {
    const bad = { ...ask, messages: [] };
    await expect(client.chat.completions.create(bad)).rejects.toMatchObject({
      status: 400,
      param: 'messages',
    });
  });
});
