/** The arithmetic of the pages with amounts, compared with that of the gateway. */

import { describe, expect, it } from '@jest/globals';
import * as billing from '@gateway/billing';
import { assert, bigInt, property } from 'fast-check';
import {
  exactUsd,
  formatUsd,
  parseUsd,
  readTypedUsd,
  roundedUsd,
  separatorProblem,
  sumUsd,
} from '../../src/shared/text/usd.js';

const MOST = 10n ** 30n;

describe('amounts in the browser', () => {
  it('are read and written as in the gateway', () => {
    assert(
      property(bigInt({ min: -MOST, max: MOST }), (amount) => {
        const text = billing.formatUsd(amount);
        expect(formatUsd(amount)).toBe(text);
        expect(parseUsd(text)).toBe(amount);
      }),
    );
  });

  it('add up without rounding', () => {
    expect(sumUsd(['0.1', '0.2', '-0.30000000000001'])).toBe('-0.00000000000001');
    expect(sumUsd([])).toBe('0');
  });

  it('are refused unless they are plain decimals of at most 14 places', () => {
    for (const text of ['', '1e3', '.5', '1.', '0.000000000000001', 'NaN', '1,5']) {
      expect(() => parseUsd(text)).toThrow(RangeError);
    }
  });

  it('are rounded for display to four decimals, or to the first two digits', () => {
    expect(roundedUsd('1234.56789')).toBe('$1,234.5679');
    expect(roundedUsd('-5')).toBe('−$5.00');
    expect(roundedUsd('0')).toBe('$0.00');
    expect(roundedUsd('0.99999')).toBe('$1.00');
    expect(roundedUsd('0.0000123456')).toBe('$0.000012');
    expect(roundedUsd('0.00000000000001')).toBe('$0.00000000000001');
    expect(exactUsd('-1234.56789012345678')).toBe('−$1,234.56789012345678');
  });

  it('may be typed with a dollar sign, separators and outer spaces, but with no other text', () => {
    expect(readTypedUsd(' $1,250.50 ')).toBe('1250.5');
    expect(readTypedUsd('-5')).toBe('-5');
    for (const text of ['', 'five', '5 USD', '1e9']) expect(readTypedUsd(text)).toBeUndefined();
  });

  it('are refused with a decimal comma, and the person is asked for a point', () => {
    expect(readTypedUsd('1,234,567.5')).toBe('1234567.5');
    expect(separatorProblem('1,234,567.5')).toBeUndefined();
    for (const text of ['7,50', '0,500', '1,2345', '12,34.5', '1,,234', '1.234,50', ',500', '5,']) {
      expect(readTypedUsd(text)).toBeUndefined();
      expect(separatorProblem(text)).toContain('decimals as 7.50');
    }
    expect(separatorProblem('seven')).toBeUndefined();
  });
});
