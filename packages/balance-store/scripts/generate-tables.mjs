/**
 * Reads `prisma/schema.prisma` and writes `src/generated/tables.ts`: each table with its columns,
 * their kinds, and the names under which the code knows them. `src/ledger/tables/tables.ts` derives
 * the types of rows from it. Also writes `src/generated/audited.ts`: what an audit says of each
 * column.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KINDS = {
  String: 'text',
  Int: 'integer',
  BigInt: 'bigint',
  Float: 'real',
  Decimal: 'amount',
  Boolean: 'flag',
  Bytes: 'bytes',
  DateTime: 'time',
  Json: 'json',
};

const KINDS_OF_DOCUMENTS = /^\/\/\/ @kind\((\w+)\)(.*)$/gm;

export function readTables(schema) {
  const models = schema.matchAll(/((?:^\/\/\/.*\n)*)^model (\w+) \{\n([\s\S]*?)^\}/gm);
  return [...models].map(([, comment, model, body]) => {
    const columns = body.split('\n').flatMap((line) => {
      const found = /^ {2}(\w+) +(\w+)(\?)? *(.*)$/.exec(line);
      const kind = KINDS[found?.[2]];
      if (kind === undefined) return [];
      const [, member, , optional, rest] = found;
      return [
        {
          member,
          name: /@map\("(\w+)"\)/.exec(rest)?.[1] ?? member,
          kind,
          isNullable: optional === '?',
          isKey: /@id\b/.test(rest),
          isPersonal: /\/\/\/.*@personal\b/.test(rest),
          isRight: /\/\/\/.*@right\b/.test(rest),
          isSetting: /\/\/\/.*@setting\b/.test(rest),
          isAdded: /\/\/\/.*@added\b/.test(rest),
          audited: statementOf(rest) ?? statementOf(comment.replace(KINDS_OF_DOCUMENTS, '')),
        },
      ];
    });
    const table = /@@map\("(\w+)"\)/.exec(body)?.[1];
    const composed = /@@id\(\[([\w, ]+)\]\)/.exec(body)?.[1]?.split(', ');
    const key = composed ?? columns.filter(({ isKey }) => isKey).map(({ member }) => member);
    if (table === undefined || key.length === 0) throw new Error(`${model} lacks a name or a key`);
    const silent = columns.find(({ audited }) => audited === undefined);
    if (silent !== undefined) {
      throw new Error(`${model}.${silent.member}: is it audited, or why need it not be?`);
    }
    return {
      model,
      table,
      columns,
      key,
      isSealed: comment.includes('@sealed'),
      isApart: comment.includes('@apart'),
    };
  });
}

/** What the comment of a column, a model or a kind of documents says about audits. */
function statementOf(comment) {
  const [, check] = /@audited\((\w+)\)/.exec(comment) ?? [];
  const [, reason] = /@exempt\(([^()]+)\)/.exec(comment) ?? [];
  if (check !== undefined) return { check };
  if (reason !== undefined) return { exempt: reason };
  if (/@right\b/.test(comment)) return { check: 'rights' };
  if (/@sealed\b/.test(comment)) return { check: 'seal' };
  if (/@personal\b/.test(comment)) return { exempt: 'describes a person, and may be erased' };
  return undefined;
}

export function readKinds(schema) {
  return [...schema.matchAll(KINDS_OF_DOCUMENTS)].map(([, kind, comment]) => {
    const audited = statementOf(comment);
    if (audited === undefined) throw new Error(`${kind}: is it audited, or why need it not be?`);
    return { kind, audited };
  });
}

function auditedText(tables, kinds) {
  const text = (audited) => `${JSON.stringify(audited)}`;
  const tableOf = ({ table, columns }) =>
    `  ${table}: {\n${columns.map(({ name, audited }) => `    ${name}: ${text(audited)},\n`).join('')}  },\n`;
  return `// Made from prisma/schema.prisma by scripts/generate-tables.mjs.

/** What an audit says of a changed value: a difference of this check, or nothing, and why. */
export const AUDITED_COLUMNS = {
${tables.map(tableOf).join('')}} as const;

export const AUDITED_KINDS = {
${kinds.map(({ kind, audited }) => `  ${kind}: ${text(audited)},\n`).join('')}} as const;
`;
}

function textOf(tables) {
  return `// Made from prisma/schema.prisma by scripts/generate-tables.mjs.

export const TABLES = {
${tables.map(tableText).join('')}} as const;
${tables
  .filter(({ isSealed }) => isSealed)
  .map(sealedText)
  .join('')}`;
}

function tableText({ model, table, columns, key, isApart }) {
  const lines = columns.map(({ member, name, kind, isNullable, ...marked }) => {
    const marks = ['isPersonal', 'isRight', 'isSetting', 'isAdded']
      .map((mark) => (marked[mark] ? `, ${mark}: true` : ''))
      .join('');
    return `      ${member}: { name: '${name}', kind: '${kind}', isNullable: ${isNullable}${marks} },\n`;
  });
  const primary = key.map((member) => `'${member}'`).join(', ');
  return (
    `  ${model}: {\n    table: '${table}',\n    key: [${primary}],\n    isApart: ${isApart},\n` +
    `    columns: {\n${lines.join('')}    },\n  },\n`
  );
}

/** Code without loops, because an audit runs it once for each entry of the ledger. */
function sealedText({ model, columns }) {
  const types = columns.map(
    ({ member, isNullable }) => `  ${member}: string${isNullable ? ' | null' : ''},\n`,
  );
  const positions = columns.map(({ member }, index) => `  ${member}: ${index},\n`);
  const values = columns.map((column) => `    ${sealedValue(column)},\n`);
  return `
/** A row of ${model} as it is sealed: every column as text, in the order of the seal. */
export type Sealed${model} = [
${types.join('')}];

/** The place of each column in a {@link Sealed${model}}. */
export const SEALED_${model.toUpperCase()} = {
${positions.join('')}} as const;

${addedText(model, columns)}/** @param row - As SQLite returns it. */
export function sealed${model}Of(row: {
${columns.map(({ member, kind, isNullable }) => `  readonly ${member}: ${SQLITE_TYPES[kind]}${isNullable ? ' | null' : ''};\n`).join('')}}): Sealed${model} {
  return [
${values.join('')}  ];
}
`;
}

function addedText(model, columns) {
  const added = columns.flatMap(({ name, isAdded }, index) =>
    isAdded ? [`  ${index}: '${name}',\n`] : [],
  );
  if (added.length === 0) return '';
  return (
    '/** The columns that a digest leaves out where they are absent, by their places. */\n' +
    `export const ADDED_${model.toUpperCase()}: Readonly<Record<number, string>> = {\n` +
    `${added.join('')}};\n\n`
  );
}

const SQLITE_TYPES = {
  text: 'string',
  integer: 'number',
  bigint: 'number',
  real: 'number',
  amount: 'string',
  flag: 'number',
  bytes: 'Uint8Array',
  time: 'number',
  json: 'string',
};

function sealedValue({ member, kind, isNullable }) {
  const value = `row.${member}`;
  const text =
    kind === 'text' || kind === 'amount' || kind === 'json'
      ? value
      : kind === 'bytes'
        ? `Buffer.from(${value}).toString('hex')`
        : kind === 'flag'
          ? `String(${value} === 1)`
          : `String(${value})`;
  return isNullable && text !== value ? `${value} === null ? null : ${text}` : text;
}

/** @param root - The folder of the package. */
export function generateTables(root) {
  const schema = readFileSync(join(root, 'prisma', 'schema.prisma'), 'utf8');
  const tables = readTables(schema);
  const folder = join(root, 'src', 'generated');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'tables.ts'), textOf(tables));
  writeFileSync(join(folder, 'audited.ts'), auditedText(tables, readKinds(schema)));
}
