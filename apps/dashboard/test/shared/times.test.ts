/** Days and times that were typed, or that are in an address. */

import { describe, expect, it } from '@jest/globals';
import { dayAfter, isoOfLocal } from '../../src/shared/text/times.js';

describe('the day after', () => {
  it('is the next day in UTC', () => {
    expect(dayAfter('2026-02-28')).toBe('2026-03-01');
    expect(dayAfter('9999-12-30')).toBe('9999-12-31');
  });

  it('is the given text if that is not a day before 9999-12-31', () => {
    for (const text of ['foo', '', '2026-13-01', '20261-01-01', '9999-12-31']) {
      expect(dayAfter(text)).toBe(text);
    }
  });
});

describe('a typed time', () => {
  it('is converted to UTC, or left as it is if it is not a time', () => {
    expect(isoOfLocal('2026-11-22T10:30')).toBe(new Date('2026-11-22T10:30').toISOString());
    expect(isoOfLocal('999999-01-01T00:00')).toBe('999999-01-01T00:00');
  });
});
