/**
 * A stream in Anthropic's own format, with its SDK: the gateway passes it byte for byte.
 *
 *   API_KEY=gw_… node stream.ts 'Why is the sky blue?'
 */

import Anthropic from '@anthropic-ai/sdk';

const { GATEWAY_URL = 'http://127.0.0.1:8080', API_KEY, MODEL = 'claude-opus-5' } = process.env;
const anthropic = new Anthropic({ baseURL: GATEWAY_URL, apiKey: API_KEY });
const [question = 'Hello'] = process.argv.slice(2);

const stream = anthropic.messages.stream({
  model: MODEL,
  max_tokens: 1000,
  messages: [{ role: 'user', content: question }],
});
stream.on('text', (text) => process.stdout.write(text));

// Rejects if the stream breaks off, or if the balance is used up: the message says which.
const { usage } = await stream.finalMessage();
process.stdout.write(
  `\n(${String(usage.input_tokens)} tokens in, ${String(usage.output_tokens)} out)\n`,
);
