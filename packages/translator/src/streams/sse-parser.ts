/** A push parser of server-sent events over bytes split anywhere. */

import { EventSplitter } from '../wire/event-splitter.js';
import { MAX_EVENT_BYTES, readEvent, type ServerSentEvent } from '../wire/sse.js';

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
      const isWithinBounds = splitter.push(chunk, (bytes, from, to) => {
        tell(bytes.subarray(from, to));
      });
      if (!isWithinBounds) throw new RangeError('an event exceeds maxEventBytes');
    },
    end() {
      tell(splitter.takeRest());
    },
  };
}
