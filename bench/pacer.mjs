/**
 * Sends the frames of many streams at one pace with a single timer. The timer visits a ring of
 * slots once per period. Each stream keeps the slot in which it began, so the load is spread
 * evenly.
 */

import { performance } from 'node:perf_hooks';
import { clearInterval, setInterval } from 'node:timers';

const SLOT_MS = 2;

export function createPacer(eventsPerSecond) {
  const slots = Array.from(
    { length: Math.round(1000 / eventsPerSecond / SLOT_MS) },
    () => new Set(),
  );
  const startedAt = performance.now();
  let visited = 0;
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - startedAt) / SLOT_MS);
    // After a pause of this process slots are skipped, so that no stream gets two events at once.
    visited = Math.max(visited, due - slots.length);
    while (visited < due) visit(slots[visited++ % slots.length]);
  }, SLOT_MS);

  function visit(slot) {
    for (const stream of slot) {
      stream.socket.write(stream.frames[stream.next++]);
      if (stream.next === stream.frames.length || stream.socket.destroyed) slot.delete(stream);
    }
  }

  return {
    /** Sends the first event at once. */
    start(socket, { frames }) {
      socket.write(frames[0]);
      slots[visited % slots.length].add({ socket, frames, next: 1 });
    },
    stop: () => clearInterval(timer),
  };
}
