/** Collects the facts about the whole message from a stream of native events. */

import { isJsonObject, type JsonObject, objectOf, stringOf } from './raw-json.js';
import type { FailureCause, StreamError } from './stream-pipe.js';
import { overlayUsage, readUsage, type UsageReading } from './usage.js';

export class MessageState {
  messageId: string | undefined;
  stopReason: string | undefined;
  stopDetails: unknown;
  #usage: JsonObject = {};
  #hasFinalUsage = false;

  start(event: JsonObject): void {
    const { message } = event;
    if (!isJsonObject(message)) return;
    const { id, usage } = message;
    this.messageId = stringOf(id) || this.messageId;
    this.#usage = overlayUsage({}, usage);
  }

  delta(event: JsonObject): void {
    const { stop_reason: reason, stop_details: details } = objectOf(event['delta']);
    this.stopReason = stringOf(reason) || this.stopReason;
    this.stopDetails = details ?? this.stopDetails;
    const { usage } = event;
    if (!isJsonObject(usage)) return;
    this.#usage = overlayUsage(this.#usage, usage);
    this.#hasFinalUsage = true;
  }

  /**
   * The counts of `message_start` are provisional, so without a later event there is no final
   * usage.
   */
  usage(read = readUsage): UsageReading {
    return this.#hasFinalUsage
      ? read(this.#usage)
      : { outcome: 'invalid', reason: 'the stream has no final usage' };
  }
}

/** Why a stream failed. */
export interface StreamFailure {
  readonly cause: FailureCause;
  readonly error: StreamError;
}

/**
 * Messages for the client when the upstream's own error has none, or when there is no such error.
 */
const COMPLAINTS: Readonly<Record<FailureCause, string>> = {
  error_event: 'reported an error',
  truncated: 'ended the stream before its message was complete',
  malformed: 'sent an unreadable event',
  too_large: 'sent an oversized event',
};

/** @param reported - The `error` of the upstream's error event. */
export function failureOf(cause: FailureCause, reported?: unknown): StreamFailure {
  const { type, message } = objectOf(reported);
  return {
    cause,
    error: {
      type: stringOf(type) || 'api_error',
      message: stringOf(message) || `The upstream ${COMPLAINTS[cause]}.`,
    },
  };
}
