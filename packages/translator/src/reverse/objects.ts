/**
 * The translations of this direction for callers that hold objects, such as those of the SDKs,
 * instead of JSON text. Integers beyond 2^53 keep their digits only in text.
 */

import type { Note, RequestProblem } from '../reading/note.js';
import { isTooDeep } from '../wire/raw-json.js';
import type { StreamError } from '../wire/stream-pipe.js';
import type { UsageReading } from '../wire/usage.js';
import type { Written } from '../wire/written.js';
import { translateCompletion } from './answer/completion.js';
import type { NativeMessage } from './answer/message.js';
import type { MessageContext } from './context/message-context.js';
import type { ChatMessage, ChatRequest, TextPart } from './request/chat-request.js';
import { translateMessagesRequest, type TranslateMessagesOptions } from './request/request.js';
import type { ChatTraits } from './request/traits.js';

type ToolResults = ChatTraits['toolResults'];
type ToolMessage = ChatMessage & { readonly role: 'tool' };

/** Results of tools that have text only, as OpenAI's own API takes them. */
type TextResults = Omit<ToolMessage, 'content'> & { readonly content: string | TextPart[] };
type Messages<Results extends ToolResults> =
  Exclude<ChatMessage, ToolMessage> | (Results extends 'text' ? TextResults : ToolMessage);

/**
 * A chat request. If the results of tools are `text`, OpenAI's SDK takes it as
 * `ChatCompletionCreateParams`. Its types know no results of other kinds.
 */
export type ChatParams<Results extends ToolResults = ToolResults> = Written<
  Omit<ChatRequest, 'stream' | 'messages'> & { readonly messages: readonly Messages<Results>[] }
> &
  ({ stream: true } | { stream?: false });

export type ChatParamsTranslation<Results extends ToolResults = ToolResults> =
  | {
      readonly outcome: 'translated';
      readonly params: ChatParams<Results>;
      readonly stream: boolean;
      readonly response: MessageContext;
      readonly notes: readonly Note[];
    }
  | { readonly outcome: 'refused'; readonly problem: RequestProblem };

const TOO_DEEP = { outcome: 'malformed', reason: 'the object is nested too deeply' } as const;

/**
 * `translateMessagesRequest` for objects, such as `Anthropic.MessageCreateParams`.
 *
 * @example
 * import { toChatParams } from '@gateway/translator/reverse';
 *
 * const messages = [{ role: 'user' as const, content: 'Hi' }];
 * const params = { model: 'm', max_tokens: 9, messages };
 * const result = toChatParams(params, {
 *   model: 'gpt-5',
 *   traits: {
 *     maxTokens: 'max_completion_tokens',
 *     sampling: 'accepted',
 *     effort: [],
 *     files: 'pdf',
 *     toolResults: 'text',
 *     thinking: 'dropped',
 *     cacheControl: 'dropped',
 *   },
 * });
 * if (result.outcome === 'translated') console.log(result.params.messages);
 */
export function toChatParams<const Results extends ToolResults>(
  params: object,
  options: TranslateMessagesOptions & { readonly traits: { readonly toolResults: Results } },
): ChatParamsTranslation<Results> {
  if (isTooDeep(params)) {
    const problem = { message: `the body: ${TOO_DEEP.reason}`, param: null, code: 'invalid_value' };
    return { outcome: 'refused', problem };
  }
  const result = translateMessagesRequest(JSON.stringify(params), options);
  if (result.outcome === 'refused') return result;
  const { body, ...rest } = result;
  return { ...rest, params: JSON.parse(body) as ChatParams<Results> };
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
