import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ChargeableUsage } from '../src/charge.js';
import { chargeOf, MAX_TOKENS, usageProblem, worstCaseCharge } from '../src/charge.js';
import type { PublishedRates, Rates } from '../src/rates.js';
import { readRates, SPECIFIED_FACTORS } from '../src/rates.js';
import { formatUsd, parseUsd } from '../src/usd.js';
import vectors from './vectors/charges.json';

const NO_USAGE: ChargeableUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
};

function ratesOf(published: PublishedRates): Rates {
  const reading = readRates(published);
  if (reading.outcome === 'invalid') throw new Error(JSON.stringify(reading.problems));
  return reading.rates;
}

const SONNET = ratesOf({ rateIn: '3', rateOut: '15', factors: SPECIFIED_FACTORS });

/** Six-decimal rates up to 10,000 USD, as written in a price table. */
const rateText = fc
  .integer({ min: 0, max: 10_000_000_000 })
  .map((steps) => `${Math.floor(steps / 1e6)}.${String(steps % 1e6).padStart(6, '0')}`);

const usages = fc
  .record({
    inputTokens: fc.integer({ min: 0, max: 1_000_000_000 }),
    outputTokens: fc.integer({ min: 0, max: 1_000_000_000 }),
    cacheReadInputTokens: fc.integer({ min: 0, max: 1_000_000_000 }),
    written5m: fc.integer({ min: 0, max: 500_000_000 }),
    cacheCreation1hInputTokens: fc.integer({ min: 0, max: 500_000_000 }),
  })
  .map(({ written5m, ...usage }) => ({
    ...usage,
    cacheCreationInputTokens: written5m + usage.cacheCreation1hInputTokens,
  }));

describe('chargeOf', () => {
  it.each(vectors)(
    'charges the amount of the vector: $name',
    ({ rate_in, rate_out, factors, usage, charge_usd }) => {
      const rates = ratesOf({
        rateIn: rate_in,
        rateOut: rate_out,
        factors:
          factors === undefined
            ? SPECIFIED_FACTORS
            : {
                cacheRead: factors.cache_read,
                cacheWrite: factors.cache_write,
                cacheWrite1h: factors.cache_write_1h,
              },
      });
      const charge = chargeOf(
        {
          inputTokens: usage.input_tokens,
          outputTokens: usage.output_tokens,
          cacheReadInputTokens: usage.cache_read_input_tokens,
          cacheCreationInputTokens: usage.cache_creation_input_tokens,
          cacheCreation1hInputTokens: usage.cache_creation_1h_input_tokens,
        },
        rates,
      );
      expect(formatUsd(charge)).toBe(charge_usd);
    },
  );

  it("equals the specification's formula in rational arithmetic", () => {
    fc.assert(
      fc.property(usages, rateText, rateText, (usage, rateIn, rateOut) => {
        const charge = chargeOf(usage, ratesOf({ rateIn, rateOut, factors: SPECIFIED_FACTORS }));
        const expected = specifiedCharge(usage, rateIn, rateOut);
        expect(charge * expected.denominator).toBe(expected.numerator * 10n ** 14n);
      }),
    );
  });

  it('charges two usages added together as much as the two apart', () => {
    fc.assert(
      fc.property(usages, usages, rateText, rateText, (a, b, rateIn, rateOut) => {
        const rates = ratesOf({ rateIn, rateOut, factors: SPECIFIED_FACTORS });
        expect(chargeOf(added(a, b), rates)).toBe(chargeOf(a, rates) + chargeOf(b, rates));
      }),
    );
  });

  it.each([-1, 0.5, Number.NaN, Infinity, MAX_TOKENS + 1, 1e30])('refuses %d tokens', (count) => {
    for (const field of Object.keys(NO_USAGE)) {
      const usage = { ...NO_USAGE, [field]: count };
      expect(usageProblem(usage)).toContain(field);
      expect(() => chargeOf(usage, SONNET)).toThrow(RangeError);
    }
  });

  it('refuses more one-hour cache writes than cache writes', () => {
    const usage = { ...NO_USAGE, cacheCreationInputTokens: 1, cacheCreation1hInputTokens: 2 };
    expect(() => chargeOf(usage, SONNET)).toThrow('more than cacheCreationInputTokens');
  });

  it('ignores fields that are not priced', () => {
    const usage = { ...NO_USAGE, outputTokens: 2, thinkingTokens: Number.NaN };
    expect(chargeOf(usage, SONNET)).toBe(parseUsd('0.00003'));
  });
});

describe('worstCaseCharge', () => {
  it('prices the prompt at the highest input-side rate', () => {
    const ceiling = { promptTokens: 1_000_000, outputTokens: 1_000_000 };
    expect(formatUsd(worstCaseCharge(ceiling, SONNET))).toBe('18.75');
    const dearHour = ratesOf({
      rateIn: '3',
      rateOut: '15',
      factors: { ...SPECIFIED_FACTORS, cacheWrite1h: '2' },
    });
    expect(formatUsd(worstCaseCharge(ceiling, dearHour))).toBe('21');
  });

  it('is never below the charge of a usage within its limits', () => {
    fc.assert(
      fc.property(usages, rateText, rateText, fc.constantFrom('0.5', '1.25', '2'), (...sample) => {
        const [usage, rateIn, rateOut, cacheWrite1h] = sample;
        const factors = { ...SPECIFIED_FACTORS, cacheWrite1h };
        const rates = ratesOf({ rateIn: rateIn.slice(0, -1), rateOut, factors });
        const small = Object.fromEntries(
          Object.entries(usage).map(([field, count]) => [field, Math.floor(count / 4)]),
        );
        const scaled = { ...usage, ...small };
        const promptTokens =
          scaled.inputTokens + scaled.cacheReadInputTokens + scaled.cacheCreationInputTokens;
        const ceiling = { promptTokens, outputTokens: scaled.outputTokens };
        expect(worstCaseCharge(ceiling, rates) >= chargeOf(scaled, rates)).toBe(true);
      }),
    );
  });

  it('refuses counts that are not token counts', () => {
    expect(() => worstCaseCharge({ promptTokens: -1, outputTokens: 0 }, SONNET)).toThrow(
      RangeError,
    );
    expect(() => worstCaseCharge({ promptTokens: 0, outputTokens: 1e12 }, SONNET)).toThrow(
      'outputTokens',
    );
  });
});

interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const times = (a: Rational, b: Rational): Rational => ({
  numerator: a.numerator * b.numerator,
  denominator: a.denominator * b.denominator,
});

const plus = (a: Rational, b: Rational): Rational => ({
  numerator: a.numerator * b.denominator + b.numerator * a.denominator,
  denominator: a.denominator * b.denominator,
});

const millionths = (count: number): Rational => ({
  numerator: BigInt(count),
  denominator: 1_000_000n,
});

const rational = (text: string): Rational => ({
  numerator: BigInt(text.replace('.', '')),
  denominator: 10n ** BigInt(text.split('.')[1]?.length ?? 0),
});

/** The specification's formula, term by term. */
function specifiedCharge(usage: ChargeableUsage, rateIn: string, rateOut: string): Rational {
  const input = rational(rateIn);
  return [
    times(millionths(usage.inputTokens), input),
    times(millionths(usage.outputTokens), rational(rateOut)),
    times(millionths(usage.cacheReadInputTokens), times(input, rational('0.10'))),
    times(millionths(usage.cacheCreationInputTokens), times(input, rational('1.25'))),
  ].reduce(plus);
}

function added(a: ChargeableUsage, b: ChargeableUsage): ChargeableUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadInputTokens: a.cacheReadInputTokens + b.cacheReadInputTokens,
    cacheCreationInputTokens: a.cacheCreationInputTokens + b.cacheCreationInputTokens,
    cacheCreation1hInputTokens: a.cacheCreation1hInputTokens + b.cacheCreation1hInputTokens,
  };
}
