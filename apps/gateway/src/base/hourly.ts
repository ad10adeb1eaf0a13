/** Work that is looked at every hour. */

import { HOUR_MS } from './times.js';

/**
 * Calls `look` at once and then every hour, never twice at the same time.
 *
 * @param isOn - False: it is never called.
 * @returns a function that ends it, and waits for the call that is under way
 */
export function startHourly(look: () => Promise<void>, isOn: boolean): () => Promise<void> {
  if (!isOn) return () => Promise.resolve();
  let running = look();
  const timer = setInterval(() => {
    running = running.then(look);
  }, HOUR_MS).unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
