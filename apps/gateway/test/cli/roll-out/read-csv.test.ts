/** The reader of comma-separated values. */

import { describe, expect, it } from '@jest/globals';
import { readCsv } from '../../../src/cli/roll-out/read-csv.js';

describe('a file of comma-separated values', () => {
  it('has cells with commas, quotes and line breaks, and each line has its number', () => {
    expect(readCsv('\ufeffa,b\r\n"x, ""y""\r\nz",2\r\n\r\n3,\n"",4')).toEqual({
      lines: [
        { number: 1, cells: ['a', 'b'] },
        { number: 2, cells: ['x, "y"\r\nz', '2'] },
        { number: 5, cells: ['3', ''] },
        { number: 6, cells: ['', '4'] },
      ],
    });
  });

  it('may be separated by semicolons, if its first line is', () => {
    expect(readCsv('a;b\n1,5;2\n')).toEqual({
      lines: [
        { number: 1, cells: ['a', 'b'] },
        { number: 2, cells: ['1,5', '2'] },
      ],
    });
    expect(readCsv('a,b;c\n')).toEqual({ lines: [{ number: 1, cells: ['a', 'b;c'] }] });
  });

  it('is refused if a quote does not end', () => {
    expect(readCsv('a\n"b\nc\n')).toEqual({ problem: 'line 2: a quote (") does not end' });
  });
});
