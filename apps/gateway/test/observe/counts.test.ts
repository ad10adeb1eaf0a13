/** Amounts that wait until the registry of metrics is read. */

import { describe, expect, it } from '@jest/globals';
import { Counts } from '../../src/observe/counts.js';

function taken(counts: Counts): readonly (readonly [readonly string[], number])[] {
  const found: (readonly [readonly string[], number])[] = [];
  counts.take((values, amount) => found.push([values, amount]));
  return found;
}

describe('counts that wait', () => {
  it('are given once, with all values that were ever added', () => {
    const counts = new Counts(2);
    counts.add(0, 'fable', 'input');
    counts.add(3, 'haiku', 'input');
    counts.add(4, 'haiku', 'output');
    counts.add(5, 'haiku', 'input');
    expect(taken(counts)).toEqual([
      [['fable', 'input'], 0],
      [['haiku', 'input'], 8],
      [['haiku', 'output'], 4],
    ]);
    counts.add(1, 'fable', 'input');
    expect(taken(counts)).toEqual([
      [['fable', 'input'], 1],
      [['haiku', 'input'], 0],
      [['haiku', 'output'], 0],
    ]);
  });

  it('have one value, or none', () => {
    const [one, none] = [new Counts(1), new Counts(0)];
    one.add(2, '200');
    none.add(2);
    none.add(3);
    expect(taken(one)).toEqual([[['200'], 2]]);
    expect([taken(none), taken(none)]).toEqual([[[[], 5]], [[[], 0]]]);
  });

  it('have at most two', () => {
    expect(() => new Counts(3)).toThrow('labels: 3 is more than 2');
  });
});
