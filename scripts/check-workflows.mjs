/**
 * `npm run check:workflows`: checks rules that keep a release safe. A reviewer of a workflow could
 * overlook that one of them is broken.
 *
 * - Each action is pinned to a commit, because a tag can be moved to other code. A comment after it
 *   names the tag.
 * - Permissions are given to single jobs, not to a whole workflow. Besides actions, a job
 *   that has write permission or a secret runs only the commands in `HARMLESS`.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from './setup.mjs';

const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
/**
 * Lines that a job with write permission or a secret may run: none of them runs code of this
 * repository or of a dependency.
 */
const HARMLESS = [
  // Tools whose digests are in a lockfile, and packages without their scripts.
  /^npm install --no-save --prefix \S+$/,
  /^echo "\$GITHUB_WORKSPACE\/\S+\/node_modules\/\.bin" >> "\$GITHUB_PATH"$/,
  /^pnpm install .*--ignore-scripts$/,
  // The log-in to npm.
  /^registry=\$\(npm config get registry\)$/,
  /^npm config set \S+$/,
  // Uploads and signatures of what another job built.
  /^(skopeo copy|helm push|cosign sign) [^;&|`()]+$/,
  /^(skopeo copy|helm push|cosign sign) [^;&|`()]+ > \S+ 2>&1$/,
  /^echo "\w+=\$\((cat \S+|sed -n \S+ \S+ \S+)\)" >> "\$GITHUB_OUTPUT"$/,
];

const directory = join(root, '.github/workflows');
const problems = readdirSync(directory).flatMap((name) => {
  const text = readFileSync(join(directory, name), 'utf8');
  return [...unpinned(text), ...excessiveRights(parse(text))].map(
    (problem) => `${name}: ${problem}`,
  );
});
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function unpinned(text) {
  return [...text.matchAll(/^\s*(?:- )?uses: *(.*)$/gm)]
    .map(([, action]) => action)
    .filter((action) => !PINNED.test(action))
    .map((action) => `${action} is not pinned as owner/name@<commit> # v1.2.3`);
}

function excessiveRights({ permissions, env, jobs }) {
  const problems = [];
  if (permissions === undefined || Object.keys(permissions).length > 0) {
    problems.push('the workflow as a whole must have `permissions: {}`');
  }
  for (const [name, job] of Object.entries(jobs)) {
    if (job.permissions === undefined) problems.push(`job ${name} states no permissions`);
    const { permissions: own = {} } = job;
    const canWrite =
      typeof own === 'string' ? own !== 'read-all' : Object.values(own).includes('write');
    if (!canWrite && !JSON.stringify([env, job]).includes('secrets.')) continue;
    const runs = job.steps.flatMap(({ run }) => (run === undefined ? [] : [run.trim()]));
    for (const command of runs) {
      const others = command
        .split('\n')
        .filter((line) => !HARMLESS.some((form) => form.test(line.trim())));
      for (const line of others) {
        problems.push(`job ${name} has write permission or a secret, so it must not run: ${line}`);
      }
    }
  }
  return problems;
}
