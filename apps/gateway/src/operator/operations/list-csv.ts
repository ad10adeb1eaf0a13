/**
 * Lists as CSV. The columns of the operation's result come first, from its schema, so that an empty
 * list has a header and scripts always find the same ones. Columns for the names in records, such
 * as metadata, follow.
 */

import { z } from 'zod';
import { csvOf, csvRows } from '../../endpoints/csv.js';
import { recordNames } from '../../endpoints/schemas/basics.js';
import { operations } from './operations.js';
import type { OperationName, OperationOutput } from './operations.js';

/** The operations whose result is a list. */
export type ListName = {
  [Name in OperationName]: OperationOutput<Name> extends { readonly data: readonly object[] }
    ? Name
    : never;
}[OperationName];

/** The items of a list, with a column for each member, nested ones included. */
export function listCsv(name: ListName, data: readonly object[], only?: readonly string[]): string {
  return csvPages(name, recordColumns(name, data), only)(data);
}

/**
 * @param more - Columns for the names in records that the schema does not name: see
 * {@link recordColumns}.
 * @param only - The columns to write, in this order, instead of all.
 * @returns a function that writes page after page; the first has the header
 */
export function csvPages(
  name: ListName,
  more: Iterable<string> = [],
  only?: readonly string[],
): (data: readonly object[]) => string {
  const all = [...schemaColumns(name), ...more];
  const known = new Set(all);
  const columns = only ?? all;
  let write = csvOf;
  return (data) => {
    const rows = data.map((item) => flatten(item));
    for (const row of rows) {
      const missing = Object.keys(row).find((column) => !known.has(column));
      if (missing !== undefined) throw new MissingColumnError(missing);
    }
    const text = write(columns, rows);
    write = csvRows;
    return text;
  };
}

/** A row has a value that the header has no column for. */
export class MissingColumnError extends Error {
  constructor(column: string) {
    super(`the CSV has no column ${column}`);
  }
}

/** Whether rows of the list can have columns that only the rows themselves name. */
export function hasRecords(name: ListName): boolean {
  return recordsIn(elementOf(name)).length > 0;
}

/** The columns of these items that the schema does not name: those of metadata, for example. */
export function recordColumns(name: ListName, data: readonly object[]): ReadonlySet<string> {
  const known = new Set(schemaColumns(name));
  const used = data.flatMap((item) => Object.keys(flatten(item)));
  return new Set(used.filter((column) => !known.has(column)));
}

/** The columns that a list has, without those for names in records. */
export function listColumns(name: ListName): readonly string[] {
  return [...schemaColumns(name)];
}

/** Whether a list may have this column: one of its schema, or one for a name in its records. */
export function mayHaveColumn(name: ListName, column: string): boolean {
  if (schemaColumns(name).has(column)) return true;
  return recordsIn(elementOf(name)).some((record) => column.startsWith(`${record}.`));
}

/** The columns of an item, nested ones included. */
export function flatItem(item: object): Readonly<Record<string, unknown>> {
  return flatten(item);
}

function elementOf(name: ListName): z.ZodType {
  return operations[name].output.shape.data.element;
}

function schemaColumns(name: ListName): ReadonlySet<string> {
  return new Set(columnsOf(elementOf(name)));
}

/** The columns of all values that a schema allows. */
function columnsOf(schema: unknown, name = ''): readonly string[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([member, value]) =>
      columnsOf(value, name === '' ? member : `${name}.${member}`),
    );
  }
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => columnsOf(option, name));
  }
  if (schema instanceof z.ZodNullable) return [name, ...columnsOf(schema.unwrap(), name)];
  if (schema instanceof z.ZodExactOptional) return columnsOf(schema.unwrap(), name);
  if (schema instanceof z.ZodRecord) {
    return (recordNames.get(schema)?.names ?? []).map((member) => `${name}.${member}`);
  }
  return [name];
}

/** The records in a schema whose names only the rows have, as columns begin with them. */
function recordsIn(schema: unknown, name = ''): readonly string[] {
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([member, value]) =>
      recordsIn(value, name === '' ? member : `${name}.${member}`),
    );
  }
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => recordsIn(option, name));
  }
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodExactOptional) {
    return recordsIn(schema.unwrap(), name);
  }
  return schema instanceof z.ZodRecord && !recordNames.has(schema) ? [name] : [];
}

/** @returns the values by column, nested ones included, in `into` */
function flatten(
  item: object,
  prefix = '',
  into: Record<string, unknown> = {},
): Readonly<Record<string, unknown>> {
  for (const [name, value] of Object.entries(item) as [string, unknown][]) {
    const column = prefix + name;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      flatten(value, `${column}.`, into);
    } else {
      into[column] = value;
    }
  }
  return into;
}
