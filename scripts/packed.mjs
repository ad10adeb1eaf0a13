/**
 * The published packages in the form in which users get them: packed, and installed outside of this
 * repository.
 */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt, output, packageDirs, PNPM, root } from './setup.mjs';

/**
 * @returns the published packages: `{ name, dir, manifest, entries }`; an entry is a name to
 * import. The server has none.
 */
export function publishedPackages(from = root) {
  return packageDirs(from)
    .map((dir) => ({ dir, manifest: JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) }))
    .filter(({ manifest }) => manifest.private !== true)
    .map(({ dir, manifest }) => ({
      name: manifest.name,
      dir,
      manifest,
      entries: Object.keys(manifest.exports ?? {}).map((path) => manifest.name + path.slice(1)),
    }));
}

/** @returns the published packages that programs import */
export function publishedLibraries() {
  return publishedPackages().filter(({ entries }) => entries.length > 0);
}

/** Calls `use` with a new folder, and removes the folder when `use` has ended or failed. */
export async function withScratch(use) {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-packages-'));
  const remove = () => rmSync(dir, { recursive: true, force: true });
  // `run` in setup.mjs exits the process if a command fails, and `finally` does not run then.
  process.on('exit', remove);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  try {
    return await use(dir);
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/** Packs the current build of the packages. @returns the tarballs by name. */
export function packAll(destination, packages = publishedPackages()) {
  ensureBuilt();
  const filters = packages.flatMap(({ name }) => ['--filter', name]);
  const to = ['--pack-destination', destination, '--json'];
  const packed = quietPnpm(root, '-r', ...filters, 'pack', ...to);
  return new Map(JSON.parse(packed).map(({ name, filename }) => [name, filename]));
}

/**
 * Makes a project in `dir` that depends only on the packed libraries and the named packages.
 *
 * pnpm installs it, because with pnpm a package can import only its declared dependencies. With a
 * flat `node_modules` an undeclared dependency would go unnoticed.
 */
export function installPacked(dir, dependencies = {}) {
  const tarballs = packAll(join(dir, 'tarballs'), publishedLibraries());
  const packages = [...tarballs].map(([name, file]) => [name, `file:${file}`]);
  const manifest = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: { ...Object.fromEntries(packages), ...dependencies },
  };
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest));
  // None of the dependencies needs its install script.
  writeFileSync(join(dir, 'pnpm-workspace.yaml'), 'strictDepBuilds: false\n');
  quietPnpm(dir, 'install', '--prefer-offline');
}

function quietPnpm(cwd, ...args) {
  return output('npx', ['-y', PNPM, ...args], { cwd });
}
