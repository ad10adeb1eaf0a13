import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createExpiringMap } from '../src/expiring-map.js';

const MAX_ENTRIES = 4;

type Step =
  | { readonly does: 'get' | 'delete'; readonly key: string }
  | { readonly does: 'put'; readonly key: string; readonly lastsUs: number }
  | { readonly does: 'wait'; readonly us: number };

const keys = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const times = fc.integer({ min: 0, max: 20 });
const steps = fc.array(
  fc.oneof(
    fc.record({ does: fc.constantFrom('get' as const, 'delete' as const), key: keys }),
    fc.record({ does: fc.constant('put' as const), key: keys, lastsUs: times }),
    fc.record({ does: fc.constant('wait' as const), us: times }),
  ),
  { size: 'max', maxLength: 100 },
);

describe('expiring map', () => {
  it('forgets only expired entries, and the least recently used one when it is full', () => {
    fc.assert(
      fc.property(steps, (sequence: readonly Step[]) => {
        const map = createExpiringMap<number>({
          maxEntries: MAX_ENTRIES,
          expiresAtUs: (value) => value,
        });
        /** In the order of use. The value is the time when it expires. */
        let expected: (readonly [key: string, value: number])[] = [];
        let nowUs = 0;
        // The answers are compared at the end of each sequence, because calling `expect` in every
        // step would slow the test down.
        const actualAnswers: unknown[] = [];
        const expectedAnswers: unknown[] = [];
        for (const step of sequence) {
          if (step.does === 'wait') {
            nowUs += step.us;
            continue;
          }
          const known = expected.find(([key]) => key === step.key);
          expected = expected.filter((entry) => entry !== known);
          if (step.does === 'get') {
            const value = known !== undefined && known[1] > nowUs ? known[1] : undefined;
            actualAnswers.push(map.get(step.key, nowUs));
            expectedAnswers.push(value);
            if (value !== undefined) expected.push([step.key, value]);
          } else if (step.does === 'put') {
            const value = nowUs + step.lastsUs;
            map.put(step.key, value, nowUs);
            if (value > nowUs) expected.push([step.key, value]);
            for (let looked = 0; looked < 2; looked += 1) {
              const oldest = expected[0];
              if (oldest === undefined) break;
              if (oldest[1] > nowUs && expected.length <= MAX_ENTRIES) break;
              expected.shift();
            }
          } else {
            map.delete(step.key);
          }
          actualAnswers.push(map.size());
          expectedAnswers.push(expected.length);
        }
        expect(actualAnswers).toEqual(expectedAnswers);
      }),
      { numRuns: 500 },
    );
  });

  it('reads the time of a value again after the value has changed', () => {
    const map = createExpiringMap<{ expiresAtUs: number }>({
      maxEntries: MAX_ENTRIES,
      expiresAtUs: (value) => value.expiresAtUs,
    });
    const value = { expiresAtUs: Infinity };
    map.put('a', value, 0);
    expect(map.get('a', 1_000)).toBe(value);
    value.expiresAtUs = 10;
    expect(map.get('a', 1_000)).toBeUndefined();
    expect(map.size()).toBe(0);
  });
});
