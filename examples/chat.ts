/**
 * A chat in the terminal, with OpenAI's SDK: answers each line, and says what the answer cost.
 *
 *   API_KEY=gw_… node chat.ts
 */

import { createInterface } from 'node:readline';
import OpenAI from 'openai';

const { GATEWAY_URL = 'http://127.0.0.1:8080', API_KEY, MODEL = 'claude-opus-5' } = process.env;
const openai = new OpenAI({ baseURL: `${GATEWAY_URL}/v1`, apiKey: API_KEY });
const messages: OpenAI.ChatCompletionMessageParam[] = [];

for await (const question of createInterface({ input: process.stdin })) {
  messages.push({ role: 'user', content: question });
  const stream = await openai.chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let answer = '';
  for await (const { choices, usage } of stream) {
    const text = choices[0]?.delta.content ?? '';
    answer += text;
    process.stdout.write(text);
    // The gateway adds the charge to the usage. It is a text, because a number would be rounded.
    if (usage && 'charge_usd' in usage) {
      process.stdout.write(`\n(${String(usage.charge_usd)} USD)\n`);
    }
  }
  messages.push({ role: 'assistant', content: answer });
}
