/** Copies of this repository, to be built elsewhere. */

import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { root } from '../setup.mjs';

/** History, build output and private files, which are not copied. */
const NOT_COPIED = new Set(['.git', 'node_modules', 'dist', 'coverage', '.data', '.env']);

/** Copies the working tree, so that a change can be tried before it is committed. */
export function copyTree(copy) {
  const isSource = (path) => !NOT_COPIED.has(basename(path));
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true, filter: isSource });
}
