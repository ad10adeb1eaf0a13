/**
 * Translates a native message to a chat completion.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 */

import { encodeBody, encodeObject, type MessageReport } from '../../message/whole-message.js';
import type { MessageEncoder } from '../../message/message-reader.js';
import { ChunkEncoder, type TranslateResponseContext } from './chunk-encoder.js';
import { type ChatCompletion, completionOf, type WrittenChunk } from './completion.js';

type Malformed = MessageReport & { readonly outcome: 'malformed' };

export type ResponseTranslation =
  | ((MessageReport & { readonly outcome: 'translated' }) & {
      /** JSON text of the chat completion. */
      readonly body: string;
    })
  | Malformed;

export type ChatCompletionTranslation =
  | ((MessageReport & { readonly outcome: 'translated' }) & { readonly completion: ChatCompletion })
  | Malformed;

/**
 * Translates the body of a successful response.
 *
 * The arguments of tool calls have the digits and the order of the native `input`. Server tools and
 * blocks of unknown type are left out, and so is thinking unless the context asks for it. A
 * stop reason that the format has no word for, such as `pause_turn`, is `length`, with the reason
 * as `native_finish_reason`. The content is null if there are calls and no text; otherwise it is a
 * string.
 *
 * A body is `malformed` if it is not a message, or if a call's id or name is missing, empty or not
 * a string.
 */
export function translateResponse(
  nativeBody: string | Uint8Array,
  context: TranslateResponseContext,
): ResponseTranslation {
  const result = fold(context, (encoder) => encodeBody(nativeBody, encoder));
  if (result.outcome === 'malformed') return result;
  const { completion, ...report } = result;
  return { ...report, body: JSON.stringify(completion) };
}

/** {@link translateResponse} for objects, such as `Anthropic.Message`. */
export function toChatCompletion(
  message: object,
  context: TranslateResponseContext,
): ChatCompletionTranslation {
  return fold(context, (encoder) => encodeObject(message, encoder));
}

function fold(
  context: TranslateResponseContext,
  encode: (encoder: MessageEncoder) => MessageReport,
): ChatCompletionTranslation {
  const chunks: WrittenChunk[] = [];
  const report = encode(new ChunkEncoder(context, (chunk) => chunks.push(chunk)));
  const completion = completionOf(chunks);
  if (report.outcome === 'malformed') return report;
  if (!completion) return { outcome: 'malformed', reason: 'the message has no beginning' };
  return { ...report, completion };
}
