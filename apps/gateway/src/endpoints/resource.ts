/**
 * A resource is declared as one table of its members. Each member has its schema, where its value
 * comes from, who may see it, and its label for people. What operators and holders are sent, the
 * OpenAPI documents, the command line and the columns of the pages follow from the table.
 */

import { z } from 'zod';
import type { ResultOf } from './endpoint.js';
import { kinds } from './schemas/basics.js';
import type { Kind } from './schemas/basics.js';

/** Operators use the admin API and the command line, holders of keys the port for clients. */
export type Reader = 'operators' | 'holders';

/** @typeParam Source - What the value is read from. */
export interface Member<
  Source = never,
  Schema extends z.ZodType = z.ZodType,
  Seen extends Reader | 'everyone' = Reader | 'everyone',
> {
  readonly seenBy: Seen;
  readonly schema: Schema;
  readonly from: (source: Source) => Value<Schema>;
  readonly label: string | undefined;
  readonly ifNull: string | undefined;
}

/** A member that may be absent is left out where its value is `undefined`. */
type Value<Schema extends z.ZodType> =
  ResultOf<Schema> | (Schema extends { _zod: { optout: 'optional' } } ? undefined : never);

type Declare<Source, Seen extends Reader | 'everyone'> = <Schema extends z.ZodType>(
  schema: Schema,
  from: (source: Source) => Value<Schema>,
  /** What people call it, without a unit. */
  label?: string,
  /** What people read instead of `null` or an empty list; absent: the line is left out. */
  ifNull?: string,
) => Member<Source, Schema, Seen>;

/**
 * Declares members: `id: seenBy.everyone(text, ({ id }) => id, 'id')`. There is no other way, so
 * that nobody sees a member by default.
 */
export function membersFrom<Source>(): {
  readonly [Seen in Reader | 'everyone']: Declare<Source, Seen>;
} {
  const declaring =
    <const Seen extends Reader | 'everyone'>(seenBy: Seen): Declare<Source, Seen> =>
    (schema, from, label, ifNull) => ({ seenBy, schema, from, label, ifNull });
  return {
    everyone: declaring('everyone'),
    operators: declaring('operators'),
    holders: declaring('holders'),
  };
}

export function isSeenBy(reader: Reader, { seenBy }: Pick<Member, 'seenBy'>): boolean {
  return seenBy === 'everyone' || seenBy === reader;
}

type Members = Readonly<Record<string, Member>>;

/** What the members are read from. */
type SourceOf<Of extends Members> = Of[keyof Of] extends {
  readonly from: (source: infer Source) => unknown;
}
  ? Source
  : never;

type ShapeFor<By extends Reader, Of extends Members> = {
  -readonly [
    Name in keyof Of as Of[Name]['seenBy'] extends 'everyone' | By ? Name : never
  ]: Of[Name]['schema'];
};

interface View<Source, Schema extends z.ZodType> {
  readonly schema: Schema;
  /** The value of each member that the reader may see. */
  readonly view: (source: Source) => ResultOf<Schema>;
}

/** What one kind of reader is sent, in the order of the table. Members of others are left out. */
export function viewFor<By extends Reader, Of extends Members>(
  reader: By,
  members: Of,
  meta: { readonly id: string; readonly description?: string },
): View<SourceOf<Of>, z.ZodObject<ShapeFor<By, Of>, z.core.$strict>> {
  const seen = Object.entries(members).filter(([, member]) => isSeenBy(reader, member));
  const schema = z
    .strictObject(Object.fromEntries(seen.map(([name, member]) => [name, member.schema])))
    .meta(meta);
  const values = seen.map(([name, { from }]) => [name, from] as const);
  const view = (source: never) => {
    const sent: Record<string, unknown> = {};
    for (const [name, from] of values) {
      const value = from(source);
      if (value !== undefined) sent[name] = value;
    }
    return sent;
  };
  return { schema, view } as unknown as View<
    SourceOf<Of>,
    z.ZodObject<ShapeFor<By, Of>, z.core.$strict>
  >;
}

/** A record with all members, as operators have it. */
type Sent<Of extends Members> = ResultOf<z.ZodObject<ShapeFor<'operators', Of>>>;

/**
 * A member, with its text if that is not simply its value; `undefined` leaves it out. Where the
 * name is not that of a member, it is the label.
 */
type Shown<Of extends Members, Also = unknown> =
  | (keyof Sent<Of> & string)
  | readonly [name: string, text: (record: Sent<Of> & Also) => string | undefined];

/**
 * A record for people: texts by their labels, in this order.
 *
 * @typeParam Also - What the record may have besides the members.
 */
export function linesOf<Of extends Members, Also = unknown>(
  members: Of,
  shown: readonly Shown<Of, Also>[],
): (record: Sent<Of> & Also) => Readonly<Record<string, string>> {
  const lines = shown.map((each) => cellOf<Of, Also>(members, each));
  return (record) =>
    Object.fromEntries(
      lines.flatMap(({ label, textOf }) => {
        const text = textOf(record);
        return text === undefined ? [] : [[label, text]];
      }),
    );
}

/** A list for people. */
export interface Cells<Row> {
  /** Texts by their headings. Numbers have a `>` before them. */
  readonly columns: Readonly<Record<string, (row: Row) => string | undefined>>;
  /** Headings of columns that are left out where there is no room, the first one first. */
  readonly leave: readonly string[];
}

/** @param leave - Names of the columns that are left out where there is no room, in this order. */
export function cellsOf<Of extends Members>(
  members: Of,
  shown: readonly Shown<Of>[],
  leave: readonly string[] = [],
): Cells<Sent<Of>> {
  const cells = shown.map((each) => ({
    name: typeof each === 'string' ? each : each[0],
    ...cellOf(members, each),
  }));
  return {
    columns: Object.fromEntries(
      cells.map(({ label, textOf, kind }) => [
        kind === 'usd' || kind === 'count' ? `>${label}` : label,
        textOf,
      ]),
    ),
    leave: leave.map((name) => cells.find((cell) => cell.name === name)?.label ?? name),
  };
}

function cellOf<Of extends Members, Also>(members: Of, shown: Shown<Of, Also>) {
  const [name, text] = typeof shown === 'string' ? [shown, undefined] : shown;
  const { label = name, ifNull, schema }: Partial<Member> = members[name] ?? {};
  const kind = schema === undefined ? undefined : kindOf(schema);
  return {
    kind,
    label: kind === 'usd' ? `${label} (USD)` : label,
    textOf:
      text ??
      ((record: Readonly<Record<string, unknown>>) => {
        const value = record[name];
        if (value === null || value === undefined) return ifNull;
        if (Array.isArray(value)) return value.length === 0 ? ifNull : value.join(', ');
        if (typeof value === 'boolean') return value ? 'yes' : 'no';
        return typeof value === 'string' ? value : JSON.stringify(value);
      }),
  };
}

/** A column of the pages. Its name is that of the member. */
export interface PageColumn<Name extends string = string> {
  readonly name: Name;
  readonly label: string;
  readonly kind: Kind | undefined;
}

export interface SeenColumn<Name extends string> extends PageColumn<Name> {
  readonly seenBy: Reader | 'everyone';
}

/** The columns of a list on the pages, in their order. */
export function pageColumnsOf<Of extends Members, const Name extends keyof Of & string>(
  members: Of,
  names: readonly Name[],
): readonly SeenColumn<Name>[] {
  return names.map((name) => {
    const { seenBy, label = name, schema } = members[name] as Member;
    const heading = label.charAt(0).toUpperCase() + label.slice(1);
    return { name, seenBy, label: heading, kind: kindOf(schema) };
  });
}

function kindOf(schema: z.ZodType): Kind | undefined {
  return schema instanceof z.ZodNullable || schema instanceof z.ZodExactOptional
    ? kindOf(schema.unwrap() as z.ZodType)
    : kinds.get(schema)?.kind;
}
