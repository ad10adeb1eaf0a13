/** Files that scripts write from a source, which are committed and must not become stale. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { root } from './setup.mjs';

/** Whether the files are compared instead of written. */
export const isCheck = process.argv.includes('--check');

/**
 * Formats and writes each file. With `--check` it names those that would change, and the process
 * exits with 1.
 *
 * @param {Readonly<Record<string, string>>} texts - by path from the root of the project
 * @param {string} command - what writes them
 */
export async function writeOrCompare(texts, command) {
  for (const [name, text] of Object.entries(texts)) {
    const path = join(root, name);
    const after = await format(text, { ...(await resolveConfig(path)), filepath: path });
    if (!isCheck) writeFileSync(path, after);
    else if (after !== readFileSync(path, 'utf8')) {
      process.stderr.write(`${name} is stale: run ${command} and commit\n`);
      process.exitCode = 1;
    }
  }
}
