/** Conditions of a search through Prisma. */

import type { Metadata } from '../metadata.js';

/** Conditions of Prisma: one for each pair that a row's metadata must have. */
export function metadataConditions(
  metadata: Metadata = {},
): { readonly metadata: { path: string[]; equals: string } }[] {
  return Object.entries(metadata).map(([name, value]) => ({
    metadata: { path: [name], equals: value },
  }));
}

/**
 * A column that contains this text. Upper and lower case are the same. Prisma does not escape the
 * wildcards of LIKE.
 */
export function containing(text: string): {
  readonly contains: string;
  readonly mode: 'insensitive';
} {
  return { contains: text.replace(/[\\%_]/g, '\\$&'), mode: 'insensitive' };
}
