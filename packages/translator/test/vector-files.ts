/** Reads vectors: one readable file per case, or per table of cases that differ in little. */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param folder - Relative to this one.
 * @returns The vectors in a folder, sorted by name. A file with `cases` is a table: each case is a
 * vector `file/case` with the members of the table and its own. Objects, such as a request, are
 * joined member by member.
 */
export function vectorsIn<Vector>(folder: string): (readonly [name: string, vector: Vector])[] {
  return readdirSync(join(__dirname, folder))
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(__dirname, folder, file), 'utf8');
      const { cases, ...vector }: Json & { readonly cases?: Readonly<Record<string, Json>> } =
        JSON.parse(text);
      const name = file.replace('.json', '');
      if (cases === undefined) return [[name, vector as Vector] as const];
      return Object.entries(cases).map(
        ([which, own]) => [`${name}/${which}`, joined(vector, own) as Vector] as const,
      );
    });
}

type Json = Readonly<Record<string, unknown>>;

function joined(common: Json, own: Json): Json {
  const members = Object.entries(own).map(([name, value]) => {
    const shared = common[name];
    return [name, isObject(shared) && isObject(value) ? { ...shared, ...value } : value] as const;
  });
  return { ...common, ...Object.fromEntries(members) };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
