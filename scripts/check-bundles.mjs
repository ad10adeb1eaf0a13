/**
 * Bundles the platform-independent packages for a browser, from their tarballs. A bundle must not
 * need Node, and a bundle of one function must be smaller than that of the main entry. What has a
 * size limit must stay within it.
 */

import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { installPacked, publishedLibraries, withScratch } from './packed.mjs';
import { root, step } from './setup.mjs';
import { BUNDLES, PAGE_LIMITS } from './size-limits.mjs';

/**
 * Bundled alone, a function of the translator may have at most this share of the size of the main
 * entry. Otherwise importing only some functions would save nothing.
 *
 * @type {readonly [entry: string, single: string, share: number][]}
 */
const SINGLES = [
  ['@gateway/translator', 'normalizeToolChoice', 0.1],
  ['@gateway/translator', 'translateRequest', 0.45],
  ['@gateway/translator/fetch', 'transformThrough', 0.1],
];

await withScratch(async (dir) => {
  step('Bundling for browsers');
  checkDependencies('@gateway/translator');
  installPacked(dir);
  const sizes = {};
  for (const { name, source, limit } of BUNDLES) {
    sizes[name] = await bundle(dir, source);
    report(name, sizes[name], limit);
  }
  for (const [entry, single, share] of SINGLES) {
    const size = await bundle(dir, `export { ${single} } from '${entry}'`);
    report(`${single} alone`, size, Math.floor(share * sizes['@gateway/translator']));
  }
});

step('Measuring the pages');
for (const [page, limit] of Object.entries(PAGE_LIMITS)) {
  report(`the page ${page}`, pageSize(join(root, 'apps/dashboard/dist', page)), limit);
}

/** @returns the size in bytes of the page's Brotli copies, which browsers load */
function pageSize(dir) {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return files
    .filter((path) => path.endsWith('.br'))
    .reduce((size, path) => size + readFileSync(join(dir, path)).length, 0);
}

/** @returns the size in bytes, minified and compressed. */
async function bundle(dir, source) {
  const entry = join(dir, 'entry.mjs');
  writeFileSync(entry, source);
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    // For this platform, esbuild reports each import of a Node module as an error.
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

function report(name, size, limit) {
  const most = limit === undefined ? '' : ` of ${limit}`;
  process.stdout.write(`  ${name}: ${size}${most} bytes\n`);
  if (limit === undefined || size <= limit) return;
  process.stderr.write(`${name} is larger than its limit\n`);
  process.exitCode = 1;
}

function checkDependencies(name) {
  const published = publishedLibraries().find((each) => each.name === name);
  if (published === undefined) throw new Error(`${name} is not published`);
  const { dependencies = {}, peerDependencies = {} } = published.manifest;
  const found = Object.keys({ ...dependencies, ...peerDependencies });
  if (found.length > 0)
    throw new Error(`${name} must have no dependencies, but has ${found.join(', ')}`);
}
