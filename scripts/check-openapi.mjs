/**
 * Checks the OpenAPI documents that the build has made. Each must be valid, and what the last
 * release describes under `/v1` must still be true. A change that clients cannot notice, although
 * the comparison reports it, needs a reason in `openapi-exceptions.json`, until the next release.
 *
 * The last release is built anew, which takes as long as any build. Its documents are not
 * committed: 14,500 lines that a program writes showed each change in a diff, and let incompatible
 * ones pass. Two other programs were tried: oasdiff does the same, but is one in Go to be
 * downloaded, and openapi-diff compares neither parameters nor credentials.
 *
 *   node scripts/check-openapi.mjs          compares with the last release
 *   node scripts/check-openapi.mjs REF      compares with a commit
 */

import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { incompatibleChanges } from './openapi-changes.cjs';
import { withScratch } from './packed.mjs';
import { PNPM, ensureBuilt, output, root, step } from './setup.mjs';

const SERVER = 'farthing';
const exceptions = JSON.parse(readFileSync(join(root, 'scripts/openapi-exceptions.json'), 'utf8'));
const problems = [];

ensureBuilt();
for (const port of ['client', 'admin']) {
  const { valid, errors } = await new Validator().validate(documentOf(root, port));
  if (!valid) problems.push(`${port}: ${JSON.stringify(errors, undefined, 2)}`);
}
const released = process.argv[2] ?? lastRelease();
if (released === undefined) {
  step(`Nothing is released yet: no tag ${SERVER}@…`);
} else {
  step(`Comparing the OpenAPI document with that of ${released}`);
  const changes = await changesSince(released);
  problems.push(...changes.filter((change) => !(change in exceptions)));
  const unused = Object.keys(exceptions).filter((change) => !changes.includes(change));
  problems.push(...unused.map((change) => `${change}: remove it from openapi-exceptions.json`));
}
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

/** @throws an error if this clone may lack the tag of a release */
function lastRelease() {
  const git = (...args) => output('git', args).trim();
  const [newest] = git('tag', '--list', `${SERVER}@*`, '--sort=-version:refname').split('\n');
  if (newest !== '') return newest;
  if (git('rev-parse', '--is-shallow-repository') === 'false') return undefined;
  throw new Error(
    'this clone is shallow, so it may lack the tags of releases: git fetch --unshallow',
  );
}

async function changesSince(commit) {
  return withScratch(async (scratch) => {
    const [archive, copy] = [join(scratch, 'archive.tar'), join(scratch, 'copy')];
    mkdirSync(copy);
    output('git', ['archive', '--format=tar', `--output=${archive}`, commit]);
    output('tar', ['-xf', archive, '-C', copy]);
    const pnpm = (...args) => output('npx', ['-y', PNPM, ...args], { cwd: copy });
    pnpm('install', '--frozen-lockfile', '--prefer-offline');
    pnpm('--filter', `${SERVER}...`, 'run', 'build');
    return incompatibleChanges(documentOf(copy, 'client'), documentOf(root, 'client'));
  });
}

function documentOf(repository, port) {
  return JSON.parse(
    readFileSync(join(repository, `apps/gateway/dist/openapi/${port}.json`), 'utf8'),
  );
}
