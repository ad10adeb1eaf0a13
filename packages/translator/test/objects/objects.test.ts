import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';
import type Anthropic0 from 'anthropic-sdk-0';
import type OpenAI from 'openai';
import type OpenAI6 from 'openai-6';
import { optionsOf } from '../../src/index.js';
import {
  createResponseEventStream,
  responseParamsToMessageParams,
  toChatCompletion,
  toMessageParams,
  toResponse,
  createChatChunkStream,
  type ChatCompletion,
  type MessageParams,
  type ResponseEvent,
  type ResponseObject,
  type ChatChunk,
} from '../../src/objects/index.js';

/** The compiler has to accept this package's objects where those of the SDKs are expected. */
type Accepts<Wide, Narrow extends Wide> = Narrow extends Wide ? true : never;
export type Fits = [
  Accepts<Anthropic.MessageCreateParams, MessageParams>,
  Accepts<Anthropic0.MessageCreateParams, MessageParams>,
  Accepts<OpenAI.ChatCompletion, ChatCompletion>,
  Accepts<OpenAI6.ChatCompletion, ChatCompletion>,
  Accepts<OpenAI.ChatCompletionChunk, ChatChunk>,
  Accepts<OpenAI6.ChatCompletionChunk, ChatChunk>,
  Accepts<OpenAI.Responses.Response, ResponseObject>,
  Accepts<OpenAI6.Responses.Response, ResponseObject>,
  Accepts<OpenAI.Responses.ResponseStreamEvent, ResponseEvent>,
  Accepts<OpenAI6.Responses.ResponseStreamEvent, ResponseEvent>,
];

const options = optionsOf('claude-sonnet-5')!;
const asked = responseParamsToMessageParams({ model: 'm', input: 'Hi' }, options);
if (asked.outcome === 'refused') throw new Error(asked.problem.message);
const responses = { ...asked.response, created: 1 };
const context = { model: 'm', includeUsage: false, legacyFunctions: false, created: 1 };

describe('objects', () => {
  it('go from the SDK of OpenAI to that of Anthropic, and the answer back, without a cast', async () => {
    const chat: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      model: 'm',
      messages: [{ role: 'user', content: 'Hi' }],
    };
    const request = toMessageParams(chat, options);
    if (request.outcome === 'refused') throw new Error(request.problem.message);
    const sent: unknown[] = [];
    const answer = {
      id: 'msg_1',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 2 },
    };
    const anthropic = new Anthropic({
      apiKey: 'k',
      fetch: (_url, init) => {
        sent.push(JSON.parse(init?.body as string));
        return Promise.resolve(Response.json(answer));
      },
    });
    const { stream: _stream, ...params } = request.params;
    const message: Anthropic.Message = await anthropic.messages.create(params);
    expect(sent).toEqual([
      {
        model: 'claude-sonnet-5',
        // The most that the SDK sends without a stream.
        max_tokens: 21_333,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      },
    ]);
    const result = toChatCompletion(message, { ...request.response, created: 1 });
    if (result.outcome === 'malformed') throw new Error(result.reason);
    const completion: OpenAI.ChatCompletion = result.completion;
    expect(completion.choices[0]?.message.content).toBe('Hello');
    expect(completion.usage?.total_tokens).toBe(3);
  });

  it('translate a Responses request to message params, and the message back to a response, without a cast', () => {
    const request: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
      model: 'm',
      input: [{ role: 'user', content: 'Hi' }],
      max_output_tokens: 9,
      store: false,
    };
    const asked = responseParamsToMessageParams(request, options);
    if (asked.outcome === 'refused') throw new Error(asked.problem.message);
    expect(asked.params).toEqual({
      model: 'claude-sonnet-5',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    });
    const content = [
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ];
    const usage = { input_tokens: 1, output_tokens: 2 };
    const message = { id: 'msg_1', content, stop_reason: 'end_turn', usage };
    const result = toResponse(message, { ...asked.response, created: 1 });
    if (result.outcome === 'malformed') throw new Error(result.reason);
    const response: OpenAI.Responses.Response = result.response;
    expect(response).toMatchObject({ status: 'completed', output_text: 'Hello' });
    expect(response.usage?.total_tokens).toBe(3);
    const uncounted = toResponse({ content }, { ...asked.response, created: 1 });
    expect(uncounted).toMatchObject({ usage: { outcome: 'invalid' } });
    if (uncounted.outcome === 'translated') expect(uncounted.response).not.toHaveProperty('usage');
  });

  it('have the outcomes of the text functions: refused, error, and malformed or refused for objects that are too deep', () => {
    let deep: object = {};
    for (let i = 0; i < 100_000; i += 1) deep = { deep };
    expect(toMessageParams({}, options)).toMatchObject({ outcome: 'refused' });
    expect(toMessageParams({ deep }, options)).toMatchObject({ outcome: 'refused' });
    expect(toChatCompletion({ content: 5 }, context)).toMatchObject({ outcome: 'malformed' });
    expect(toChatCompletion({ content: [deep] }, context)).toMatchObject({ outcome: 'malformed' });
    expect(responseParamsToMessageParams({}, options)).toMatchObject({ outcome: 'refused' });
    expect(responseParamsToMessageParams({ deep }, options)).toMatchObject({ outcome: 'refused' });
    expect(toResponse({ content: 5 }, responses)).toMatchObject({ outcome: 'malformed' });
    expect(toResponse({ content: [deep] }, responses)).toMatchObject({ outcome: 'malformed' });
  });

  it('in a stream fail as malformed if a call brings arguments that are too deep', () => {
    let input: object = {};
    for (let i = 0; i < 100_000; i += 1) input = { input };
    for (const pipe of [createChatChunkStream(context), createResponseEventStream(responses)]) {
      pipe.push({ type: 'message_start', message: { id: 'msg_1' } });
      const content_block = { type: 'tool_use', id: 'c', name: 'f', input };
      pipe.push({ type: 'content_block_start', index: 0, content_block });
      expect(pipe.isFinished).toBe(true);
      expect(pipe.end()).toMatchObject({ outcome: 'failed', cause: 'malformed' });
    }
  });
});
