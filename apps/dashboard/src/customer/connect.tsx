/** Settings for clients, ready to be copied. */

import { useState } from 'preact/hooks';
import { send } from '../shared/api/api.js';
import type { Answer } from '../shared/api/api.js';
import { Choice, CodeBlock, FailureNote, Segments } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { FoundCharge } from './ledger.js';
import { call, gatewayUrl, isLink, keyForSettings } from './session.js';

const PLACEHOLDER = 'YOUR_API_KEY';

const CLIENTS = [
  ['claude-code', 'Claude Code'],
  ['codex', 'Codex'],
  ['opencode', 'opencode'],
  ['cline', 'Cline'],
  ['aider', 'aider'],
  ['anthropic', 'Anthropic SDK'],
  ['openai', 'OpenAI SDK'],
  ['curl', 'curl'],
  ['ai-sdk', 'Vercel AI SDK'],
  ['langchain', 'LangChain'],
] as const;
type Client = (typeof CLIENTS)[number][0];

interface Settings {
  readonly key: string;
  readonly model: string;
}

/** @param props.isFirst - Whether nothing was sent yet, so that the key is shown at once. */
export function Connect({ isFirst = false }: { readonly isFirst?: boolean }) {
  const [client, setClient] = useState<Client>('claude-code');
  const [showsKey, setShowsKey] = useState(isFirst);
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
        <Segments label="Client" value={client} options={CLIENTS} onValue={setClient} wraps />
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
        <p class="quiet">
          To fill in your key here, or to send a test request, sign out and in again.
        </p>
      )}
      {SETTINGS[client]({ key, model }).map(([what, text]) => (
        <div class="stack" key={what}>
          <h3>{what}</h3>
          <CodeBlock text={text} what={`settings for ${what}`} />
        </div>
      ))}
      {ownKey !== undefined && ids.length > 0 && <TestRequest apiKey={ownKey} model={model} />}
    </section>
  );
}

/** Sends one short request with the key of the person, and shows what it cost. */
function TestRequest({ apiKey, model }: { readonly apiKey: string; readonly model: string }) {
  const [isSending, setIsSending] = useState(false);
  const [outcome, setOutcome] = useState<Answer<unknown>>();
  async function ask() {
    setIsSending(true);
    setOutcome(undefined);
    const body = { model, max_tokens: 16, messages: [{ role: 'user', content: 'Say hello.' }] };
    const headers = { authorization: `Bearer ${apiKey}`, 'anthropic-version': '2023-06-01' };
    setOutcome(await send(`${gatewayUrl}/v1/messages`, { method: 'POST', headers, body }));
    setIsSending(false);
  }
  const id = outcome?.ok === true ? messageId(outcome.value) : undefined;
  return (
    <div class="stack">
      <h3>Test request</h3>
      <p class="row middle">
        <button type="button" disabled={isSending} onClick={() => void ask()}>
          {isSending ? 'Sending…' : 'Send a test request'}
        </button>
        <span class="quiet">A few words to {model}, charged like any request.</span>
      </p>
      {outcome?.ok === false && <FailureNote failure={outcome.failure} what="the test request" />}
      {id !== undefined && (
        <div class="stack" role="status">
          <p>It works.</p>
          <FoundCharge id={id} of="key" leads />
        </div>
      )}
    </div>
  );
}

/** The id of the answer, which also finds its request and its charge. */
function messageId(answer: unknown): string | undefined {
  if (typeof answer !== 'object' || answer === null || !('id' in answer)) return undefined;
  return typeof answer.id === 'string' ? answer.id : undefined;
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
  codex: ({ key, model }) => [
    [
      '~/.codex/config.toml',
      `model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "gateway"
base_url = "${gatewayUrl}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
model_catalog_url = "${gatewayUrl}/v1/models"`,
    ],
    ['Environment', `export GATEWAY_KEY=${key}\ncodex`],
  ],
  opencode: ({ key, model }) => [
    [
      'opencode.json',
      JSON.stringify(
        {
          model: `gateway/${model}`,
          provider: {
            gateway: {
              npm: '@ai-sdk/anthropic',
              options: { baseURL: `${gatewayUrl}/v1`, apiKey: key },
              models: { [model]: {} },
            },
          },
        },
        null,
        2,
      ),
    ],
  ],
  cline: ({ key, model }) => [
    ['Command', `cline auth -p openai -k ${key} -m ${model} -b ${gatewayUrl}/v1`],
  ],
  aider: ({ key, model }) => [
    [
      'Environment',
      `export ANTHROPIC_API_BASE=${gatewayUrl}
export ANTHROPIC_API_KEY=${key}
aider --model anthropic/${model} --cache-prompts`,
    ],
    [
      '.aider.model.settings.yml',
      `- name: anthropic/${model}
  edit_format: diff
  use_temperature: false
  cache_control: true`,
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
