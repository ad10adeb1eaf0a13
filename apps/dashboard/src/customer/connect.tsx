/** Settings for clients, ready to be copied. */

import { useState } from 'preact/hooks';
import { Choice, CodeBlock, Segments } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { call, gatewayUrl, isLink, keyForSettings } from './session.js';

const PLACEHOLDER = 'YOUR_API_KEY';

const CLIENTS = [
  ['curl', 'curl'],
  ['anthropic', 'Anthropic SDK'],
  ['openai', 'OpenAI SDK'],
  ['claude-code', 'Claude Code'],
  ['ai-sdk', 'Vercel AI SDK'],
  ['langchain', 'LangChain'],
] as const;
type Client = (typeof CLIENTS)[number][0];

interface Settings {
  readonly key: string;
  readonly model: string;
}

export function Connect() {
  const [client, setClient] = useState<Client>('curl');
  const [showsKey, setShowsKey] = useState(false);
  const [chosen, setChosen] = useState<string>();
  const prices = useResource('prices', (signal) => call('GET /v1/dashboard/prices', { signal }));
  const ids = prices.value?.data.map(({ model: id }) => id) ?? [];
  const model = chosen ?? ids[0] ?? 'MODEL';
  const ownKey = keyForSettings();
  const key = showsKey && ownKey !== undefined ? ownKey : PLACEHOLDER;
  return (
    <section class="card" aria-label="Connect">
      <h2>Connect</h2>
      <p>
        Address: <code>{gatewayUrl}</code> for the Anthropic SDK and Claude Code,{' '}
        <code>{gatewayUrl}/v1</code> for OpenAI-style clients.
      </p>
      <div class="row">
        <Choice label="Client" value={client} options={CLIENTS} onValue={setClient} />
        {ids.length > 0 && (
          <Choice
            label="Model"
            value={model}
            options={ids.map((id) => [id, id] as const)}
            onValue={setChosen}
          />
        )}
        {ownKey !== undefined && (
          <Segments
            label="Key in the settings"
            value={showsKey ? 'own' : 'placeholder'}
            options={[
              ['placeholder', 'Placeholder'],
              ['own', 'My key'],
            ]}
            onValue={(value) => {
              setShowsKey(value === 'own');
            }}
          />
        )}
      </div>
      {ownKey === undefined && !isLink.value && (
        <p class="quiet">To have your key filled in here, sign out and in again.</p>
      )}
      {SETTINGS[client]({ key, model }).map(([what, text]) => (
        <div class="stack" key={what}>
          <h3>{what}</h3>
          <CodeBlock text={text} what={`settings for ${what}`} />
        </div>
      ))}
    </section>
  );
}

type Snippet = readonly [what: string, text: string];

const SETTINGS: Readonly<Record<Client, (settings: Settings) => readonly Snippet[]>> = {
  curl: ({ key, model }) => [
    [
      'Messages',
      `curl ${gatewayUrl}/v1/messages \\
  -H "Authorization: Bearer ${key}" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "content-type: application/json" \\
  -d '{"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}'`,
    ],
    [
      'Chat completions',
      `curl ${gatewayUrl}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "content-type: application/json" \\
  -d '{"model":"${model}","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}'`,
    ],
  ],
  anthropic: ({ key, model }) => [
    [
      'TypeScript',
      `import Anthropic from '@anthropic-ai/sdk';

const anthropic = new Anthropic({ baseURL: '${gatewayUrl}', apiKey: '${key}' });
const message = await anthropic.messages.create({
  model: '${model}',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
});`,
    ],
    [
      'Python',
      `from anthropic import Anthropic

client = Anthropic(base_url="${gatewayUrl}", api_key="${key}")
message = client.messages.create(
    model="${model}",
    max_tokens=100,
    messages=[{"role": "user", "content": "Hello"}],
)`,
    ],
  ],
  openai: ({ key, model }) => [
    [
      'TypeScript',
      `import OpenAI from 'openai';

const openai = new OpenAI({ baseURL: '${gatewayUrl}/v1', apiKey: '${key}' });
const completion = await openai.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
});`,
    ],
    [
      'Python',
      `from openai import OpenAI

client = OpenAI(base_url="${gatewayUrl}/v1", api_key="${key}")
completion = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)`,
    ],
  ],
  'claude-code': ({ key, model }) => [
    [
      'Environment',
      `export ANTHROPIC_BASE_URL=${gatewayUrl}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${model}
claude`,
    ],
  ],
  'ai-sdk': ({ key, model }) => [
    [
      'TypeScript',
      `import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText } from 'ai';

const anthropic = createAnthropic({ baseURL: '${gatewayUrl}/v1', apiKey: '${key}' });
const { text } = await generateText({ model: anthropic('${model}'), prompt: 'Hello' });`,
    ],
  ],
  langchain: ({ key, model }) => [
    [
      'Python',
      `from langchain_anthropic import ChatAnthropic

model = ChatAnthropic(model="${model}", base_url="${gatewayUrl}", api_key="${key}")
model.invoke("Hello")`,
    ],
    [
      'TypeScript',
      `import { ChatAnthropic } from '@langchain/anthropic';

const model = new ChatAnthropic({
  model: '${model}',
  apiKey: '${key}',
  anthropicApiUrl: '${gatewayUrl}',
});
await model.invoke('Hello');`,
    ],
  ],
};
