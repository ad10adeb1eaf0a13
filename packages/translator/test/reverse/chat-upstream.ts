import Anthropic from '@anthropic-ai/sdk';
import { errorBody } from '@gateway/translator';
import { transformThrough } from '@gateway/translator/fetch';
import {
  createMessageStream,
  statusOfError,
  translateChatError,
} from '@gateway/translator/reverse';
import { translateCompletion, translateMessagesRequest } from '@gateway/translator/reverse';
import type { ChatTraits } from '@gateway/translator/reverse';

const traits: ChatTraits = {
  maxTokens: 'max_completion_tokens',
  sampling: 'accepted',
  effort: ['none', 'minimal', 'low', 'medium', 'high'],
  files: 'pdf', // what `file` parts may hold
  toolResults: 'text', // images in results follow in a user message
  thinking: 'dropped', // thinking of past turns
  cacheControl: 'dropped',
};
const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

/** A `fetch` for Anthropic's SDK that speaks to an upstream of the chat format. */
async function chatFetch(_url: unknown, init?: RequestInit): Promise<Response> {
  const body = typeof init?.body === 'string' ? init.body : '';
  const request = translateMessagesRequest(body, { model: 'gpt-5', traits });
  if (request.outcome === 'refused') {
    return failure({ type: 'invalid_request_error', message: request.problem.message });
  }
  // request.notes lists the parts that were ignored, dropped or rewritten: [{path, reason, detail}]
  const answer = await fetch('https://api.openai.com/v1/chat/completions', {
    method: 'POST',
    headers: { ...json, authorization: 'Bearer sk-…' },
    body: request.body,
    signal: init?.signal ?? null,
  });
  if (!answer.ok) {
    const response = { status: answer.status, body: await answer.text(), requestId: 'req_1' };
    const error = translateChatError(response);
    return new Response(error.body, { status: error.status, headers: json });
  }
  if (request.stream && answer.body !== null) {
    const native = transformThrough(createMessageStream(request.response));
    return new Response(answer.body.pipeThrough(native), { headers: events });
  }
  const message = translateCompletion(await answer.text(), request.response);
  if (message.outcome === 'translated') return new Response(message.body, { headers: json });
  if (message.outcome === 'error') return failure(message.error);
  return failure({ type: 'api_error', message: message.reason });
}

function failure(error: { type: string; message: string }): Response {
  const body = errorBody({ ...error, requestId: 'req_1', dialect: 'messages' });
  return new Response(body, { status: statusOfError(error.type), headers: json });
}

export const anthropic = new Anthropic({ apiKey: 'unused', fetch: chatFetch });
