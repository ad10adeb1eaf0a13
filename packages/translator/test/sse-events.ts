import { EventSplitter } from '../src/wire/event-splitter.js';
import { MAX_EVENT_BYTES, readEvent, type ServerSentEvent } from '../src/wire/sse.js';

/**
 * The events with data in a stream that arrives in pieces. Its last event may lack its blank line.
 */
export function eventsOf(pieces: readonly Uint8Array[]): ServerSentEvent[] {
  const splitter = new EventSplitter(MAX_EVENT_BYTES);
  const events: ServerSentEvent[] = [];
  for (const piece of pieces) {
    splitter.push(piece, (bytes, from, to) => events.push(readEvent(bytes.subarray(from, to))));
  }
  events.push(readEvent(splitter.takeRest()));
  return events.filter(({ data }) => data !== '');
}
