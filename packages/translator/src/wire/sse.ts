/**
 * Server-sent events: fields of one event, and a push parser over bytes split anywhere.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { decodeUtf8 } from './bytes.js';

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

/** A name and one line of data, as every event of the upstream is. */
const USUAL_EVENT = /^event: (.*)\ndata: (.*)\n\n$/;

/** {@link readEvent} of decoded text. */
export function readEventText(text: string): ServerSentEvent {
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

/** Whether bytes begin as a line of an event stream does: no other text that a proxy might send instead. */
export function isEventStream(bytes: Uint8Array): boolean {
  return /^((event|data|id|retry)?:|$)/.test(decodeUtf8(bytes));
}

export const MAX_EVENT_BYTES = 32 * 1024 * 1024;
