/** Reads vectors: one readable file per case. */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param folder - Relative to this one.
 * @returns The vectors in a folder, sorted by name.
 */
export function vectorsIn<Vector>(folder: string): (readonly [name: string, vector: Vector])[] {
  return readdirSync(join(__dirname, folder))
    .sort()
    .map((file) => {
      const vector: Vector = JSON.parse(readFileSync(join(__dirname, folder, file), 'utf8'));
      return [file.replace('.json', ''), vector];
    });
}
