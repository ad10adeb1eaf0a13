/**
 * The commit with which `bench:guard` compares, and its checkout: built once, and kept in
 * `.pinned/`. `pinned.json` has every commit that was pinned, the last one in force, each with the
 * reason why the guard's record was renewed: who may pay for what.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { node, output, root, run, step } from '../scripts/setup.mjs';

const PINS = new URL('pinned.json', import.meta.url);
const FOLDER = join(root, '.pinned');

/** @returns {string} */
export function pinnedCommit() {
  return JSON.parse(readFileSync(PINS, 'utf8')).at(-1).commit;
}

/**
 * @returns {{ folder: string } | { missing: string }} the built checkout, or why there can be none
 *   and what to do
 */
export function pinnedCheckout(commit = pinnedCommit()) {
  const folder = join(FOLDER, commit);
  if (!existsSync(folder)) {
    if (!hasCommit(commit)) return { missing: missingText(commit) };
    extract(commit, folder);
  }
  const setUp = [
    "import { ensureBuilt, ensureInstalled } from './scripts/setup.mjs';",
    'ensureInstalled();',
    'ensureBuilt();',
  ];
  step(`The pinned commit ${commit.slice(0, 8)}`);
  run(node, ['--input-type=module', '--eval', setUp.join('\n')], { cwd: folder });
  return { folder };
}

function hasCommit(commit) {
  const args = ['cat-file', '-e', `${commit}^{commit}`];
  return spawnSync('git', args, { cwd: root, stdio: 'ignore' }).status === 0;
}

function missingText(commit) {
  const isShallow = output('git', ['rev-parse', '--is-shallow-repository']).trim() === 'true';
  const how = isShallow
    ? 'This clone is shallow. Fetch the commit: git fetch --depth 1 origin'
    : 'Fetch it: git fetch origin';
  return `The guard compares with the commit ${commit}, which this clone does not have. ${how} ${commit}`;
}

/** Extracts under another name first, so that an interrupted run leaves no half checkout. */
function extract(commit, folder) {
  mkdirSync(FOLDER, { recursive: true });
  // Those of commits that were pinned before.
  for (const name of readdirSync(FOLDER)) rmSync(join(FOLDER, name), { recursive: true });
  const part = `${folder}.part`;
  mkdirSync(part);
  run('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, part]);
  renameSync(part, folder);
}
