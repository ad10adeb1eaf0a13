import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { numericFromUnits, unitsFromNumeric } from '../../src/numeric.js';

describe('numeric', () => {
  it.each([
    [0n, '0.00000000000000'],
    [1n, '0.00000000000001'],
    [-1n, '-0.00000000000001'],
    [500_000_000_000_000n, '5.00000000000000'],
    [-123_456_789_012_345_678_901_234n, '-1234567890.12345678901234'],
  ])('%s units are %s USD', (units, text) => {
    expect(numericFromUnits(units)).toBe(text);
    expect(unitsFromNumeric(text)).toBe(units);
  });

  it('reads amounts without decimals and with trailing zeros', () => {
    expect(unitsFromNumeric('5')).toBe(500_000_000_000_000n);
    expect(unitsFromNumeric('-0.5')).toBe(-50_000_000_000_000n);
    expect(unitsFromNumeric('0.0000000000000100')).toBe(1n);
  });

  it.each(['', 'NaN', 'Infinity', '1e5', '1.', '.5', '--1', '0.000000000000001'])(
    'refuses %j',
    (text) => {
      expect(() => unitsFromNumeric(text)).toThrow(RangeError);
    },
  );

  it('reads back every amount it writes', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 38n), max: 10n ** 38n }), (units) => {
        expect(unitsFromNumeric(numericFromUnits(units))).toBe(units);
      }),
    );
  });
});
