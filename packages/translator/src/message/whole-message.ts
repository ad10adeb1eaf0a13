/** Encodes a message that has arrived whole. */

import { decodeStrictly } from '../wire/bytes.js';
import { readMessage } from '../wire/message-state.js';
import { isTooDeep, type JsonObject, objectOf, parseObject, stringOf } from '../wire/raw-json.js';
import type { UsageReading } from '../wire/usage.js';
import { type MessageEncoder, MessageReader } from './message-reader.js';

export type MessageReport =
  | {
      readonly outcome: 'translated';
      readonly usage: UsageReading;
      readonly messageId: string | undefined;
      readonly stopReason: string | undefined;
      /** The category of a refusal without content; an empty text if it names none. */
      readonly emptyRefusal?: string | undefined;
    }
  | { readonly outcome: 'malformed'; readonly reason: string };

/**
 * Encodes the body of a successful response. Calls keep the digits and the order of their `input`.
 *
 * @returns `malformed` if it is not a message, or if a call's id or name is missing, empty or not a
 * string
 */
export function encodeBody(body: string | Uint8Array, encoder: MessageEncoder): MessageReport {
  const json = typeof body === 'string' ? body : (decodeStrictly(body) ?? '');
  return encodeMessage(objectOf(parseObject(json)), encoder, json);
}

/** {@link encodeBody} for an object, such as `Anthropic.Message`. */
export function encodeObject(message: object, encoder: MessageEncoder): MessageReport {
  if (isTooDeep(message)) {
    return { outcome: 'malformed', reason: 'the object is nested too deeply' };
  }
  return encodeMessage(objectOf(message), encoder);
}

function encodeMessage(
  message: JsonObject,
  encoder: MessageEncoder,
  source?: string,
): MessageReport {
  const { content, id, usage: native, stop_reason: reason, stop_details: stopDetails } = message;
  if (!Array.isArray(content)) return { outcome: 'malformed', reason: 'the body is not a message' };
  if (!new MessageReader(encoder).readWhole(message, source)) {
    return { outcome: 'malformed', reason: 'a call has no id or no name' };
  }
  const { usage, emptyRefusal } = readMessage(message);
  const messageId = stringOf(id) || undefined;
  const stopReason = stringOf(reason) || undefined;
  encoder.complete({
    stopReason,
    stopDetails,
    serviceTier: objectOf(native)['service_tier'],
    usage: usage.outcome === 'read' ? usage.usage : undefined,
  });
  return { outcome: 'translated', usage, messageId, stopReason, emptyRefusal };
}
