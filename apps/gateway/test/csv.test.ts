/** Tables as CSV, which people open in a spreadsheet. */

import { expect, it } from '@jest/globals';
import { csvOf } from '../src/operations/csv.js';

it('a text that a spreadsheet would run is written as a text, and a negative amount as a number', () => {
  const cells = [
    ['-2.5', '-2.5'],
    ['-0.00000001', '-0.00000001'],
    ["-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"],
    ['-.5', "'-.5"],
    ['-A1', "'-A1"],
    ['=1', "'=1"],
    ['+1', "'+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['=A1,"x"', '"\'=A1,""x"""'],
    ['plain', 'plain'],
  ] as const;
  const rows = cells.map(([value]) => ({ value }));
  const lines = cells.map(([, cell]) => `${cell}\r\n`);
  expect(csvOf(['value'], rows)).toBe(`value\r\n${lines.join('')}`);
});
