/** Requests to the simulated clouds, and what their clients saw. */

import { createSign, generateKeyPairSync } from 'node:crypto';
import { expect } from '@jest/globals';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type {
  Message,
  MessageCreateParamsNonStreaming,
  RawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/messages';
import { startUpstreamSimulator } from '../src/index.js';

export function ask(model: string, content: string): MessageCreateParamsNonStreaming {
  return { model, max_tokens: 200, messages: [{ role: 'user', content }] };
}

export const TOOLS = [
  {
    name: 'get_weather',
    input_schema: {
      type: 'object' as const,
      properties: { city: { type: 'string' } },
      required: ['city'],
    },
  },
];

/** A client of messages: of Anthropic's own API or of a cloud. */
export interface MessagesClient {
  readonly messages: {
    create(params: MessageCreateParamsNonStreaming): PromiseLike<Message>;
    create(
      params: Omit<MessageCreateParamsNonStreaming, 'stream'> & { stream: true },
    ): PromiseLike<AsyncIterable<RawMessageStreamEvent>>;
  };
}

interface Conversation {
  readonly plain: Message;
  readonly events: readonly RawMessageStreamEvent[];
  readonly called: Message;
  readonly answered: Message;
}

/** A message, the events of a stream, a call of a tool and the answer to its result. */
async function converse(client: MessagesClient, model: string): Promise<Conversation> {
  const plain = await client.messages.create(ask(model, 'Hello'));
  const stream = await client.messages.create({
    ...ask(model, 'Use get_weather, ünd 😀'),
    tools: TOOLS,
    stream: true,
  });
  const events: RawMessageStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  const first = { ...ask(model, 'Use get_weather'), tools: TOOLS };
  const called = await client.messages.create(first);
  // An id of the same length everywhere, because the simulator counts its characters.
  const content = called.content.map((block) =>
    block.type === 'tool_use' ? { ...block, id: 'toolu_called' } : block,
  );
  const result = { type: 'tool_result' as const, tool_use_id: 'toolu_called', content: 'sunny' };
  const answered = await client.messages.create({
    ...first,
    messages: [
      ...first.messages,
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ],
  });
  return { plain, events, called, answered };
}

/** The same in both, whatever the ids. */
function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value).replace(/\b(msg|toolu)_(?:[a-z]+_)?01[\w]{22}/g, '$1');
  return JSON.parse(text.replace(/,"amazon-bedrock-invocationMetrics":\{[^}]*\}/g, ''));
}

/** Expects that a cloud says what Anthropic's own API says, with ids of its own. */
export async function expectNativeAnswers(
  client: MessagesClient,
  model: string,
  native: { readonly model: string; readonly id: RegExp },
): Promise<void> {
  const simulator = await startUpstreamSimulator({ apiKey: 'native' });
  const anthropic = new Anthropic({ baseURL: simulator.url, apiKey: 'native' });
  const expected = await converse(anthropic, native.model);
  const seen = await converse(client, model);
  await simulator.close();
  expect(withoutIds(seen)).toEqual(withoutIds(expected));
  expect(seen.plain.id).toMatch(native.id);
  expect(seen.events.length).toBeGreaterThan(5);
}

/** What a client reports about a request that the place refused. */
export async function refusalOf(request: PromiseLike<unknown>): Promise<{
  readonly status: number | undefined;
  readonly body: unknown;
  readonly header: (name: string) => string | null | undefined;
}> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return {
      status: error.status,
      body: error.error,
      header: (name) => (error.headers as Headers | undefined)?.get(name),
    };
  }
  throw new Error('The request was not refused');
}

/** A key pair in PEM. */
export function keyPair(): { readonly publicKey: string; readonly privateKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2_048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

/** A token of a platform, in its time unless the claims say otherwise. */
export function signedToken(claims: object, privateKey: string): string {
  const iat = Math.floor(Date.now() / 1_000);
  const signed = [
    { alg: 'RS256', typ: 'JWT' },
    { iat, exp: iat + 600, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`;
}

/** Longer than the context window of the older models, in tokens of the simulator. */
export const TOO_LONG = 'long '.repeat(200_000);
