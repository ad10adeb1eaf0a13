/**
 * The translations for callers that hold objects, such as those of the SDKs, instead of JSON text.
 * Integers beyond 2^53 keep their digits only in text.
 */

import type { NativeRequest } from '../chat-client/request/native-request.js';
import { translateRequest, type TranslateRequestOptions } from '../chat-client/request/request.js';
import type { ResponseContext } from '../chat-client/response-context.js';
import {
  translateResponsesRequest,
  type TranslateResponsesOptions,
} from '../responses-client/request/request.js';
import type { ResponsesContext } from '../responses-client/response-context.js';
import type { Note, RequestProblem } from '../reading/note.js';
import type { Written } from '../wire/written.js';

export { toChatCompletion } from '../chat-client/answer/response.js';
export type { ChatCompletionTranslation } from '../chat-client/answer/response.js';
export type {
  ChatCallDelta,
  ChatChunk,
  ChatCompletion,
  ChatDelta,
} from '../chat-client/answer/completion.js';
export { createChatChunkStream } from '../chat-client/answer/stream.js';
export type { ChatStreamError } from '../chat-client/answer/error-events.js';
export { createResponseEventStream } from '../responses-client/answer/stream.js';
export { toResponse } from '../responses-client/answer/response.js';
export type { ResponseObjectTranslation } from '../responses-client/answer/response.js';
export type {
  ResponseEvent,
  ResponseFailure,
  ResponseItem,
  ResponseObject,
  ResponsePart,
  SummaryPart,
  UrlCitation,
} from '../responses-client/answer/response-object.js';

/** A native request. Anthropic's SDK takes it as `MessageCreateParams`. */
export type MessageParams = Omit<Written<NativeRequest>, 'stream'> & { stream?: boolean };
export interface Refused {
  readonly outcome: 'refused';
  readonly problem: RequestProblem;
}

export type MessageParamsTranslation =
  | {
      readonly outcome: 'translated';
      readonly params: MessageParams;
      readonly stream: boolean;
      readonly response: ResponseContext;
      readonly notes: readonly Note[];
    }
  | Refused;

/**
 * `translateRequest` for objects.
 *
 * @param chat - For instance `OpenAI.ChatCompletionCreateParams`. It is not changed.
 * @example
 * import { toMessageParams } from '@gateway/translator/objects';
 * import { optionsOf } from '@gateway/translator';
 *
 * const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };
 * const result = toMessageParams(chat, optionsOf('claude-sonnet-5')!);
 * if (result.outcome === 'translated') console.log(result.params.messages);
 */
export function toMessageParams(
  chat: object,
  options: TranslateRequestOptions,
): MessageParamsTranslation {
  const result = translateRequest(chat, options);
  if (result.outcome === 'refused') return result;
  const { body, ...rest } = result;
  return { ...rest, params: JSON.parse(body) as MessageParams };
}

export type ResponseParamsTranslation =
  | {
      readonly outcome: 'translated';
      readonly params: MessageParams;
      readonly stream: boolean;
      readonly response: ResponsesContext;
      readonly notes: readonly Note[];
    }
  | Refused;

/**
 * `translateResponsesRequest` for objects.
 *
 * @param request - For instance `OpenAI.Responses.ResponseCreateParams`. It is not changed.
 * @example
 * import { responseParamsToMessageParams } from '@gateway/translator/objects';
 * import { optionsOf } from '@gateway/translator';
 *
 * const request = { model: 'm', input: 'Hi' };
 * const result = responseParamsToMessageParams(request, optionsOf('claude-sonnet-5')!);
 * if (result.outcome === 'translated') console.log(result.params.messages);
 */
export function responseParamsToMessageParams(
  request: object,
  options: TranslateResponsesOptions,
): ResponseParamsTranslation {
  const result = translateResponsesRequest(request, options);
  if (result.outcome === 'refused') return result;
  const { body, ...rest } = result;
  return { ...rest, params: JSON.parse(body) as MessageParams };
}
