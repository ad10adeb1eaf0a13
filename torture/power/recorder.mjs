/** Compiles `record.c`, which is preloaded into a process to record what it does to its files. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../scripts/setup.mjs';

/**
 * @param {string} folder - where the library is written
 * @returns the path of the library
 */
export function compileRecorder(folder) {
  const library = join(folder, 'record.so');
  const source = join(root, 'torture/power/record.c');
  const compiled = spawnSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], {
    encoding: 'utf8',
  });
  if (compiled.status !== 0) {
    throw new Error(`the recorder needs a C compiler (cc): ${compiled.stderr ?? compiled.error}`);
  }
  return library;
}
