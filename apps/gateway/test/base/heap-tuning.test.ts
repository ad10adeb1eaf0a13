import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createActivity } from '../../src/base/activity.js';
import { disableMemoryReducer, freeMemoryWhenIdle } from '../../src/base/heap-tuning.js';

const PAUSE_MS = 5 * 60_000;

it('does not set the flag of the memory reducer once its GCs may have begun', () => {
  const flags: string[] = [];
  const setFlag = (flag: string): number => flags.push(flag);
  disableMemoryReducer(8_000, setFlag);
  expect(flags).toEqual([]);
  disableMemoryReducer(7_999, setFlag);
  expect(flags).toEqual(['--memory-reducer-gc-count=0']);
});

describe('freeMemoryWhenIdle', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('frees memory once in each long pause, and never while there are requests', () => {
    const activity = createActivity();
    const shrink = jest.fn();
    const stop = freeMemoryWhenIdle(activity, { ownsProcess: false }, shrink);
    const shrunkAfter = (intervals: number): number => {
      jest.advanceTimersByTime(intervals * PAUSE_MS);
      return shrink.mock.calls.length;
    };

    expect(shrunkAfter(1)).toBe(1);
    expect(shrunkAfter(5)).toBe(1);
    // A short request. The time after it counts as another pause once it is long enough.
    activity.begin();
    activity.end();
    expect(shrunkAfter(1)).toBe(1);
    expect(shrunkAfter(1)).toBe(2);
    // A stream that runs for five intervals.
    activity.begin();
    expect(shrunkAfter(5)).toBe(2);
    activity.end();
    expect(shrunkAfter(1)).toBe(3);
    stop();
    activity.begin();
    activity.end();
    expect(shrunkAfter(5)).toBe(3);
  });

  it.each([
    { when: 'before the first request', ownsProcess: true, requests: 0, expected: 1 },
    { when: 'not if requests came first', ownsProcess: true, requests: 1, expected: 0 },
    { when: 'not among other code', ownsProcess: false, requests: 0, expected: 0 },
  ])('frees the memory of the start: $when', ({ ownsProcess, requests, expected }) => {
    const activity = createActivity();
    const shrink = jest.fn();
    const stop = freeMemoryWhenIdle(activity, { ownsProcess }, shrink);
    for (let request = 0; request < requests; request += 1) {
      activity.begin();
      activity.end();
    }
    jest.advanceTimersByTime(PAUSE_MS / 2);
    expect(shrink).toHaveBeenCalledTimes(expected);
    stop();
  });
});
