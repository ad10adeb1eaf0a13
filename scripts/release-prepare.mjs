/**
 * Builds the packages and makes their manifests ready to be packed. The release workflow runs it.
 */

import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { publishedPackages } from './packed.mjs';
import { pnpm, root } from './setup.mjs';

const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
if (GITHUB_REPOSITORY !== undefined) nameRepository(`${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`);
pnpm('run', 'build');

/**
 * npm accepts a provenance statement only for a package that names the repository that built it.
 * The workflow knows its repository, even in a fork, so the name is not kept in a file.
 */
function nameRepository(address) {
  for (const { dir, manifest } of publishedPackages()) {
    const repository = { type: 'git', url: `git+${address}.git`, directory: relative(root, dir) };
    const homepage = `${address}#readme`;
    const bugs = { url: `${address}/issues` };
    const named = JSON.stringify({ ...manifest, repository, homepage, bugs }, null, 2);
    writeFileSync(join(dir, 'package.json'), `${named}\n`);
  }
}
