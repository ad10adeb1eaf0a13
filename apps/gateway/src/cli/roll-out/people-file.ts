/**
 * The file of `members import`: a line for each person. A column that is in the file states its
 * values, so an empty cell states none; a column that is not in it states nothing.
 */

import { externalId, name, noticeEmail } from '../../endpoints/fields.js';
import { readPath } from './group-tree.js';
import type { GroupPath } from './group-tree.js';
import type { DeclaredMember } from './plan-members.js';
import { readCsv } from './read-csv.js';
import type { CsvLine } from './read-csv.js';

export interface Person extends DeclaredMember {
  readonly name: string;
  /** The name of the key to have; `true`: any. */
  readonly key: string | true | undefined;
}

export interface People {
  readonly people: readonly Person[];
  /** With the number of the line and the name of the column. */
  readonly problems: readonly string[];
}

const COLUMNS = ['name', 'external_id', 'email', 'group', 'key'] as const;
type Column = (typeof COLUMNS)[number];
const META = 'meta:';

export function readPeople(text: string): People {
  const csv = readCsv(text);
  if ('problem' in csv) return { people: [], problems: [csv.problem] };
  const [header, ...lines] = csv.lines;
  const columns = header?.cells.map((cell) => cell.trim()) ?? [];
  const problems = problemsOfHeader(columns);
  if (problems.length > 0) return { people: [], problems };
  const lineOf = new Map<string, number>();
  const people = lines.map((line) => {
    const { person, wrong } = readPerson(line, columns);
    problems.push(...wrong);
    const before = lineOf.get(person.externalId);
    if (before === undefined) lineOf.set(person.externalId, line.number);
    else problems.push(`${person.place('external_id')}: is that of line ${String(before)}, too`);
    return person;
  });
  if (people.length === 0) problems.push('has no person in it');
  return { people, problems };
}

function problemsOfHeader(columns: readonly string[]): string[] {
  const known: readonly string[] = COLUMNS;
  const all = `${COLUMNS.join(', ')} and ${META}…, such as ${META}cost_centre`;
  const problems = columns
    .filter((column) => !known.includes(column) && !/^meta:./.test(column))
    .map((column) => `line 1, ${column === '' ? '(empty)' : column}: is not a column: ${all}`);
  for (const column of new Set(columns)) {
    if (columns.filter((other) => other === column).length > 1) {
      problems.push(`line 1, ${column}: is there twice`);
    }
  }
  for (const needed of ['name', 'external_id'] as const) {
    if (!columns.includes(needed)) problems.push(`line 1, ${needed}: this column is needed`);
  }
  return problems;
}

function readPerson(
  { number, cells }: CsvLine,
  columns: readonly string[],
): { readonly person: Person; readonly wrong: readonly string[] } {
  const wrong: string[] = [];
  const place = (column: string) => `line ${String(number)}, ${column}`;
  if (cells.length > columns.length) {
    wrong.push(`line ${String(number)}: has more cells than there are columns`);
  }
  const cellOf = (column: string): string | undefined => {
    const at = columns.indexOf(column);
    return at === -1 ? undefined : (cells[at] ?? '').trim();
  };
  /** `null` for an empty cell, `undefined` without the column. */
  const read = (column: Column, schema: typeof name) => {
    const cell = cellOf(column);
    if (cell === undefined || cell === '') return cell === undefined ? undefined : null;
    const parsed = schema.safeParse(cell);
    if (parsed.success) return parsed.data;
    wrong.push(`${place(column)}: ${parsed.error.issues[0]?.message ?? 'cannot be used'}`);
    return null;
  };
  const needed = (column: Column, schema: typeof name): string => {
    if (cellOf(column) === '') wrong.push(`${place(column)}: must not be empty`);
    return read(column, schema) ?? '';
  };
  const person = {
    place: (field: string) => place(field === 'metadata' ? `${META}…` : field),
    externalId: needed('external_id', externalId),
    name: needed('name', name),
    email: read('email', noticeEmail),
    group: groupOf(cellOf('group'), (problem) => wrong.push(`${place('group')}: ${problem}`)),
    metadata: metadataOf(columns, cellOf),
    key: keyOf(cellOf('key'), () => read('key', name)),
  };
  return { person, wrong };
}

function groupOf(
  cell: string | undefined,
  refuse: (problem: string) => void,
): GroupPath | null | undefined {
  if (cell === undefined || cell === '') return cell === undefined ? undefined : null;
  const read = readPath(cell);
  if ('path' in read) return read.path;
  refuse(read.problem);
  return null;
}

function metadataOf(
  columns: readonly string[],
  cellOf: (column: string) => string | undefined,
): Readonly<Record<string, string | null>> | undefined {
  const pairs = columns.filter((column) => column.startsWith(META));
  if (pairs.length === 0) return undefined;
  return Object.fromEntries(
    pairs.map((column) => [column.slice(META.length).trim(), cellOf(column) || null]),
  );
}

const YES = new Set(['yes', 'true', '1', 'x']);
const NO = new Set(['', 'no', 'false', '0']);

function keyOf(
  cell: string | undefined,
  readName: () => string | null | undefined,
): string | true | undefined {
  const word = cell?.toLowerCase() ?? '';
  if (NO.has(word)) return undefined;
  return YES.has(word) ? true : (readName() ?? undefined);
}
