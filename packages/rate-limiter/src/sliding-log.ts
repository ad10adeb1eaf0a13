/**
 * A sliding log: the times of the events that were allowed.
 *
 * It enforces the limit in every window, wherever the window begins. A token bucket of 30 that
 * refills in a minute would let 59 events pass in its first minute.
 */

import type { LogPolicy } from './policy.js';

export type LogDecision =
  | { readonly outcome: 'allowed'; readonly log: readonly number[]; readonly remaining: number }
  | { readonly outcome: 'denied'; readonly waitUs: number };

/**
 * Whether one more event may happen now, and the log after it. A denied event is not logged.
 *
 * A window is half open: an event counts until exactly `windowMs` after it. Events later than now
 * (the clock stepped back) are ignored, so that no subject waits longer than the window.
 *
 * @param log - Times of earlier events in microseconds, oldest first.
 */
export function takeSlot(log: readonly number[], nowUs: number, policy: LogPolicy): LogDecision {
  const windowUs = policy.windowMs * 1_000;
  const live = eventsInWindow(log, nowUs, policy);
  const blocking = live[live.length - policy.limit];
  if (blocking !== undefined) return { outcome: 'denied', waitUs: blocking + windowUs - nowUs };
  live.push(nowUs);
  return { outcome: 'allowed', log: live, remaining: policy.limit - live.length };
}

/**
 * The log after an event that was allowed elsewhere. Keeps the newest `limit` events of the window.
 */
export function addEvent(log: readonly number[], nowUs: number, policy: LogPolicy): number[] {
  const live = eventsInWindow(log, nowUs, policy);
  live.push(nowUs);
  return live.slice(-policy.limit);
}

function eventsInWindow(log: readonly number[], nowUs: number, policy: LogPolicy): number[] {
  return log.slice(firstAfter(log, nowUs - policy.windowMs * 1_000), firstAfter(log, nowUs));
}

/** Index of the first time later than `timeUs`, by bisection. */
function firstAfter(log: readonly number[], timeUs: number): number {
  let low = 0;
  let high = log.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((log[middle] ?? Infinity) > timeUs) high = middle;
    else low = middle + 1;
  }
  return low;
}
