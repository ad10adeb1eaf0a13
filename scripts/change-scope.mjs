/**
 * `node scripts/change-scope.mjs <scope>`, with its `@`: publishes the packages under another npm
 * scope, for an owner who cannot have the present one. Replaces it in every file: names
 * of packages, imports, documents, changesets, the lockfile. Headers, metrics, folders and the
 * prefix of keys stay, because they name the gateway's role (decision 0101).
 *
 * Needs no installation. It prints what to do next.
 */

import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PNPM, root } from './setup.mjs';

/** npm's rule for a name that is used in addresses. */
const SCOPE = /^@[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/;

const wanted = process.argv[2] ?? '';
const present = /** @type {string} */ (
  JSON.parse(readFileSync(join(root, 'packages/translator/package.json'), 'utf8')).name
).split('/')[0];

try {
  if (!SCOPE.test(wanted)) throw new Error('usage: node scripts/change-scope.mjs @<scope>');
  if (wanted === present) throw new Error(`the scope is ${wanted} already`);
  process.stdout.write(changeScope(textFiles()));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}

/** @param {ReadonlyMap<string, string>} files - Texts by path. */
function changeScope(files) {
  const other = occurrences(wanted);
  const taken = [...files].filter(([, text]) => other.test(text)).map(([path]) => path);
  // Afterwards nobody could tell its packages from these.
  if (taken.length > 0)
    throw new Error(`${wanted} is used already: ${taken.slice(0, 3).join(', ')}`);
  const own = occurrences(present);
  let changed = 0;
  for (const [path, text] of files) {
    const replaced = text.replace(own, wanted);
    if (replaced === text) continue;
    writeFileSync(join(root, path), replaced);
    changed += 1;
  }
  return `${present} is ${wanted} in ${changed} files. Now:

  npx -y ${PNPM} install    # links the packages by their new names, and sorts the lockfile
  npm run format                   # lines have other lengths
  bash .ci/run
`;
}

/**
 * The scope itself: not the end of an address such as `user@gateway.example`, nor the beginning of
 * a longer scope.
 *
 * @param {string} scope
 */
function occurrences(scope) {
  return new RegExp(`(?<![\\w.…-])${scope.replaceAll('.', '\\.')}(?![\\w-]|\\.\\w)`, 'gu');
}

/** The files of the checkout, also new ones, without those that git ignores. */
function textFiles() {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  const paths = listed.split('\0').filter((path) => path !== '' && isFile(path));
  const texts = paths.map((path) => /** @type {const} */ ([path, readText(path)]));
  return new Map(texts.filter(([, text]) => !text.includes('\0')));
}

/** @param {string} path */
function readText(path) {
  return readFileSync(join(root, path), 'utf8');
}

/**
 * Neither a link, whose target is in the list itself, nor a file that was deleted.
 *
 * @param {string} path
 */
function isFile(path) {
  return lstatSync(join(root, path), { throwIfNoEntry: false })?.isFile() === true;
}
