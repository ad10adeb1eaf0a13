/** Answers a web `Request` of an OpenAI client with a web `Response`, from a native upstream. */

import { translateResponse, type ResponseTranslation } from '../chat-client/answer/response.js';
import { createChatStream } from '../chat-client/answer/stream.js';
import { translateRequest, type TranslateRequestOptions } from '../chat-client/request/request.js';
import { translateError } from '../errors/translate-error.js';
import type { RequestProblem } from '../reading/note.js';
import { translateMessage } from '../responses-client/answer/response.js';
import { createResponseStream } from '../responses-client/answer/stream.js';
import {
  translateResponsesRequest,
  type TranslateResponsesOptions,
} from '../responses-client/request/request.js';
import { transformThrough } from '../streams/transform-through.js';
import { errorBody } from '../wire/error-body.js';
import { failureOf } from '../wire/message-state.js';
import type { MessageEnd, StreamPipe } from '../wire/stream-pipe.js';

/** A native request to send. */
export interface UpstreamCall {
  /** JSON text. */
  readonly body: string;
  /** `content-type`, `anthropic-version`, and `anthropic-beta` if it is needed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface AnswerOptions {
  /** Sends the request to `POST /v1/messages` of the upstream, with a credential. */
  readonly send: (call: UpstreamCall) => Promise<Response>;
  /**
   * Called with the end of the message, and awaited before its last bytes are sent, so that usage
   * can be made durable before the client sees it.
   */
  readonly onEnd?: ((end: MessageEnd) => void | Promise<void>) | undefined;
}

/**
 * Answers `POST /v1/chat/completions`: plain or streamed, errors included.
 *
 * A request that cannot be translated gets status 400, and an upstream that cannot be reached or
 * whose answer cannot be read gets 502. Rejects only if the client has disconnected, or if `onEnd`
 * of a plain answer rejects.
 *
 * @example
 * import { optionsOf } from '@gateway/translator';
 * import { answerChat } from '@gateway/translator/fetch';
 *
 * const content = [{ type: 'text', text: 'Hello' }];
 * const send = () => Promise.resolve(Response.json({ content }));
 * const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
 * const request = new Request('http://localhost', { method: 'POST', body });
 * const response = await answerChat(request, { ...optionsOf('claude-sonnet-5')!, send });
 * response.status; // 200
 */
export function answerChat(
  request: Request,
  options: TranslateRequestOptions & AnswerOptions,
): Promise<Response> {
  return answer(request, options, (body, created) => {
    const asked = translateRequest(body, options);
    if (asked.outcome === 'refused') return asked;
    const context = { ...asked.response, created };
    return {
      ...asked,
      openStream: () => createChatStream(context),
      translate: (text) => translateResponse(text, context),
    };
  });
}

/** {@link answerChat} for `POST /v1/responses`. */
export function answerResponses(
  request: Request,
  options: TranslateResponsesOptions & AnswerOptions,
): Promise<Response> {
  return answer(request, options, (body, created) => {
    const asked = translateResponsesRequest(body, options);
    if (asked.outcome === 'refused') return asked;
    const context = { ...asked.response, created };
    return {
      ...asked,
      openStream: () => createResponseStream(context),
      translate: (text) => translateMessage(text, context),
    };
  });
}

type Asked =
  | { readonly outcome: 'refused'; readonly problem: RequestProblem }
  | {
      readonly outcome: 'translated';
      readonly body: string;
      readonly betas: readonly string[];
      readonly stream: boolean;
      openStream(): StreamPipe;
      translate(text: string): ResponseTranslation;
    };

const JSON_TYPE = { 'content-type': 'application/json' };

async function answer(
  request: Request,
  { send, onEnd }: AnswerOptions,
  ask: (body: unknown, created: number) => Asked,
): Promise<Response> {
  const requestId = crypto.randomUUID();
  const failWith = (status: number, error: { type: string; message: string }) =>
    new Response(errorBody({ ...error, requestId, dialect: 'chat.completions' }), {
      status,
      headers: JSON_TYPE,
    });

  // A body that is not JSON is refused like one that is not an object.
  const body: unknown = await request.json().catch(() => undefined);
  const asked = ask(body, Math.floor(Date.now() / 1000));
  if (asked.outcome === 'refused') {
    return failWith(400, { type: 'invalid_request_error', ...asked.problem });
  }
  const { signal } = request;
  const headers = {
    ...JSON_TYPE,
    'anthropic-version': '2023-06-01',
    ...(asked.betas.length > 0 && { 'anthropic-beta': asked.betas.join() }),
  };
  let upstream: Response;
  try {
    upstream = await send({ body: asked.body, headers, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    return failWith(502, { type: 'api_error', message: 'The upstream cannot be reached.' });
  }
  if (!upstream.ok) {
    const { status } = upstream;
    const retryAfter = upstream.headers.get('retry-after');
    const error = translateError({ status, body: await upstream.text(), retryAfter, requestId });
    return new Response(error.body, error);
  }
  if (asked.stream && upstream.body !== null) {
    const pipe = transformThrough(asked.openStream(), onEnd && { onEnd });
    return new Response(upstream.body.pipeThrough(pipe), {
      headers: { 'content-type': 'text/event-stream' },
    });
  }
  const result = asked.translate(await upstream.text());
  if (result.outcome === 'malformed') {
    await onEnd?.({ outcome: 'failed', ...failureOf('malformed'), messageId: undefined });
    return failWith(502, { type: 'api_error', message: result.reason });
  }
  const { body: completion, ...report } = result;
  await onEnd?.({ ...report, outcome: 'complete' });
  return new Response(completion, { headers: JSON_TYPE });
}
