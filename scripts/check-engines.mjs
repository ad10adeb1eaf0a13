/**
 * `npm run check:engines`: checks `engines` of each package. Its dependencies must admit every
 * version of Node that the package itself admits. Otherwise npm would warn when the package is
 * installed or, with `engine-strict`, refuse to install it.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import semver from 'semver';
import { packageDirs } from './setup.mjs';

const problems = packageDirs().flatMap((dir) => {
  const { name, engines, dependencies = {} } = readManifest(dir);
  if (engines?.node === undefined) return [`${name} states no engines.node`];
  return Object.keys(dependencies)
    .map((dependency) => readManifest(join(dir, 'node_modules', dependency)))
    .filter((manifest) => !semver.subset(engines.node, manifest.engines?.node ?? '*'))
    .map((manifest) => {
      const { name: dependency, version } = manifest;
      return `${name} admits Node ${engines.node}, but its dependency ${dependency}@${version} admits only ${manifest.engines.node}`;
    });
});
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function readManifest(dir) {
  const file = join(dir, 'package.json');
  if (!existsSync(file)) throw new Error(`${file} is missing: is everything installed?`);
  return JSON.parse(readFileSync(file, 'utf8'));
}
