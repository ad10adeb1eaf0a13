/** A sender of events that takes some once, however long it then needs. */

import type { DelivererParts } from '../../src/observe/notifications/deliverer.js';

/**
 * The store of a deliverer whose events are free for another one after `leaseMs`. With a short
 * lease of its own, a deliverer on a busy machine would take its events again itself.
 */
export function takingOnce(
  store: DelivererParts['store'],
  leaseMs: number,
): DelivererParts['store'] {
  let hasTaken = false;
  return {
    async takeDueEvents(options) {
      if (hasTaken) return [];
      const events = await store.takeDueEvents({ ...options, leaseMs });
      hasTaken = events.length > 0;
      return events;
    },
    finishEvent: (channel, seq, result) => store.finishEvent(channel, seq, result),
  };
}
