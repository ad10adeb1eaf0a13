/** What a stream of native events has told so far of its message as a whole. */

import { isJsonObject, type JsonObject } from './raw-json.js';
import { overlayUsage, readUsage, type UsageReading } from './usage.js';

export class MessageState {
  messageId: string | undefined;
  stopReason: string | undefined;
  stopDetails: JsonObject | undefined;
  #usage: JsonObject = {};
  #hasFinalUsage = false;

  start(event: JsonObject): void {
    const message = event['message'];
    if (!isJsonObject(message)) return;
    const { id, usage } = message;
    if (typeof id === 'string') this.messageId = id;
    this.#usage = overlayUsage({}, usage);
  }

  delta(event: JsonObject): void {
    const { delta, usage } = event;
    if (isJsonObject(delta)) {
      const { stop_reason: reason, stop_details: details } = delta;
      if (typeof reason === 'string') this.stopReason = reason;
      if (isJsonObject(details)) this.stopDetails = details;
    }
    if (!isJsonObject(usage)) return;
    this.#usage = overlayUsage(this.#usage, usage);
    this.#hasFinalUsage = true;
  }

  /** The start tells provisional counts only: without a later event there is no final usage. */
  usage(): UsageReading {
    return this.#hasFinalUsage
      ? readUsage(this.#usage)
      : { outcome: 'invalid', reason: 'the stream told no final usage' };
  }
}

/** `error` of an error event, with stand-ins for what is missing. */
export function errorOf(event: JsonObject): { type: string; message: string } {
  const error = isJsonObject(event['error']) ? event['error'] : {};
  const { type, message } = error;
  return {
    type: typeof type === 'string' ? type : 'api_error',
    message: typeof message === 'string' ? message : 'The upstream reported an error.',
  };
}

export const TRUNCATED = {
  type: 'api_error',
  message: 'The upstream ended the stream before its message was complete.',
} as const;
export const TOO_LARGE = {
  type: 'api_error',
  message: 'The upstream sent an event that exceeds the maximum size.',
} as const;
export const MALFORMED = {
  type: 'api_error',
  message: 'The upstream sent an event that cannot be read.',
} as const;

/** JSON of an event, if it is an object. */
export function parseEvent(data: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
