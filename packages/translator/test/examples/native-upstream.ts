import {
  createChatStream,
  errorBody,
  translateRequest,
  translateResponse,
} from '@gateway/translator';
import { translateError } from '@gateway/translator/errors';
import { nativeSchemas } from '@gateway/translator/features';
import { optionsOf } from '@gateway/translator/models';
import { transformThrough } from '@gateway/translator/streams';

const options = {
  ...optionsOf('claude-sonnet-5')!,
  jsonSchema: nativeSchemas,
  reasoning: 'reasoning_content',
} as const;
const json = { 'content-type': 'application/json' };

/** Answers `POST /v1/chat/completions` with a model behind Anthropic's Messages API. */
export async function chatCompletions(request: Request): Promise<Response> {
  const requestId = crypto.randomUUID();
  const failure = (
    status: number,
    error: { type: string; message: string; param?: string | null },
  ) =>
    new Response(errorBody({ ...error, requestId, dialect: 'chat.completions' }), {
      status,
      headers: json,
    });
  // A body that is not JSON is refused like one that is not an object.
  const chat: unknown = await request.json().catch(() => undefined);
  const translated = translateRequest(chat, options);
  if (translated.outcome === 'refused') {
    return failure(400, { type: 'invalid_request_error', ...translated.problem });
  }
  const answer = await fetch('https://api.anthropic.com/v1/messages', {
    method: 'POST',
    headers: {
      ...json,
      'x-api-key': 'sk-ant-…',
      'anthropic-version': '2023-06-01',
      ...(translated.betas.length > 0 && { 'anthropic-beta': translated.betas.join() }),
    },
    body: translated.body,
    signal: request.signal,
  });
  if (!answer.ok) {
    const { status } = answer;
    const retryAfter = answer.headers.get('retry-after');
    const error = translateError({ status, body: await answer.text(), retryAfter, requestId });
    return new Response(error.body, error);
  }
  const context = { ...translated.response, created: Math.floor(Date.now() / 1000) };
  if (translated.stream && answer.body !== null) {
    const chunks = answer.body.pipeThrough(transformThrough(createChatStream(context)));
    return new Response(chunks, { headers: { 'content-type': 'text/event-stream' } });
  }
  const completion = translateResponse(await answer.text(), context);
  if (completion.outcome === 'translated') return new Response(completion.body, { headers: json });
  return failure(502, { type: 'api_error', message: completion.reason });
}
