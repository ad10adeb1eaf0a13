/**
 * Vercel's AI SDK with its three providers: text, streams, objects, tools, thinking. OpenAI's
 * provider uses the Responses API, unless `.chat` is called.
 */

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const apiKey = process.env.OPENAI_API_KEY;
const baseURL = process.env.OPENAI_BASE_URL;
const model = 'claude-opus-5';
const schema = z.object({ city: z.string(), people: z.number().int() });
/** The Responses provider refers to items of earlier steps by default. This makes it send them. */
const SENDS_ITEMS = { openai: { store: false } };
const providers = {
  openai: createOpenAI({ apiKey, baseURL })(model),
  'openai.chat': createOpenAI({ apiKey, baseURL }).chat(model),
  'openai-compatible': createOpenAICompatible({
    name: 'gateway',
    apiKey,
    baseURL,
    includeUsage: true,
    supportsStructuredOutputs: true,
  })(model),
  anthropic: createAnthropic({ apiKey, baseURL })(model),
};

function report(check, { inputTokens: input, outputTokens: output }) {
  console.log(JSON.stringify({ check, usage: { input, output } }));
}

for (const [name, provider] of Object.entries(providers)) {
  const { usage } = await generateText({ model: provider, prompt: 'Hello' });
  report(`${name} generateText`, usage);

  const streamed = streamText({ model: provider, prompt: 'Hello' });
  if ((await streamed.text) === '') throw new Error('no text');
  report(`${name} streamText`, await streamed.usage);

  const { object, usage: objectUsage } = await generateObject({
    model: provider,
    schema,
    prompt: 'Hello',
  });
  schema.parse(object);
  report(`${name} generateObject`, objectUsage);

  const tools = {
    get_weather: tool({
      description: 'Weather',
      inputSchema: z.object({ city: z.string() }),
      execute: () => 'sunny',
    }),
  };
  for (const providerOptions of name === 'openai' ? [{}, SENDS_ITEMS] : [{}]) {
    const steps = await generateText({
      model: provider,
      prompt: 'Call get_weather',
      providerOptions,
      tools,
      stopWhen: stepCountIs(3),
    });
    if (!steps.text.includes('sunny')) throw new Error(steps.text);
    report(`${name} tools`, steps.totalUsage);
  }
}

const first = await generateText({ model: providers.openai, prompt: 'Hello' });
report('openai first response', first.usage);
const { responseId } = first.providerMetadata.openai;
const next = await generateText({
  model: providers.openai,
  prompt: 'Go on',
  providerOptions: { openai: { previousResponseId: responseId } },
});
if (next.usage.inputTokens <= first.usage.inputTokens) throw new Error('is not continued');
report('openai previousResponseId', next.usage);

const { reasoningText, usage } = await generateText({
  model: providers['openai-compatible'],
  prompt: 'Hello',
});
if (!reasoningText) throw new Error('no reasoning');
report('openai-compatible reasoning', usage);

// These models check that what precedes their thinking is as it was when they thought. What a step
// changes must not be an error, with items that are sent and with items that are referred to.
const BINDING = process.env.BINDING_MODELS.split(',');
const STEPS = {
  'other tools': [{}, { activeTools: ['other'] }],
  'a forced call': [{ toolChoice: { type: 'tool', toolName: 'get_weather' } }],
  'any call': [{ toolChoice: 'required' }],
  'other instructions': [{ system: 'Be brief.' }, { system: 'Be kind.' }, { system: 'Be quick.' }],
};
const lookUp = (name) =>
  tool({ description: name, inputSchema: z.object({}), execute: () => 'sunny' });
for (const binding of BINDING) {
  for (const [what, changes] of Object.entries(STEPS)) {
    for (const [how, providerOptions] of [
      ['stored', {}],
      ['sent', SENDS_ITEMS],
    ]) {
      const changing = await generateText({
        model: createOpenAI({ apiKey, baseURL })(binding),
        prompt: 'Call get_weather',
        providerOptions,
        tools: { get_weather: lookUp('get_weather'), other: lookUp('other') },
        prepareStep: ({ stepNumber }) => changes[stepNumber] ?? {},
        stopWhen: stepCountIs(4),
      });
      if (!changing.text.includes('sunny')) throw new Error(changing.text);
      report(`openai prepareStep with ${what}, ${binding}, ${how}`, changing.totalUsage);
    }
  }
}
