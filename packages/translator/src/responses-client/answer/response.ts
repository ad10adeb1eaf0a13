/**
 * Translates a native message to a response.
 *
 * https://platform.claude.com/docs/en/api/messages (SDK: `Message`, `ContentBlock`)
 * https://platform.openai.com/docs/api-reference/responses/object
 */

import type { ResponseTranslation } from '../../chat-client/answer/response.js';
import type { MessageEncoder } from '../../message/message-reader.js';
import { encodeBody, encodeObject, type MessageReport } from '../../message/whole-message.js';
import { ResponseEncoder } from './response-encoder.js';
import { type ResponseObject, sdkResponse, type WrittenResponse } from './response-object.js';
import type { TranslateMessageContext } from './written-response.js';

type Malformed = MessageReport & { readonly outcome: 'malformed' };
type Translated<Response> =
  (MessageReport & { readonly outcome: 'translated'; readonly response: Response }) | Malformed;

export type ResponseObjectTranslation = Translated<ResponseObject>;

/**
 * Translates the body of a successful response of the upstream. The result is the response with
 * which the stream of the same message would end.
 *
 * Each content block becomes an output item, but consecutive text blocks become one message.
 * Arguments of calls have the digits and the order of the native `input`. Web searches become items
 * if the request offered them. Other server tools and blocks of unknown type are left out. A
 * message that was cut off or refused is `incomplete`. A body is `malformed` if it is not a
 * message, or if a call's id or name is missing, empty or not a string.
 */
export function translateMessage(
  nativeBody: string | Uint8Array,
  context: TranslateMessageContext,
): ResponseTranslation {
  const result = fold(context, (encoder) => encodeBody(nativeBody, encoder));
  if (result.outcome === 'malformed') return result;
  const { response, ...report } = result;
  return { ...report, body: JSON.stringify(response) };
}

/** {@link translateMessage} for objects, such as `Anthropic.Message`. */
export function toResponse(
  message: object,
  context: TranslateMessageContext,
): ResponseObjectTranslation {
  const result = fold(context, (encoder) => encodeObject(message, encoder));
  if (result.outcome === 'malformed') return result;
  return { ...result, response: sdkResponse(result.response) };
}

function fold(
  context: TranslateMessageContext,
  encode: (encoder: MessageEncoder) => MessageReport,
): Translated<WrittenResponse> {
  // The response grows with the events of the message. Nobody reads them here.
  const encoder = new ResponseEncoder(context, () => {});
  const report = encode(encoder);
  if (report.outcome === 'malformed') return report;
  const { finished: response } = encoder.events;
  if (!response) return { outcome: 'malformed', reason: 'the message has no end' };
  return { ...report, response };
}
