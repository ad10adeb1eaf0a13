import { isUtf8 } from 'node:buffer';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { scanTopLevel } from '../../src/wire/json-scanner.js';
import type { JsonShape } from '../../src/wire/json-scanner.js';
import { runs } from '../../../../scripts/runs.cjs';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const scan = (text: string, shape?: JsonShape) =>
  scanTopLevel(encode(text), shape === undefined ? {} : { shape });

/** The reference for the scanner: accepts strict UTF-8 that `JSON.parse` reads as an object. */
function isObjectDocument(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

describe('scanTopLevel', () => {
  it('reports the positions of the top-level members', () => {
    const text = ' {"a" : [1, {"b":2}] ,\n"\\u0063d":"x\\"y","é💶": -1.5e+3 }\t';
    const result = scan(text);
    if (result.outcome === 'refused') throw new Error(result.message);
    const bytes = encode(text);
    const values = [...result.members].map(([name, { start, end }]) => [
      name,
      new TextDecoder().decode(bytes.subarray(start, end)),
    ]);
    expect(values).toEqual([
      ['a', '[1, {"b":2}]'],
      ['cd', '"x\\"y"'],
      ['é💶', '-1.5e+3'],
    ]);
  });

  // F57
  it.each(
    [
      ['', 'syntax'],
      ['  ', 'syntax'],
      ['{', 'syntax'],
      ['{"a":1,}', 'syntax'],
      ['{"a":01}', 'syntax'],
      ['{"a":1.}', 'syntax'],
      ['{"a":.5}', 'syntax'],
      ['{"a":+1}', 'syntax'],
      ['{"a":NaN}', 'syntax'],
      ['{"a":Infinity}', 'syntax'],
      ['{"a":tru}', 'syntax'],
      ["{'a':1}", 'syntax'],
      ['{"a":"\n"}', 'syntax'],
      ['{"a":"\\x"}', 'syntax'],
      ['{"a":"\\u12g4"}', 'syntax'],
      ['{"a":"abc', 'syntax'],
      ['{"a":1}{', 'syntax'],
      ['\ufeff{"a":1}', 'syntax'],
      ['[]', 'not_an_object'],
      ['"a"', 'not_an_object'],
      ['null', 'not_an_object'],
      ['{"a":1,"a":2}', 'duplicate'],
      ['{"a":1,"\\u0061":2}', 'duplicate'],
      [`{"a":${'['.repeat(200)}${']'.repeat(200)}}`, 'depth'],
      [`{"a":${'['.repeat(1_000_000)}`, 'depth'],
      [
        `{${Array.from({ length: 1001 }, (_, i) => `"k${String(i)}":0`).join(',')}}`,
        'too_many_members',
      ],
    ].map(([text = '', reason]) => [JSON.stringify(text.slice(0, 30)), reason, text] as const),
  )('refuses %s as %s', (_shown, reason, text) => {
    expect(scan(text)).toMatchObject({ outcome: 'refused', reason });
  });

  it('accepts 200 levels, and duplicate members below the root', () => {
    expect(scan(`{"a":${'['.repeat(199)}${']'.repeat(199)}}`).outcome).toBe('scanned');
    expect(scan('{"a":{"b":1,"b":2}}').outcome).toBe('scanned');
  });

  it('names the duplicate member', () => {
    expect(scan('{"model":"a","mod\\u0065l":"b"}')).toMatchObject({
      member: 'model',
      message: 'model: the member is given twice',
    });
  });

  // F57
  it.each([
    [[0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]],
    [[0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]],
    [[0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]],
  ])('refuses invalid UTF-8', (bytes) => {
    expect(scanTopLevel(Uint8Array.from(bytes))).toMatchObject({ reason: 'encoding' });
    expect(scanTopLevel(Uint8Array.from(bytes), { isUtf8 })).toMatchObject({ reason: 'encoding' });
  });

  it('agrees with JSON.parse on random documents, at any alignment', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 3 }), (text, shift) => {
        const body = encode(`{"a": ${text}}`);
        const padded = new Uint8Array(body.length + shift);
        padded.set(body, shift);
        const result = scanTopLevel(padded.subarray(shift), { maxDepth: 1000 });
        expect(result.outcome).toBe('scanned');
      }),
      { numRuns: 500 },
    );
  });

  it('agrees with JSON.parse on documents with changed, removed and inserted bytes', () => {
    const seeds = [
      '{"model":"m","messages":[{"role":"user","content":"a\\n\\u00e9é💶"}],"n":[1,-0.5e10,true,null]}',
      '{"a":"0123456789abcdef0123456789","b":{"c":["d",{}]},"e":""}',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...seeds),
        fc.array(fc.tuple(fc.nat(120), fc.nat(255), fc.constantFrom('set', 'cut', 'add')), {
          minLength: 1,
          maxLength: 3,
        }),
        (seed, changes) => {
          const bytes = [...encode(seed)];
          for (const [at, byte, change] of changes) {
            const where = at % bytes.length;
            if (change === 'set') bytes[where] = byte;
            else bytes.splice(where, change === 'cut' ? 1 : 0, ...(change === 'add' ? [byte] : []));
          }
          const mutated = Uint8Array.from(bytes);
          const result = scanTopLevel(mutated);
          if (result.outcome === 'refused' && result.reason === 'duplicate') return;
          expect(result.outcome === 'scanned').toBe(isObjectDocument(mutated));
        },
      ),
      { numRuns: runs(__filename, 'texts') },
    );
  });

  it('reports the values that a shape asks for, with their paths', () => {
    const found: string[] = [];
    const block: JsonShape = {
      member: (name) =>
        name === 'type'
          ? { onValue: (_span, path) => found.push(path.join('.')) }
          : name === 'content'
            ? { item: block }
            : undefined,
    };
    const root: JsonShape = { member: (name) => (name === 'list' ? { item: block } : undefined) };
    const text =
      '{"list":[{"type":1,"content":[{"t\\u0079pe":2,"input":{"type":3}}]},{"x":{"type":4}}],"type":5}';
    expect(scan(text, root).outcome).toBe('scanned');
    expect(found).toEqual(['list.0.type', 'list.0.content.0.type']);
  });
});
