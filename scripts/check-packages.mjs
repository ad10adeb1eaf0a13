/** Checks that the exports and types of each packed package resolve for every kind of importer. */

import { join } from 'node:path';
import { packAll, withScratch } from './packed.mjs';
import { root, run, step } from './setup.mjs';

await withScratch((scratch) => {
  for (const [name, tarball] of packAll(scratch)) {
    step(`Checking ${name}`);
    run(join(root, 'node_modules/.bin/publint'), ['--strict', tarball]);
    // This profile ignores Node's oldest resolution, which does not support subpath exports.
    run(join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'node16']);
  }
});
