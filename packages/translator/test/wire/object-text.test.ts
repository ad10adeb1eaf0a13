import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isObjectText } from '../../src/wire/object-text.js';
import { runs } from '../../../../scripts/runs.cjs';

const isObject = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return (
      text === text.trim() && typeof value === 'object' && value !== null && !Array.isArray(value)
    );
  } catch {
    return false;
  }
};
const nested = (depth: number) => `${'{"a":'.repeat(depth)}0${'}'.repeat(depth)}`;

describe('isObjectText', () => {
  it.each([
    '{}',
    '{ }',
    '{"a":[]}',
    '{"a" : [ 1 , -0.5e+10 , true,false,null,"\\u00e9\\n" ] , "" : { } }',
    '{"a":1,"a":2}',
    `{"a":"${'x'.repeat(5_000)}","b":${'1'.repeat(5_000)}}`,
  ])('accepts %s', (text) => {
    expect(isObjectText(text)).toBe(true);
  });

  it.each([
    '',
    '[]',
    '1',
    '"{}"',
    '{',
    '{}}',
    '{} ',
    ' {}',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,}',
    '{"a":[1,]}',
    '{"a":[,1]}',
    '{"a":[1 2]}',
    '{"a":01}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":+1}',
    '{"a":1e}',
    '{"a":"\t"}',
    '{"a":"\\x"}',
    '{"a":"\\u12g4"}',
    '{"a":"}',
    '{"a":[}]}',
    "{'a':1}",
    '{a:1}',
    '{"a":undefined}',
    '{"a":True}',
    '{"a":1}\u00a0',
  ])('refuses %j', (text) => {
    expect(isObjectText(text)).toBe(false);
    expect(isObject(text)).toBe(false);
  });

  it('accepts 200 levels', () => {
    expect(isObjectText(nested(200))).toBe(true);
    expect(isObjectText(nested(201))).toBe(false);
  });

  it('agrees with JSON.parse on random objects, unchanged and with changed characters', () => {
    const json = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value));
    const change = fc.tuple(
      fc.nat(),
      fc.constantFrom('', ...'{}[],:"\\ 0-.eEtfn\t\u0001é'),
      fc.nat(1),
    );
    fc.assert(
      fc.property(json, fc.array(change, { maxLength: 3 }), (text, changes) => {
        let changed = text;
        for (const [place, inserted, removed] of changes) {
          const at = place % (changed.length + 1);
          changed = changed.slice(0, at) + inserted + changed.slice(at + removed);
        }
        expect(isObjectText(changed)).toBe(isObject(changed));
      }),
      { numRuns: runs(__filename, 'texts') },
    );
  });
});
