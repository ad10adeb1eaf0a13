import { createChatStream, errorBody, translateRequest } from '@gateway/translator';
import { translateResponse, type ModelTraits } from '@gateway/translator';
import { transformThrough } from '@gateway/translator/streams';

const traits: ModelTraits = {
  sampling: 'refused',
  forcedToolChoice: 'accepted',
  effort: ['low', 'medium', 'high', 'xhigh', 'max'],
  thinkingOff: 'disabled',
};
const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

/** Answers `POST /v1/chat/completions` with a model behind Anthropic's Messages API. */
export async function chatCompletions(request: Request): Promise<Response> {
  const options = { model: 'claude-sonnet-5', traits, maxOutputTokens: 128_000 };
  const translated = translateRequest(await request.json(), options);
  if (translated.outcome === 'refused') {
    const { message, param, code } = translated.problem;
    return failure(400, { type: 'invalid_request_error', message, param, code });
  }
  const headers = { ...json, 'x-api-key': 'sk-ant-…', 'anthropic-version': '2023-06-01' };
  const url = 'https://api.anthropic.com/v1/messages';
  const answer = await fetch(url, { method: 'POST', headers, body: translated.body });
  if (!answer.ok) {
    return failure(answer.status, { type: 'api_error', message: 'The upstream refused.' });
  }
  const context = { ...translated.response, created: Math.floor(Date.now() / 1000) };
  if (translated.stream && answer.body !== null) {
    const chunks = answer.body.pipeThrough(transformThrough(createChatStream(context)));
    return new Response(chunks, { headers: events });
  }
  const completion = translateResponse(await answer.text(), context);
  if (completion.outcome === 'translated') return new Response(completion.body, { headers: json });
  return failure(502, { type: 'api_error', message: completion.reason });
}

function failure(
  status: number,
  error: { type: string; message: string; param?: string | null; code?: string | null },
): Response {
  const body = errorBody({ ...error, requestId: 'req_1', dialect: 'chat.completions' });
  return new Response(body, { status, headers: json });
}
