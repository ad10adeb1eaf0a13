/** Checks, for each packed package, that its exports and types resolve for every kind of importer. */

import { join } from 'node:path';
import { packAll, withScratch } from './packed.mjs';
import { root, run, step } from './setup.mjs';

await withScratch((scratch) => {
  for (const [name, tarball] of packAll(scratch)) {
    step(`Checking ${name}`);
    run(join(root, 'node_modules/.bin/publint'), ['--strict', tarball]);
    // Node's oldest resolution knows no subpath exports; packages with subpaths are not for it.
    run(join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'node16']);
  }
});
