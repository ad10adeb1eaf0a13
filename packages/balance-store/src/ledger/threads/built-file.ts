import { basename } from 'node:path';

/**
 * The file of a thread's code. A thread always runs the built file, even when tests run the
 * sources.
 *
 * @param name - In the built package, without its ending, such as `embedded/ledger-thread`.
 * @param startedBy - The address of the file that starts the thread. When built, it stands beside
 * the thread's.
 */
export function builtFile(name: string, startedBy: string): URL {
  if (!startedBy.endsWith('.ts')) return new URL(`./${basename(name)}.js`, startedBy);
  return new URL(`${startedBy.slice(0, startedBy.lastIndexOf('/src/'))}/dist/${name}.js`);
}
