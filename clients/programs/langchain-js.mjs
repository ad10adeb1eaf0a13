/**
 * LangChain for JavaScript, with both providers: invoke, tools, and structured output by the
 * default method; streams with ChatOpenAI only.
 */

import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const apiKey = process.env.OPENAI_API_KEY;
const model = 'claude-opus-5';
const Place = z.object({ city: z.string(), people: z.number().int() });
const chat = new ChatOpenAI({
  model,
  apiKey,
  configuration: { baseURL: process.env.OPENAI_BASE_URL },
  streamUsage: true,
});
const anthropic = new ChatAnthropic({
  model,
  apiKey,
  anthropicApiUrl: process.env.ANTHROPIC_BASE_URL,
  maxTokens: 1000,
});

function report(check, { usage_metadata: usage }) {
  const { input_tokens: input, output_tokens: output } = usage;
  console.log(JSON.stringify({ check, usage: { input, output } }));
}

for (const [name, llm] of Object.entries({ ChatOpenAI: chat, ChatAnthropic: anthropic })) {
  report(`${name} invoke`, await llm.invoke('Hello'));
  const bound = llm.bindTools([
    { name: 'get_weather', description: 'Weather', schema: z.object({ city: z.string() }) },
  ]);
  const called = await bound.invoke('Call get_weather');
  if (called.tool_calls.length !== 1) throw new Error('no call');
  report(`${name} bindTools`, called);
  const structured = llm.withStructuredOutput(Place, { includeRaw: true });
  const { raw, parsed } = await structured.invoke('Hello');
  Place.parse(parsed);
  report(`${name} withStructuredOutput`, raw);
}

let whole;
for await (const chunk of await chat.stream('Hello')) whole = whole?.concat(chunk) ?? chunk;
report('ChatOpenAI stream', whole);
