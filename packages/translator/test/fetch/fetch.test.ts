/** `answerChat` and `answerResponses`: from a web request to a web response. */

import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { answerChat, answerResponses, type UpstreamCall } from '../../src/fetch/index.js';
import { optionsOf, type MessageEnd } from '../../src/index.js';

const options = optionsOf('claude-sonnet-5')!;
const MESSAGE = {
  id: 'msg_1',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 2 },
};
const { content: _, stop_reason, usage, ...start } = MESSAGE;
const STREAM = [
  { type: 'message_start', message: { ...start, content: [], usage } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason }, usage },
  { type: 'message_stop' },
];

function framed(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A client of OpenAI's SDK whose requests are answered here. */
function clientOf(upstream: () => Response | Promise<Response>) {
  const ends: MessageEnd[] = [];
  const sent: UpstreamCall[] = [];
  const rest = {
    ...options,
    send: (call: UpstreamCall) => {
      sent.push(call);
      return Promise.resolve(upstream());
    },
    onEnd: (end: MessageEnd) => void ends.push(end),
  };
  const client = new OpenAI({
    apiKey: 'key',
    maxRetries: 0,
    fetch: (url, init) => {
      const request = new Request(url, init);
      return new URL(request.url).pathname.endsWith('/responses')
        ? answerResponses(request, rest)
        : answerChat(request, rest);
    },
  });
  return { client, ends, sent };
}

const streamed = () => new Response(STREAM.map(framed).join(''));
const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

describe('an OpenAI client', () => {
  it('gets a plain answer in each format, after its end was awaited', async () => {
    const { client, ends, sent } = clientOf(() => Response.json(MESSAGE));
    const completion = await client.chat.completions.create(ask);
    expect(completion.choices[0]?.message.content).toBe('Hello');
    const response = await client.responses.create({ model: 'm', input: 'Hi' });
    expect(response.output_text).toBe('Hello');
    expect(ends).toMatchObject([
      { outcome: 'complete', messageId: 'msg_1', usage: { outcome: 'read' } },
      { outcome: 'complete', messageId: 'msg_1', usage: { outcome: 'read' } },
    ]);
    expect(sent[0]?.headers).toEqual({
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
    });
  });

  it('gets a stream in each format', async () => {
    const { client, ends } = clientOf(streamed);
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? '';
    }
    for await (const event of await client.responses.create({
      model: 'm',
      input: 'Hi',
      stream: true,
    })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    expect(text).toBe('HelloHello');
    expect(ends).toMatchObject([{ outcome: 'complete' }, { outcome: 'complete' }]);
  });

  it('gets a refusal of what cannot be translated, and nothing is sent', async () => {
    const { client, sent } = clientOf(streamed);
    await expect(client.chat.completions.create({ ...ask, messages: [] })).rejects.toMatchObject({
      status: 400,
      param: 'messages',
    });
    expect(sent).toEqual([]);
  });

  it('gets the errors of the upstream, with the time to wait', async () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' };
    const headers = { 'retry-after': '7' };
    const { client } = clientOf(() =>
      Response.json({ type: 'error', error }, { status: 529, headers }),
    );
    const failure: unknown = await client.chat.completions.create(ask).catch((e: unknown) => e);
    expect(failure).toMatchObject({ status: 529, type: 'overloaded_error' });
    expect((failure as { headers: Headers }).headers.get('retry-after')).toBe('7');
  });

  it('gets status 502 if the upstream cannot be reached or read', async () => {
    const { client } = clientOf(() => Promise.reject(new Error('refused')));
    await expect(client.chat.completions.create(ask)).rejects.toMatchObject({ status: 502 });
    const html = clientOf(() => new Response('<html>'));
    await expect(html.client.chat.completions.create(ask)).rejects.toMatchObject({ status: 502 });
    expect(html.ends).toMatchObject([{ outcome: 'failed', cause: 'malformed' }]);
  });
});
