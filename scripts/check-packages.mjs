/**
 * Checks that the exports and types of each packed package resolve for every kind of importer, that
 * the pages in it link to files that are in it too, and that npm packs the licence as pnpm does.
 */

import { execFileSync } from 'node:child_process';
import { join, posix } from 'node:path';
import { packAll, publishedPackages, withScratch } from './packed.mjs';
import { output, root, run, step } from './setup.mjs';

await withScratch((scratch) => {
  for (const [name, tarball] of packAll(scratch)) {
    step(`Checking ${name}`);
    run(join(root, 'node_modules/.bin/publint'), ['--strict', tarball]);
    // This profile ignores Node's oldest resolution, which does not support subpath exports.
    run(join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'node16']);
    checkLinks(name, tarball);
  }
});

for (const { name, dir } of publishedPackages()) {
  const [{ files }] = JSON.parse(output('npm', ['pack', '--dry-run', '--json'], { cwd: dir }));
  if (files.some(({ path }) => path === 'LICENSE')) continue;
  process.stderr.write(`${name}: npm packs no LICENSE\n`);
  process.exitCode = 1;
}

function checkLinks(name, tarball) {
  const tar = (...args) => execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  const files = new Set(tar('-tzf', tarball).split('\n'));
  for (const page of [...files].filter((file) => /^package\/(README|docs\/.*)\.md$/.test(file))) {
    for (const [, link] of tar('-xzOf', tarball, page).matchAll(/\]\((?!\w+:|#)([^)#]+)/g)) {
      if (files.has(posix.join(posix.dirname(page), link))) continue;
      process.stderr.write(`${name}: ${page} links to ${link}, which is not packed\n`);
      process.exitCode = 1;
    }
  }
}
