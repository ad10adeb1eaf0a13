/** The reverse direction for objects, with the types of both SDKs and without a cast. */

import type Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import type OpenAI6 from 'openai-6';
import { toChatParams, toMessage, type ChatParams } from '../../src/reverse/index.js';
import { TRAITS } from './vectors.js';

const traits = { ...TRAITS['openai']!, toolResults: 'text' as const };
const params: Anthropic.MessageCreateParams = {
  model: 'm',
  max_tokens: 9,
  messages: [{ role: 'user', content: 'Hi' }],
};

describe('objects of the reverse direction', () => {
  it('go from the SDK of Anthropic to that of OpenAI, and the answer back', () => {
    const request = toChatParams(params, { model: 'gpt-5', traits });
    if (request.outcome === 'refused') throw new Error(request.problem.message);
    const chat: OpenAI.ChatCompletionCreateParams = request.params;
    const plain: OpenAI.ChatCompletionCreateParamsNonStreaming = {
      ...request.params,
      stream: false,
    };
    const older: OpenAI6.ChatCompletionCreateParams = request.params;
    expect(chat).toMatchObject({ model: 'gpt-5', max_completion_tokens: 9 });
    expect(older).toBe(chat);
    expect(plain.stream).toBe(false);
    const completion = {
      id: 'c',
      choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
    };
    const result = toMessage(completion, request.response);
    if (result.outcome !== 'translated') throw new Error(result.outcome);
    const message: Anthropic.Message = result.message;
    expect(message).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 2 } });
  });

  it('may hold images in results of tools only if a trait says so', () => {
    const withParts = { ...traits, toolResults: 'parts' as const };
    const request = toChatParams(params, { model: 'gpt-5', traits: withParts });
    if (request.outcome === 'refused') throw new Error(request.problem.message);
    const written: ChatParams = request.params;
    // @ts-expect-error -- the SDK knows results of text only
    const chat: OpenAI.ChatCompletionCreateParams = request.params;
    expect(chat).toBe(written);
  });

  it('have the outcomes of the text functions: refused, error or malformed', () => {
    let deep: object = {};
    for (let i = 0; i < 100_000; i += 1) deep = { deep };
    expect(toChatParams({ deep }, { model: 'gpt-5', traits })).toMatchObject({
      outcome: 'refused',
    });
    const context = { model: 'm', stopSequences: [] };
    expect(toMessage({ error: { message: 'No.' } }, context)).toMatchObject({ outcome: 'error' });
    expect(toMessage({ deep }, context)).toMatchObject({ outcome: 'malformed' });
  });
});
