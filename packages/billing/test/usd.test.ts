import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatUsd, parseUsd, UsdFormatError } from '../src/usd.js';

describe('parseUsd', () => {
  it.each([
    ['0', 0n],
    ['-0', 0n],
    ['5', 500_000_000_000_000n],
    ['5.00', 500_000_000_000_000n],
    ['-0.25', -25_000_000_000_000n],
    ['0.00000000000001', 1n],
    ['92233.72036854775808', 9_223_372_036_854_775_808n],
    ['1000000000', 100_000_000_000_000_000_000_000n],
  ])('reads %s exactly', (text, amount) => {
    expect(parseUsd(text)).toBe(amount);
  });

  it.each([
    ['', 'is empty'],
    ['1e3', 'has an exponent'],
    ['+1', 'has a plus sign'],
    ['01', 'has leading zeros'],
    ['0.000000000000001', 'has 15 decimals, but at most 14 are allowed'],
    ['1'.repeat(25), 'has more than 24 digits before the point'],
    ...['.5', '5.', '1,5', '1 ', '\n1', '0x10', 'NaN', 'Infinity', '--1', '1.2.3', '١'].map(
      (text) => [text, 'is not a decimal number'],
    ),
  ])('refuses %j and names the problem', (text, problem) => {
    expect(() => parseUsd(text)).toThrow(UsdFormatError);
    expect(() => parseUsd(text)).toThrow(problem);
  });

  it('quotes no more than 40 characters of a bad text', () => {
    expect(() => parseUsd('x'.repeat(100_000))).toThrow(`"${'x'.repeat(40)}…"`);
    expect(() => parseUsd('x'.repeat(40))).toThrow(`"${'x'.repeat(40)}"`);
  });
});

describe('formatUsd', () => {
  it.each([
    [0n, '0'],
    [1n, '0.00000000000001'],
    [-1n, '-0.00000000000001'],
    [420_000_000n, '0.0000042'],
    [500_000_000_000_000n, '5'],
    [-550_000_000_000_000n, '-5.5'],
  ])('writes %s as %s', (amount, text) => {
    expect(formatUsd(amount)).toBe(text);
  });

  it('writes what parseUsd reads back, as a valid JSON number', () => {
    const ledgerRange = 10n ** 38n - 1n;
    fc.assert(
      fc.property(fc.bigInt({ min: -ledgerRange, max: ledgerRange }), (amount) => {
        const text = formatUsd(amount);
        expect(parseUsd(text)).toBe(amount);
        expect(typeof JSON.parse(text)).toBe('number');
      }),
    );
  });

  it('writes the canonical form of every decimal of up to 14 places', () => {
    const digits = fc.stringMatching(/^[0-9]{1,14}$/);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n - 1n }), digits, (whole, fraction) => {
        const trimmed = fraction.replace(/0+$/, '');
        const canonical = trimmed === '' ? `${whole}` : `${whole}.${trimmed}`;
        expect(formatUsd(parseUsd(`${whole}.${fraction}`))).toBe(canonical);
      }),
    );
  });
});
