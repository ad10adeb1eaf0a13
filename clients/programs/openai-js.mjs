/** OpenAI's SDK for JavaScript: plain, streamed, `parse()`, a tool loop, thinking, a web search. */

import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

const client = new OpenAI();
const model = 'claude-opus-5';
const hello = [{ role: 'user', content: 'Hello' }];
const Place = z.object({ city: z.string(), people: z.number().int().min(1) });

function report(check, { usage }) {
  const { prompt_tokens: input, completion_tokens: output } = usage;
  console.log(JSON.stringify({ check, usage: { input, output } }));
}

report('create', await client.chat.completions.create({ model, messages: hello }));

const stream = client.chat.completions.stream({
  model,
  messages: hello,
  stream_options: { include_usage: true },
});
report('stream', { usage: await stream.totalUsage() });

const parsed = await client.chat.completions.parse({
  model,
  messages: hello,
  response_format: zodResponseFormat(Place, 'place'),
});
Place.parse(parsed.choices[0].message.parsed);
report('parse', parsed);

const runner = client.chat.completions.runTools({
  model,
  messages: [{ role: 'user', content: 'Call get_weather' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: { anyOf: [{ type: 'object', properties: { city: { type: 'string' } } }] },
        parse: JSON.parse,
        function: () => 'sunny',
      },
    },
  ],
});
const text = await runner.finalContent();
if (!text.includes('sunny')) throw new Error(text);
report('runTools', { usage: await runner.totalUsage() });

const thinking = await client.chat.completions.create({
  model,
  messages: hello,
  reasoning_effort: 'high',
});
if (!thinking.choices[0].message.reasoning_content) throw new Error('no thinking');
report('reasoning_effort', thinking);

const searched = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'search for Bern' }],
  web_search_options: {},
});
if (searched.choices[0].message.annotations.length === 0) throw new Error('no annotations');
report('web_search_options', searched);
