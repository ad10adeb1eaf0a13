/**
 * Server-sent events: fields of one event, and a push parser over bytes split anywhere.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { decodeUtf8 } from './bytes.js';
import { EventSplitter } from './event-splitter.js';

export interface ServerSentEvent {
  /** Of the last `event:` line, or empty. */
  readonly event: string;
  /** The `data:` lines, joined with LF. */
  readonly data: string;
}

/** Reads the fields of one event. Comments, `id` and `retry` are ignored. */
export function readEvent(bytes: Uint8Array): ServerSentEvent {
  return readEventText(decodeUtf8(bytes));
}

/** {@link readEvent} of decoded text. */
export function readEventText(text: string): ServerSentEvent {
  return readUsualEvent(text) ?? readAnyEvent(text);
}

/** What nearly all events look like, read without splitting lines: a name, one line of data, LF. */
function readUsualEvent(text: string): ServerSentEvent | undefined {
  if (!text.startsWith('event: ') || text.includes('\r')) return undefined;
  const nameEnd = text.indexOf('\n');
  if (!text.startsWith('data: ', nameEnd + 1)) return undefined;
  const dataEnd = text.indexOf('\n', nameEnd + 1);
  if (dataEnd !== text.length - 2) return undefined;
  return { event: text.slice(7, nameEnd), data: text.slice(nameEnd + 7, dataEnd) };
}

function readAnyEvent(text: string): ServerSentEvent {
  let event = '';
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    if (name !== 'event' && name !== 'data') continue;
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'event') event = value;
    else data.push(value);
  }
  return { event, data: data.join('\n') };
}

/** Whether bytes begin as a line of an event stream does: no other text that a proxy might send instead. */
export function isEventStream(bytes: Uint8Array): boolean {
  return /^(event|data|id|retry)?:/.test(decodeUtf8(bytes));
}

export interface SseParser {
  /** Takes bytes, split anywhere, and calls back for each event that they complete and that has data. */
  push(chunk: Uint8Array): void;
  /** The stream ended: a last event without its blank line is told as well. */
  end(): void;
}

/**
 * @param options.maxEventBytes - An event that grows beyond this throws a `RangeError`. Default: 32 MiB.
 */
export function createSseParser(
  onEvent: (event: ServerSentEvent) => void,
  options: { readonly maxEventBytes?: number } = {},
): SseParser {
  const splitter = new EventSplitter(options.maxEventBytes ?? MAX_EVENT_BYTES);
  const tell = (bytes: Uint8Array): void => {
    const event = readEvent(bytes);
    if (event.data !== '') onEvent(event);
  };
  return {
    push(chunk) {
      if (!splitter.push(chunk, tell)) throw new RangeError('an event exceeds maxEventBytes');
    },
    end() {
      tell(splitter.takeRest());
    },
  };
}

export const MAX_EVENT_BYTES = 32 * 1024 * 1024;
