/**
 * When V8 collects garbage: while it is young, and what is old not in a short pause.
 *
 * The bytes of a request or a stream lie outside of V8's heap, and what it keeps of them there is a handful of
 * small objects. So its young generation does not fill up, and the bytes are given back only when they are so
 * many that V8 collects everything: half of the time that prompts of 100 KB cost. See docs/decisions/0015.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Activity } from './activity.js';

type Collect = (
  options: { readonly type: 'minor' } | { readonly type: 'major'; readonly flavor: 'last-resort' },
) => void;

const BYTES_BETWEEN = 8 * 1024 * 1024;
/** Of a process without requests. */
const PAUSE_MS = 5 * 60_000;

let collect: Collect | undefined;
let bytesSince = 0;

/** For a process that serves requests, before it does. Again, it changes nothing. */
export function enableMinorCollections(): void {
  if (collect !== undefined) return;
  // Streams take long, so V8 learns to make some of their objects among the old ones at once. There they
  // hold on to the bytes of all streams, those that ended too, until everything is collected.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // A heap may become twice what was alive in it. V8's own factor is near 1 after a pause, and then a few
  // bodies in flight are reason enough to collect everything without end.
  setFlagsFromString('--heap-growing-percent=100');
  // V8 gives it to contexts that are made from now on. One that does not collects when it likes.
  setFlagsFromString('--expose-gc');
  collect = (runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
}

/** To be called when so much of bodies has been read. */
export function countBodyBytes(bytes: number): void {
  bytesSince += bytes;
  if (bytesSince < BYTES_BETWEEN) return;
  bytesSince = 0;
  collect?.({ type: 'minor' });
}

/** V8's memory reducer waits so long before its first collection. */
const REDUCER_WAITS_MS = 8_000;

/**
 * Turns V8's memory reducer off. Some seconds after the last request it collects everything, so as to need less
 * memory. V8 then forgets the shape of each kind of object of which there is none, and throws away the code
 * compiled for it: in a gateway without requests, most of its code. See docs/decisions/0017.
 *
 * To be called when the process starts. Between two collections of the reducer, V8 aborts the process when it finds
 * the flag lowered. So a process older than a few seconds is left as it is, and is only slower after a pause.
 */
export function disableMemoryReducer(
  uptimeMs = performance.now(),
  setFlag: (flag: string) => void = setFlagsFromString,
): void {
  if (uptimeMs < REDUCER_WAITS_MS) setFlag('--memory-reducer-gc-count=0');
}

/**
 * Gives memory back to the system after a long pause, in place of the memory reducer (see {@link disableMemoryReducer}).
 *
 * @returns a function that ends it
 */
export function freeMemoryWhenIdle(
  activity: Pick<Activity, 'begun' | 'running'>,
  shrink = (): void => collect?.({ type: 'major', flavor: 'last-resort' }),
): () => void {
  let begun = activity.begun;
  let isShrunk = false;
  const timer = setInterval(() => {
    const isPause = activity.running === 0 && activity.begun === begun;
    if (isPause && !isShrunk) shrink();
    isShrunk = isPause;
    begun = activity.begun;
  }, PAUSE_MS).unref();
  return () => {
    clearInterval(timer);
  };
}
