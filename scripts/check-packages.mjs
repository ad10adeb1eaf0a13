/**
 * Checks that the exports and types of each packed library resolve for every kind of importer, that
 * the pages in each package link to files that are in it too, that npm packs the licence as pnpm
 * does, and that the server's package stays small.
 */

import { execFileSync } from 'node:child_process';
import { join, posix } from 'node:path';
import { packAll, publishedLibraries, publishedPackages, withScratch } from './packed.mjs';
import { output, root, run, step } from './setup.mjs';
import { SERVER_LIMIT } from './size-limits.mjs';

const libraries = new Set(publishedLibraries().map(({ name }) => name));
await withScratch((scratch) => {
  for (const [name, tarball] of packAll(scratch)) {
    step(`Checking ${name}`);
    run(join(root, 'node_modules/.bin/publint'), ['--strict', tarball]);
    if (libraries.has(name)) {
      // This profile ignores Node's oldest resolution, which does not support subpath exports.
      run(join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'node16']);
    }
    checkLinks(name, tarball);
  }
});

for (const { name, dir } of publishedPackages()) {
  const pack = output('npm', ['pack', '--dry-run', '--json'], { cwd: dir });
  const [{ files, size }] = JSON.parse(pack);
  if (!files.some(({ path }) => path === 'LICENSE')) fail(`${name}: npm packs no LICENSE`);
  if (libraries.has(name)) continue;
  process.stdout.write(`  ${name}: ${files.length} files, ${size} bytes\n`);
  if (size > SERVER_LIMIT) fail(`${name} is larger than ${SERVER_LIMIT} bytes`);
}

function fail(problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

function checkLinks(name, tarball) {
  const tar = (...args) => execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const files = new Set(tar('-tzf', tarball).split('\n'));
  for (const page of [...files].filter((file) => /^package\/(README|docs\/.*)\.md$/.test(file))) {
    for (const [, link] of tar('-xzOf', tarball, page).matchAll(/\]\((?!\w+:|#)([^)#]+)/g)) {
      if (files.has(posix.join(posix.dirname(page), link))) continue;
      fail(`${name}: ${page} links to ${link}, which is not packed`);
    }
  }
}
