/**
 * Lists as CSV. The columns of the operation's result come first, from its schema, so that an empty
 * list has a header and scripts always find the same ones. Columns for the names in records, such
 * as metadata, follow.
 */

import { z } from 'zod';
import { csvOf } from '../../endpoints/csv.js';
import { operations } from './operations.js';
import type { OperationName, OperationOutput } from './operations.js';

/** The operations whose result is a list. */
export type ListName = {
  [Name in OperationName]: OperationOutput<Name> extends { readonly data: readonly object[] }
    ? Name
    : never;
}[OperationName];

/** The items of a list, with a column for each member, nested ones included. */
export function listCsv(name: ListName, data: readonly object[]): string {
  const rows = data.map((item) => flatten(item));
  const columns = columnsOf(operations[name].output.shape.data.element);
  // Records such as metadata have columns only for the names that they contain.
  return csvOf([...new Set([...columns, ...rows.flatMap((row) => Object.keys(row))])], rows);
}

/** A page of a list whose items have no records. Only the first page has a header. */
export function pageCsv(name: ListName, data: readonly object[], isFirst: boolean): string {
  const csv = listCsv(name, data);
  return isFirst ? csv : csv.slice(csv.indexOf('\r\n') + 2);
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
  return schema instanceof z.ZodRecord ? [] : [name];
}

function flatten(item: object, prefix = ''): Record<string, unknown> {
  return Object.assign(
    {},
    ...Object.entries(item).map(([name, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? flatten(value, `${prefix}${name}.`)
        : { [`${prefix}${name}`]: value },
    ),
  ) as Record<string, unknown>;
}
