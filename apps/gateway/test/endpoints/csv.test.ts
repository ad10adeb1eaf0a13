/** Tables as CSV, which people open in a spreadsheet. */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { csvOf } from '../../src/endpoints/csv.js';
import { UNSEEN, line } from '../../src/endpoints/storable.js';
import { listCsv } from '../../src/operator/operations/list-csv.js';

describe('a cell', () => {
  it.each([
    ['-2.5', '-2.5'],
    ['-0.00000001', '-0.00000001'],
    ["-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"],
    ['-.5', "'-.5"],
    ['-A1', "'-A1"],
    ['=1', "'=1"],
    ['+1', "'+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    [' =1', "' =1"],
    ['\uff1d1', "'\uff1d1"],
    ['\uff0b1', "'\uff0b1"],
    ['\uff0d1', "'\uff0d1"],
    ['\uff201', "'\uff201"],
    ['\t=1', '\\u0009=1'],
    ['\r\n=1', '\\u000d\\u000a=1'],
    ['x;=1', 'x\uff1b=1'],
    ['a\u202eb\u200b', 'a\\u202eb\\u200b'],
    ['=A1,"x"', '"\'=A1,""x"""'],
    ['plain', 'plain'],
  ])('%j is written as %j', (text, cell) => {
    expect(csvOf(['value'], [{ value: text }])).toBe(`value\r\n${cell}\r\n`);
  });
});

/** Texts with the characters that separate cells, quote them, begin formulas or hide. */
const hostile = fc.string({
  unit: fc.constantFrom(
    ',',
    ';',
    '\t',
    '\r',
    '\n',
    '"',
    "'",
    '|',
    ' ',
    '\u00a0',
    '\u3000',
    '=',
    '+',
    '-',
    '@',
    '\uff1d',
    '\uff0b',
    '\uff0d',
    '\uff20',
    '1',
    'a',
    'é',
    '🙂',
    '\u0000',
    '\u0085',
    '\u200b',
    '\u200f',
    '\u202a',
    '\u202e',
    '\u2066',
    '\u2069',
    '\ufeff',
  ),
  maxLength: 12,
});
const amount = fc.constantFrom('0', '-1', '-12.5', '0.00000000000001', '-0.10504');

describe('for any texts, also as names of columns,', () => {
  // F155: formulas, separators and invisible characters in names, also of metadata: refused at
  // input or shown as text: same columns in each line, no formula.
  it('a table has the same cells in each line, no formula, and its amounts as numbers', () => {
    const tables = fc.uniqueArray(hostile, { minLength: 2, maxLength: 6 }).chain((columns) =>
      fc.record({
        columns: fc.constant(columns),
        rows: fc.array(
          fc.tuple(hostile, ...columns.slice(1).map(() => fc.oneof(hostile, amount))),
          { maxLength: 5 },
        ),
      }),
    );
    fc.assert(
      fc.property(tables, ({ columns, rows }) => {
        const records = rows.map((row) =>
          Object.fromEntries(row.map((text, index) => [columns[index]!, text])),
        );
        const text = csvOf(columns, records);
        const table = parseCsv(text, ',');
        expect(table).toHaveLength(rows.length + 1);
        for (const cells of table) expect(cells).toHaveLength(columns.length);
        for (const cells of parseCsv(text, ';')) {
          expect(cells).toHaveLength(1);
          // A line that begins with an amount is no formula: amounts and texts follow it.
          expect(cells[0]?.replace(/^-\d[\d.]*,/, '')).not.toMatch(FORMULA);
        }
        expect(table.flat().filter((cell) => FORMULA.test(cell) && !NUMBER.test(cell))).toEqual([]);
        expect(text.replaceAll('\r\n', '')).not.toMatch(new RegExp(`[${UNSEEN}]`));
        const isNegative = (cell: string) => NUMBER.test(cell);
        expect(table.slice(1).map((cells) => cells.slice(1).filter(isNegative))).toEqual(
          rows.map((row) => row.slice(1).filter(isNegative)),
        );
      }),
    );
  });

  // F155
  it('metadata of a list of accounts adds one column for each name', () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(hostile, fc.oneof(hostile, amount)), { minLength: 1 }),
        (records) => {
          const without = parseCsv(listCsv('listAccounts', []), ',')[0]!;
          const text = listCsv(
            'listAccounts',
            records.map((metadata, index) => ({ id: `acct_${String(index)}`, metadata })),
          );
          const names = new Set(records.flatMap((metadata) => Object.keys(metadata)));
          for (const cells of parseCsv(text, ',')) {
            expect(cells).toHaveLength(without.length + names.size);
            expect(cells.filter((cell) => FORMULA.test(cell) && !NUMBER.test(cell))).toEqual([]);
          }
        },
      ),
    );
  });
});

describe('a text from outside', () => {
  // F155
  it.each(
    [
      '\u0000',
      '\u001f',
      '\u0085',
      '\u200b',
      '\u200f',
      '\u2028',
      '\u202a',
      '\u202e',
      '\u2060',
    ].concat(['\u2066', '\u2069', '\ufeff', '\u00ad', '\u061c']),
  )('is refused if it contains %j', (character) => {
    expect(line.safeParse(`Acme${character}Ltd`).error?.issues[0]?.message).toBe(
      'must not contain control characters or invisible ones',
    );
  });

  it('may have letters, marks and signs of all scripts', () => {
    expect(
      line.safeParse('Ünïcode ﷺ नमस्ते 日本語 👍🏽 👨\u200d👩\u200d👧 می\u200cخواهم — “x”; =1').success,
    ).toBe(true);
  });
});

const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^-\d+(\.\d+)?$/;

/**
 * Reads CSV as spreadsheets do: a cell that begins with a quote ends at the next single quote, and
 * what follows up to the separator belongs to it. Elsewhere quotes are ordinary characters.
 */
function parseCsv(text: string, separator: ',' | ';'): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let cells: string[] = [];
  let cell = '';
  let at = 0;
  while (at < text.length) {
    if (cell === '' && text[at] === '"') {
      const [quoted = '', inner = ''] = /^"((?:[^"]|"")*)"/.exec(text.slice(at)) ?? [];
      if (quoted === '') throw new Error(`a quote does not end: ${text.slice(at)}`);
      cell += inner.replaceAll('""', '"');
      at += quoted.length;
      while (at < text.length && text[at] !== separator && text[at] !== '\r' && text[at] !== '\n') {
        cell += text[at++]!;
      }
    }
    const character = text[at++];
    if (character === separator) {
      cells.push(cell);
      cell = '';
    } else if (character === '\r' || character === '\n') {
      if (character === '\r' && text[at] === '\n') at += 1;
      rows.push([...cells, cell]);
      [cells, cell] = [[], ''];
    } else {
      cell += character ?? '';
    }
  }
  return rows;
}
