/** Collects the facts about the whole message from a stream of native events. */

import { overlayUsage } from './cumulative-usage.js';
import { isJsonObject, type JsonObject, objectOf, stringOf } from './raw-json.js';
import type { FailureCause, StreamError } from './stream-pipe.js';
import type { UsageReading, UsageRemark } from './usage.js';
import { ContentWatch, readUsage } from './usage-reading.js';

export class MessageState {
  messageId: string | undefined;
  /** The model that the upstream names in `message_start`. */
  model: string | undefined;
  stopReason: string | undefined;
  stopDetails: unknown;
  readonly content = new ContentWatch();
  #hasBegun = false;
  #usage: JsonObject = {};
  #hasFinalUsage = false;
  #remark: UsageRemark | undefined;

  /**
   * @returns false when the message has already begun. A second `message_start` shows that two
   * streams were spliced, so neither of their messages may end as complete.
   */
  start(event: JsonObject): boolean {
    if (this.#hasBegun) return false;
    this.#hasBegun = true;
    const { message } = event;
    if (!isJsonObject(message)) return true;
    const { id, model, usage, content } = message;
    this.messageId = stringOf(id) || undefined;
    this.model = stringOf(model) || undefined;
    this.#usage = overlayUsage({}, usage).native;
    this.#readStop(message);
    if (Array.isArray(content)) for (const block of content) this.content.onBlock(block);
    // If `message_start` contains the whole message, it also has the final counts.
    this.#hasFinalUsage = this.stopReason !== undefined && isJsonObject(usage);
    return true;
  }

  delta(event: JsonObject): void {
    this.#readStop(objectOf(event['delta']));
    const { usage } = event;
    if (!isJsonObject(usage)) return;
    const { native, remark } = overlayUsage(this.#usage, usage, this.#hasFinalUsage);
    this.#usage = native;
    this.#remark ??= remark;
    this.#hasFinalUsage = true;
  }

  /**
   * Reads an event of a message whose content is no longer wanted.
   *
   * @returns whether it ended the message
   */
  readOn(type: string, event: JsonObject): boolean {
    if (type === 'message_start') this.start(event);
    else if (type === 'message_delta') this.delta(event);
    return type === 'message_stop';
  }

  #readStop({ stop_reason: reason, stop_details: details }: JsonObject): void {
    this.stopReason = stringOf(reason) || this.stopReason;
    this.stopDetails = details ?? this.stopDetails;
  }

  /** The category of a refusal without content; an empty text if it names none. */
  get emptyRefusal(): string | undefined {
    const { stopReason, stopDetails, content } = this;
    return emptyRefusalOf({ stopReason, stopDetails, hasContent: content.hasContent });
  }

  get hasFinalUsage(): boolean {
    return this.#hasFinalUsage;
  }

  /** The processing tier that the upstream reports; undefined when it reports none. */
  get serviceTier(): unknown {
    return this.#usage['service_tier'];
  }

  /**
   * The counts of `message_start` are provisional unless it has a stop reason, so without a later
   * event there is no final usage.
   */
  usage(): UsageReading {
    if (!this.#hasFinalUsage)
      return { outcome: 'invalid', reason: 'the stream has no final usage' };
    const reading = readUsage(this.#usage, this.content.hops);
    if (reading.outcome === 'invalid' || this.#remark === undefined) return reading;
    return { ...reading, remarks: [this.#remark, ...(reading.remarks ?? [])] };
  }
}

function emptyRefusalOf({
  stopReason,
  stopDetails,
  hasContent,
}: Pick<MessageState, 'stopReason' | 'stopDetails'> & Pick<ContentWatch, 'hasContent'>):
  string | undefined {
  if (stopReason !== 'refusal' || hasContent) return undefined;
  return stringOf(objectOf(stopDetails)['category']);
}

/** What a whole native message reports beside its content. */
export interface MessageReading {
  readonly usage: UsageReading;
  /** The category of a refusal without content; an empty text if it names none. */
  readonly emptyRefusal: string | undefined;
}

/** Reads a message that has arrived whole. */
export function readMessage(message: unknown): MessageReading {
  const { content, usage, stop_reason: reason, stop_details: stopDetails } = objectOf(message);
  const watch = new ContentWatch();
  if (Array.isArray(content)) for (const block of content) watch.onBlock(block);
  const hasContent = watch.hasContent || !Array.isArray(content);
  return {
    usage: readUsage(usage, watch.hops),
    emptyRefusal: emptyRefusalOf({ stopReason: stringOf(reason), stopDetails, hasContent }),
  };
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
