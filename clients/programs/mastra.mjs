/**
 * Mastra: text, a stream, a tool loop, structured output and a second turn, with OpenAI's provider
 * of the AI SDK as it stores and refers by default, with `store: false`, and with Mastra's own
 * router in the chat format.
 */

import { match } from 'node:assert/strict';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { routed, stored } from './mastra.mjs';

const schema = z.object({ city: z.string(), people: z.number().int() });
const get_weather = createTool({
  id: 'get_weather',
  description: 'Weather',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => 'sunny',
});
const SENDS_ITEMS = { providerOptions: { openai: { store: false } } };

await check('stored', stored, {});
await check('store: false', stored, SENDS_ITEMS);
await check('router', routed, {});

async function check(name, modelOf, options) {
  for (const model of ['claude-opus-5', 'claude-opus-5-5']) {
    const agent = new Agent({
      id: 'agent',
      name: 'agent',
      instructions: 'Be brief.',
      model: modelOf(model),
      tools: { get_weather },
    });
    const called = await agent.generate('Call get_weather', { ...options, maxSteps: 3 });
    match(called.text, /sunny/);
    report(`${name} ${model} tool`, called.totalUsage);

    // The whole conversation, as Mastra keeps it, with the call and the thinking of the first turn.
    const messages = [
      { role: 'user', content: 'Call get_weather' },
      ...called.response.messages,
      { role: 'user', content: 'And again' },
    ];
    const next = await agent.generate(messages, options);
    match(next.text, /And again/);
    report(`${name} ${model} second turn`, next.totalUsage);

    const streamed = await agent.stream('Call get_weather', { ...options, maxSteps: 3 });
    match(await streamed.text, /sunny/);
    report(`${name} ${model} stream`, await streamed.totalUsage);
  }
  const plain = new Agent({
    id: 'plain',
    name: 'plain',
    instructions: 'Be brief.',
    model: modelOf('claude-opus-5'),
  });
  const { object, totalUsage } = await plain.generate('Hello', {
    ...options,
    structuredOutput: { schema },
  });
  schema.parse(object);
  report(`${name} structuredOutput`, totalUsage);
}

function report(check, { inputTokens: input, outputTokens: output }) {
  console.log(JSON.stringify({ check, usage: { input, output } }));
}
