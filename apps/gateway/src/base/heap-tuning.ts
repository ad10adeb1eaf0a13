/**
 * Decides when V8 collects garbage. The heap of a gateway holds only small objects; the bytes of
 * requests and streams are outside it, in buffers. So the young generation fills slowly, minor GCs
 * are rare, and only full GCs free the buffers. With prompts of 100 KB, full GCs took half of the
 * CPU time. The gateway therefore starts minor GCs itself (docs/decisions/0015), and full GCs only
 * at the start and in long pauses (docs/decisions/0017).
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Activity } from './activity.js';
import { MINUTE_MS } from './times.js';

type Collect = (
  options: { readonly type: 'minor' } | { readonly type: 'major'; readonly flavor: 'last-resort' },
) => void;

const BYTES_BETWEEN = 8 * 1024 * 1024;
/** How often to look for a pause: no request is running, and none has begun since the last look. */
const PAUSE_MS = 5 * MINUTE_MS;
/**
 * The GC after the start takes 120 ms. It comes late enough to delay neither the first requests nor
 * a process that is stopped soon, such as a command's or a test's.
 */
const START_PAUSE_MS = 3_000;

let collect: Collect | undefined;
let bytesSince = 0;

/**
 * Sets V8's flags. Call it before the process serves requests; further calls change nothing. The
 * flags are set at run time because `NODE_OPTIONS` accepts only `--expose-gc`: every operator would
 * have to repeat the others on the command line.
 */
export function enableMinorCollections(): void {
  if (collect !== undefined) return;
  // Streams live long, so V8 learns to allocate some of their objects in the old generation. From
  // there they keep the buffers of all streams alive, also of those that have ended, until the next
  // full GC.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Lets the heap grow to twice its live size before a full GC. V8's own factor is near 1 after a
  // pause, so a few bodies in flight would cause one full GC after another.
  setFlagsFromString('--heap-growing-percent=100');
  // Only contexts created after the flag is set have `gc`. If V8 does not provide `gc`, no GCs are
  // requested here, and V8 schedules all of them itself.
  setFlagsFromString('--expose-gc');
  collect = (runInNewContext('globalThis.gc') as Collect | undefined) ?? (() => undefined);
}

/**
 * Starts a minor GC after every 8 MiB. Callers pass the length of a request body, and half the
 * length of an upstream response.
 */
export function countBodyBytes(bytes: number): void {
  bytesSince += bytes;
  if (bytesSince < BYTES_BETWEEN) return;
  bytesSince = 0;
  collect?.({ type: 'minor' });
}

/**
 * Lets threads that begin later have the young generation that they ask for. The image starts Node
 * with a larger one, which is meant for the thread that serves requests, and which V8 would give to
 * all. For commands, whose threads read the whole ledger: 20 MB less.
 */
export function keepYoungGenerationOfThreads(): void {
  setFlagsFromString('--max-semi-space-size=0');
}

/** How long V8's memory reducer waits before its first GC. */
const REDUCER_WAITS_MS = 8_000;

/**
 * Turns off V8's memory reducer, which runs a full GC some seconds after the last request. That GC
 * drops hidden classes with no live instance, and with them the optimized code that depends on
 * them. In an idle gateway that is most of the code. See docs/decisions/0017.
 *
 * Call it when the process starts. If the flag is lowered between two GCs of the reducer, V8 aborts
 * the process. The first of these GCs comes at least 8 s after the start, so the flag is not set in
 * an older process. Such a process is only slower after a pause.
 */
export function disableMemoryReducer(
  uptimeMs = performance.now(),
  setFlag: (flag: string) => void = setFlagsFromString,
): void {
  if (uptimeMs < REDUCER_WAITS_MS) setFlag('--memory-reducer-gc-count=0');
}

/**
 * Returns memory to the system after a long pause. Replaces V8's memory reducer.
 *
 * @param options.ownsProcess - Also returns the memory that only the start needed, some 15 MB, if
 * no request comes in the first seconds. False if anything else runs in the process, such as tests:
 * there a full GC takes long.
 * @returns a function that ends this behaviour
 */
export function freeMemoryWhenIdle(
  activity: Pick<Activity, 'begun' | 'running'>,
  options: { readonly ownsProcess: boolean },
  shrink = (): void => collect?.({ type: 'major', flavor: 'last-resort' }),
): () => void {
  let begun = activity.begun;
  let isShrunk = false;
  const look = (): void => {
    const isPause = activity.running === 0 && activity.begun === begun;
    if (isPause && !isShrunk) shrink();
    isShrunk = isPause;
    begun = activity.begun;
  };
  const afterStart = options.ownsProcess ? setTimeout(look, START_PAUSE_MS).unref() : undefined;
  const timer = setInterval(look, PAUSE_MS).unref();
  return () => {
    clearTimeout(afterStart);
    clearInterval(timer);
  };
}
