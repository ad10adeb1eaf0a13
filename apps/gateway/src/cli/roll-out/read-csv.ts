/** Reads comma-separated values (RFC 4180), as spreadsheets write them. */

export interface CsvLine {
  /** In the file, from 1. A quoted cell may go over several lines. */
  readonly number: number;
  readonly cells: readonly string[];
}

const BYTE_ORDER_MARK = '\ufeff';

/**
 * Spreadsheets in countries with decimal commas separate by semicolons: so does a file whose first
 * line has semicolons and no comma. Empty lines are left out.
 *
 * @returns the problem, if a quote does not end
 */
export function readCsv(
  given: string,
): { readonly lines: readonly CsvLine[] } | { readonly problem: string } {
  const text = given.startsWith(BYTE_ORDER_MARK) ? given.slice(1) : given;
  const [first = ''] = text.split(/\r?\n/, 1);
  const separator = first.includes(';') && !first.includes(',') ? ';' : ',';
  const lines: CsvLine[] = [];
  let [number, started] = [1, 1];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  const endLine = () => {
    cells.push(cell);
    if (cells.length > 1 || cell !== '') lines.push({ number: started, cells });
    [cells, cell] = [[], ''];
  };
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n') number += 1;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') [cell, at] = [`${cell}"`, at + 1];
      else isQuoted = false;
    } else if (character === '"' && cell === '') isQuoted = true;
    else if (character === separator) [cells, cell] = [[...cells, cell], ''];
    else if (character === '\n') {
      endLine();
      started = number;
    } else if (character !== '\r' || text[at + 1] !== '\n') cell += character;
  }
  if (isQuoted) return { problem: `line ${String(started)}: a quote (") does not end` };
  endLine();
  return { lines };
}
