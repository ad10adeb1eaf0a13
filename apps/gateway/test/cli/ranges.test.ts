/** One rule for times and ranges in all commands. */

import { describe, expect, it } from '@jest/globals';
import { readRange } from '../../src/cli/ranges.js';
import { monthText, needsZone, point, timeOf, when } from '../../src/cli/when.js';

const now = Date.parse('2026-11-30T13:45:10Z');
const read = (text: string, zone = 'UTC') => timeOf(when(text), { zone, now }).toISOString();

describe('a time', () => {
  it.each([
    ['2026-11-01', 'UTC', '2026-11-01T00:00:00.000Z'],
    ['2026-11-01', 'Europe/Berlin', '2026-10-31T23:00:00.000Z'],
    ['2026-07-01', 'Europe/Berlin', '2026-06-30T22:00:00.000Z'],
    ['2026-07-01T13:00', 'Europe/Berlin', '2026-07-01T11:00:00.000Z'],
    ['2026-11-01 13:00', 'America/New_York', '2026-11-01T18:00:00.000Z'],
    ['2026-11-01T13:00:00Z', 'Europe/Berlin', '2026-11-01T13:00:00.000Z'],
    ['2026-11-01T13:00:00+05:30', 'UTC', '2026-11-01T07:30:00.000Z'],
    ['7d', 'UTC', '2026-11-23T00:00:00.000Z'],
    ['7d', 'Europe/Berlin', '2026-11-22T23:00:00.000Z'],
    // The clocks were turned back on 25 October.
    ['6w', 'Europe/Berlin', '2026-10-18T22:00:00.000Z'],
    ['0d', 'Asia/Tokyo', '2026-11-29T15:00:00.000Z'],
    ['24h', 'Europe/Berlin', '2026-11-29T13:00:00.000Z'],
    ['30m', 'UTC', '2026-11-30T13:15:10.000Z'],
  ])('%s in %s is %s', (text, zone, time) => {
    expect(read(text, zone)).toBe(time);
  });

  it.each(['yesterday', '2026-02-30', '2026-13-01', '2026-11-01T25:00', '7', '7y', '-7d', ''])(
    'is not "%s"',
    (text) => {
      expect(() => when(text)).toThrow(
        /^It must be a day such as 2026-11-01, .* such as 7d or 24h/,
      );
    },
  );

  it('of what is mostly in the future is not a time ago', () => {
    expect(point('2026-12-31')).toBe('2026-12-31');
    expect(() => point('7d')).toThrow(/^It must be a day such as 2026-11-01, or a time/);
  });

  it('needs the zone only where the zone decides', () => {
    expect(['2026-11-01', '2026-11-01T13:00', '7d', '2026-11'].filter(needsZone)).toHaveLength(4);
    expect(['2026-11-01T13:00:00Z', '24h', '30m'].filter(needsZone)).toEqual([]);
  });
});

describe('a range', () => {
  const at = { zone: 'Europe/Berlin', now };
  const optional = { from: false, until: false };
  const needed = { from: true, until: true };

  it('of a month is that of the zone', () => {
    expect(readRange({ month: monthText('2026-10') }, optional, at)).toEqual({
      from: '2026-09-30T22:00:00.000Z',
      until: '2026-10-31T23:00:00.000Z',
    });
    expect(() => monthText('2026-13')).toThrow('such as 2026-11');
  });

  it('is absent where it is neither typed nor needed', () => {
    expect(readRange({}, optional, at)).toEqual({});
    expect(readRange({ from: '24h' }, optional, at)).toEqual({ from: '2026-11-29T13:00:00.000Z' });
  });

  it('is of the last 30 days until now where a report needs one', () => {
    expect(readRange({}, needed, at)).toEqual({
      from: '2026-10-30T23:00:00.000Z',
      until: '2026-11-30T14:00:00.000Z',
    });
  });
});
