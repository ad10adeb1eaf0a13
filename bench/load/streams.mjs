/** Opens streams that are all open at once, and measures the time to the first byte of each. */

import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, createTally } from './client.mjs';

/**
 * @param {any} target
 * @param {object} options
 * @param {number} options.streams
 * @param {number} options.openingMs - time over which the streams start, evenly spread
 * @returns `areOpen`, which resolves when each stream has sent its first byte or failed, with the
 * number of streams open then; and `areDone`, which resolves with the tally and the milliseconds to
 * each first byte
 */
export function runStreams(target, { streams, openingMs }) {
  const tally = createTally(target.requests);
  const firstByteMs = [];
  const startedAt = performance.now();
  let done = 0;
  const begun = Array.from({ length: streams }, (_, i) => begin((i / streams) * openingMs));
  return {
    areOpen: Promise.all(begun.map(({ isOpen }) => isOpen)).then(() => streams - done),
    areDone: Promise.all(begun.map(({ isDone }) => isDone)).then(() => ({
      tally,
      seconds: (performance.now() - startedAt) / 1000,
      firstByteMs: Float64Array.from(firstByteMs),
    })),
  };

  function begin(afterMs) {
    /** @type {PromiseWithResolvers<void>} */
    const open = Promise.withResolvers();
    const isDone = sleep(afterMs).then(() => {
      const client = createClient(target, tally);
      const sentAt = performance.now();
      return new Promise((resolve) => {
        client.ask(
          0,
          () => {
            done += 1;
            client.close();
            open.resolve();
            resolve(undefined);
          },
          () => {
            firstByteMs.push(performance.now() - sentAt);
            open.resolve();
          },
        );
      });
    });
    return { isOpen: open.promise, isDone };
  }
}
