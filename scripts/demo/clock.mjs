/**
 * A clock that the demo sets. Loaded before everything else, it replaces `Date.now` and the date of
 * `new Date()` in each thread, so that the real stores date what they write as the demo wants it.
 */

import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const NAME = 'demo clock';
const RealDate = Date;

if (isMainThread) setEnvironmentData(NAME, new SharedArrayBuffer(8));
const time = new Float64Array(/** @type {SharedArrayBuffer} */ (getEnvironmentData(NAME)));
if (isMainThread) time[0] = RealDate.now();

/** @param ms - Milliseconds since the epoch, for all threads. */
export function setClock(ms) {
  time[0] = ms;
}

const date = new Proxy(RealDate, {
  construct: (target, given, made) =>
    Reflect.construct(target, given.length === 0 ? [time[0]] : given, made),
  get: (target, name) => (name === 'now' ? () => time[0] : Reflect.get(target, name)),
});
Object.assign(globalThis, { Date: date });
