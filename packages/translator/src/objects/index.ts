/**
 * The translations for callers that hold objects, such as those of the SDKs, instead of JSON text.
 * Integers beyond 2^53 keep their digits only in text.
 */

import type { NativeRequest } from '../chat-client/request/native-request.js';
import { translateRequest, type TranslateRequestOptions } from '../chat-client/request/request.js';
import type { ResponseContext } from '../chat-client/response-context.js';
import { translateCompletion } from '../native-client/answer/completion.js';
import type { NativeMessage } from '../native-client/answer/message.js';
import type { MessageContext } from '../native-client/message-context.js';
import type { ChatRequest } from '../native-client/request/chat-request.js';
import {
  translateMessagesRequest,
  type TranslateMessagesOptions,
} from '../native-client/request/request.js';
import {
  translateResponsesRequest,
  type TranslateResponsesOptions,
} from '../responses-client/request/request.js';
import type { ResponsesContext } from '../responses-client/response-context.js';
import type { Note, RequestProblem } from '../reading/note.js';
import { isTooDeep, type JsonText } from '../wire/raw-json.js';
import type { StreamError } from '../wire/stream-pipe.js';
import type { UsageReading } from '../wire/usage.js';

export { toChatCompletion } from '../chat-client/answer/response.js';
export type { ChatCompletionTranslation } from '../chat-client/answer/response.js';
export type { ChatCompletion } from '../chat-client/answer/completion.js';
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

/**
 * The type of a value after writing and reading it as JSON: no undefined members, and not readonly.
 */
type Written<Value> = Value extends JsonText
  ? Record<string, unknown>
  : Value extends readonly (infer Item)[]
    ? Written<Item>[]
    : Value extends object
      ? { -readonly [Key in keyof Value]: Written<Exclude<Value[Key], undefined>> }
      : Value;

/** A native request. Anthropic's SDK takes it as `MessageCreateParams`. */
export type MessageParams = Omit<Written<NativeRequest>, 'stream'> & { stream?: boolean };
/** A chat request. OpenAI's SDK takes it as `ChatCompletionCreateParams`. */
export type ChatParams = Omit<Written<ChatRequest>, 'stream'> & { stream?: boolean };

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
 * import { optionsOf } from '@gateway/translator/models';
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

const TOO_DEEP = { outcome: 'malformed', reason: 'the object is nested too deeply' } as const;

export type ChatParamsTranslation =
  | {
      readonly outcome: 'translated';
      readonly params: ChatParams;
      readonly stream: boolean;
      readonly response: MessageContext;
      readonly notes: readonly Note[];
    }
  | Refused;

/** `translateMessagesRequest` for objects, such as `Anthropic.MessageCreateParams`. */
export function toChatParams(
  params: object,
  options: TranslateMessagesOptions,
): ChatParamsTranslation {
  if (isTooDeep(params)) {
    const problem = { message: `the body: ${TOO_DEEP.reason}`, param: null, code: 'invalid_value' };
    return { outcome: 'refused', problem };
  }
  const result = translateMessagesRequest(JSON.stringify(params), options);
  if (result.outcome === 'refused') return result;
  const { body, ...rest } = result;
  return { ...rest, params: JSON.parse(body) as ChatParams };
}

export type MessageTranslation =
  | {
      readonly outcome: 'translated';
      readonly message: NativeMessage;
      readonly usage: UsageReading;
    }
  | { readonly outcome: 'error'; readonly error: StreamError }
  | { readonly outcome: 'malformed'; readonly reason: string };

/** `translateCompletion` for objects, such as `OpenAI.ChatCompletion`. */
export function toMessage(completion: object, context: MessageContext): MessageTranslation {
  if (isTooDeep(completion)) return TOO_DEEP;
  const result = translateCompletion(JSON.stringify(completion), context);
  if (result.outcome !== 'translated') return result;
  const { body, usage } = result;
  return { outcome: 'translated', message: JSON.parse(body) as NativeMessage, usage };
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
 * import { optionsOf } from '@gateway/translator/models';
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
