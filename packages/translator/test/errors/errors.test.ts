import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { createResponseStream, translateError } from '../../src/index.js';
import { RESPONSES_CONTEXT } from '../answer-contexts.js';

const native = (type: string, message: string) =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_upstream' });

describe('translateError', () => {
  it('keeps status, type, message and the time to wait', () => {
    const body = native('rate_limit_error', 'Slow down.');
    const answer = translateError({ status: 429, body, retryAfter: '30', requestId: 'req_1' });
    expect({ ...answer, body: JSON.parse(answer.body) }).toEqual({
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': '30' },
      body: {
        type: 'error',
        error: {
          type: 'rate_limit_error',
          message: 'Slow down.',
          param: null,
          code: 'rate_limit_exceeded',
        },
        request_id: 'req_1',
      },
      error: { type: 'rate_limit_error', message: 'Slow down.' },
    });
  });

  it.each([
    [
      'invalid_request_error',
      'prompt is too long: 208310 tokens > 200000 maximum',
      'context_length_exceeded',
    ],
    [
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000',
      'context_length_exceeded',
    ],
    ['not_found_error', 'model: claude-none', 'model_not_found'],
    ['authentication_error', 'invalid x-api-key', 'invalid_api_key'],
    ['overloaded_error', 'Overloaded', null],
    ['toString', 'odd', null],
  ])('gives the error %s with the message %s the code %s', (type, message, code) => {
    const { body } = translateError({ status: 400, body: native(type, message), requestId: 'r' });
    expect(JSON.parse(body)).toMatchObject({ error: { type, message, code } });
  });

  // F325: the upstream ends a stream with an error: a failed response has the code that an error
  // response has, because Codex compacts its history only at `context_length_exceeded` in a stream.
  it.each([
    ['invalid_request_error', 'prompt is too long: 208310 tokens > 200000 maximum'],
    ['rate_limit_error', 'Slow down.'],
    ['billing_error', 'No credit.'],
  ])('gives the error %s of a response stream the same code', (type, message) => {
    const { body } = translateError({ status: 400, body: native(type, message), requestId: 'r' });
    const { code } = (JSON.parse(body) as { error: { code: string } }).error;
    const stream = createResponseStream(RESPONSES_CONTEXT);
    const event = `event: error\ndata: ${native(type, message)}\n\n`;
    const text = Buffer.concat([stream.push(Buffer.from(event)), stream.end().tail]).toString();
    const failed = /event: response\.failed\ndata: (.*)/.exec(text)?.[1] ?? '{}';
    expect(JSON.parse(failed)).toMatchObject({ response: { error: { code, message } } });
  });

  it.each(['<html>secret</html>', '', '{"error":"text"}', '[]', '{'])(
    'does not repeat a body that is not an error of the API: %j',
    (body) => {
      const answer = translateError({ status: 502, body, requestId: 'r' });
      expect(answer.error).toEqual({
        type: 'api_error',
        message: 'The upstream answered with status 502.',
      });
    },
  );

  it('returns a response for which the SDK of OpenAI throws an error of that status, for chat completions and responses', async () => {
    const openai = new OpenAI({
      apiKey: 'k',
      maxRetries: 0,
      fetch: () => {
        const body = native('overloaded_error', 'Overloaded');
        const {
          status,
          headers,
          body: text,
        } = translateError({ status: 529, body, retryAfter: '7', requestId: 'r' });
        return Promise.resolve(new Response(text, { status, headers }));
      },
    });
    const error = expect.objectContaining({
      status: 529,
      type: 'overloaded_error',
      code: null,
      param: null,
      message: '529 Overloaded',
    });
    const asked = { model: 'm', input: 'Hi' };
    await expect(openai.chat.completions.create({ model: 'm', messages: [] })).rejects.toEqual(
      error,
    );
    const failed = openai.responses.create(asked);
    await expect(failed).rejects.toEqual(error);
    const { headers } = (await failed.catch((thrown: unknown) => thrown)) as { headers: Headers };
    expect(headers.get('retry-after')).toBe('7');
    await expect(openai.responses.create({ ...asked, stream: true })).rejects.toEqual(error);
    await expect(openai.responses.stream(asked).finalResponse()).rejects.toEqual(error);
  });
});
