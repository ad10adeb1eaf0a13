/**
 * Parts of Node that versions outside `engines` lack. They are not imported by name: such an import
 * would fail before any code runs, with an error that names only the part.
 */

import zlib from 'node:zlib';
import manifest from '../package.json' with { type: 'json' };

/**
 * @returns what `find` returns
 * @throws {Error} that names the versions of Node that this package needs, if there is nothing
 */
export function partOfNode<Part>(find: () => Part | undefined): Part {
  const part = find();
  if (part !== undefined) return part;
  throw new Error(
    `@gateway/balance-store needs Node ${manifest.engines.node}, and this is Node ${process.versions.node}`,
  );
}

export const crc32 = partOfNode<typeof zlib.crc32>(() => zlib.crc32);
