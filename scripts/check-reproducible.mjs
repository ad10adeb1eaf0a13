/**
 * `npm run check:reproducible`: builds the published packages in two folders and packs them. Each
 * tarball must have the same bytes, so that anyone can build a release again and compare.
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { publishedPackages, withScratch } from './packed.mjs';
import { copyTree } from './release/copy-tree.mjs';
import { PNPM, ensureInstalled, output, step } from './setup.mjs';

/** They differ in length and depth, and one has what must be quoted. */
const PLACES = ['one', 'another/longer path'];

ensureInstalled();
await withScratch((scratch) => {
  const [first, second] = PLACES.map((place) => packIn(join(scratch, place)));
  for (const [name, file] of first) {
    const other = second.get(name) ?? '';
    const [digest, again] = [file, other].map(digestOf);
    process.stdout.write(`  ${name} ${digest}\n`);
    if (digest === again) continue;
    process.stderr.write(`${name} differs: ${differingFiles(file, other).join(', ')}\n`);
    process.exitCode = 1;
  }
});

/** @returns the tarballs by their names */
function packIn(folder) {
  step(`Building in ${folder}`);
  const copy = join(folder, 'copy');
  copyTree(copy);
  const pnpm = (...args) => output('npx', ['-y', PNPM, ...args], { cwd: copy });
  pnpm('install', '--frozen-lockfile', '--prefer-offline');
  pnpm('run', 'build');
  const packed = join(folder, 'packed');
  mkdirSync(packed);
  const filters = publishedPackages(copy).flatMap(({ name }) => ['--filter', name]);
  pnpm('-r', ...filters, 'pack', '--pack-destination', packed);
  return new Map(readdirSync(packed).map((name) => [name, join(packed, name)]));
}

function differingFiles(...tarballs) {
  const [first, second] = tarballs.map((tarball) => {
    const folder = join(tarball, '..', `${basename(tarball)}-unpacked`);
    mkdirSync(folder);
    output('tar', ['-xzf', tarball, '-C', folder]);
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return new Map(
      entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
        .map((path) => [path.slice(folder.length), digestOf(path)]),
    );
  });
  const names = [...new Set([...first.keys(), ...second.keys()])];
  const differing = names.filter((name) => first.get(name) !== second.get(name));
  return differing.length > 0 ? differing : ['only their times or their order'];
}

function digestOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}
