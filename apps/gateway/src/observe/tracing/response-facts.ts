/**
 * Reads facts of a response for its span: model, id and why the model stopped. The usage comes from
 * the charge.
 */

import type { StreamPipe } from '@gateway/translator';
import { parseJson } from '../../base/parse-json.js';
import type { ResponseFormat, StreamOutput } from '../../http/response-format.js';

export interface ResponseFacts {
  model?: string | undefined;
  messageId?: string | undefined;
  stopReason?: string | undefined;
  /** When the last byte of the response came, in milliseconds since the epoch. */
  endedAt?: number | undefined;
}

/** The event `message_start` names the model. It is the first, and a few hundred bytes long. */
const MAX_START_CHARS = 8_192;

/** @returns the format, which writes what it reads into `facts` as well */
export function observed(
  format: ResponseFormat,
  facts: ResponseFacts,
  now: () => number,
): ResponseFormat {
  return {
    ...format,
    createPipe: () => observedPipe(format.createPipe(), facts, now),
    readResponse(body) {
      facts.endedAt = now();
      readMessage(parseJson(body.toString()), facts);
      return format.readResponse(body);
    },
  };
}

function observedPipe(
  pipe: StreamPipe<Uint8Array, StreamOutput>,
  facts: ResponseFacts,
  now: () => number,
): StreamPipe<Uint8Array, StreamOutput> {
  let start: string | undefined = '';
  return {
    push(chunk) {
      if (start !== undefined) {
        start = readStart(start + Buffer.from(chunk).toString('latin1'), facts);
      }
      return pipe.push(chunk);
    },
    get isFinished() {
      return pipe.isFinished;
    },
    get isWithinEvent() {
      return pipe.isWithinEvent === true;
    },
    get heldBytes() {
      return pipe.heldBytes ?? 0;
    },
    passEarly: () => pipe.passEarly?.(),
    cut: () => pipe.cut?.(),
    end() {
      facts.endedAt = now();
      const end = pipe.end();
      facts.messageId = nameOf(end.messageId);
      if (end.outcome === 'complete') facts.stopReason = nameOf(end.stopReason);
      return end;
    },
  };
}

/** @returns the text so far while the event `message_start` may be incomplete, then `undefined` */
function readStart(text: string, facts: ResponseFacts): string | undefined {
  // Matches only a complete line, because a partial one would be parsed again with each chunk.
  const [, data] = /^data:([^\r\n]*)[\r\n]/m.exec(text) ?? [];
  const event = data === undefined ? undefined : parseJson(data);
  if (isObject(event) && isObject(event['message'])) {
    facts.model = nameOf(event['message']['model']);
    return undefined;
  }
  return text.length > MAX_START_CHARS ? undefined : text;
}

function readMessage(message: unknown, facts: ResponseFacts): void {
  if (!isObject(message)) return;
  facts.model = nameOf(message['model']);
  facts.messageId = nameOf(message['id']);
  facts.stopReason = nameOf(message['stop_reason']);
}

/**
 * Returns a value only if it has the form of a name, because other text of the upstream must not
 * get into a span.
 */
function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w.:@/-]{1,128}$/.test(value) ? value : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
