/**
 * Reads the fields of one server-sent event.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { decodeUtf8 } from './bytes.js';

export interface ServerSentEvent {
  /** The value of the last `event:` line; empty when there is none. */
  readonly event: string;
  /** The `data:` lines, joined with LF. */
  readonly data: string;
}

/** A name line and one data line: the form of every event that the upstream sends. */
const USUAL_EVENT = /^event: (.*)\ndata: (.*)\n\n$/;

/** Reads the fields of one event. Comments, `id` and `retry` are ignored. */
export function readEvent(bytes: Uint8Array): ServerSentEvent {
  const text = decodeUtf8(bytes);
  const usual = USUAL_EVENT.exec(text);
  if (usual) return { event: usual[1] as string, data: usual[2] as string };
  let event = '';
  const data: string[] = [];
  for (const line of text.split(/\r\n?|\n/)) {
    const [name, value = ''] = line.split(/: ?(.*)/s);
    if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
  }
  return { event, data: data.join('\n') };
}

/**
 * Whether the bytes begin like a line of an event stream. A proxy's HTML or JSON does not.
 */
export function isEventStream(bytes: Uint8Array): boolean {
  return /^((event|data|id|retry)?:|$)/.test(decodeUtf8(bytes));
}

/** The default limit of one event. */
export const MAX_EVENT_BYTES = 32 * 1024 * 1024;
