/**
 * Which servers some test files need, so that `npm test -- packages/billing` starts none, and which
 * test files are quick. Found in the test files and in the files that they import by a relative
 * path: whatever uses a server reads its variable.
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The torture harness starts its own servers, from programs that must be installed. */
const SIGNS = {
  postgres: /TEST_DATABASE_URL|torture\/main\.mjs/,
  redis: /TEST_REDIS_URL|torture\/main\.mjs/,
  chromium: /TEST_CHROMIUM/,
  seccomp: /TEST_SECCOMP/,
};

/**
 * A test that is not quick starts a process, or a server in its own process, or uses built files.
 * Functions named `start…` are this project's: of a gateway, the simulator, a server or a worker.
 */
const SLOW = /'node:(?:child_process|cluster|https?|net|tls)'|\bstart[A-Z]\w*\(|\bdist\//;

/** @typedef {Record<keyof typeof SIGNS, boolean>} Needs */

/** @type {Needs} */
export const ALL = { postgres: true, redis: true, chromium: true, seccomp: true };

/** @type {Needs} */
export const NONE = { postgres: false, redis: false, chromium: false, seccomp: false };

/**
 * @param {readonly string[]} testFiles - paths
 * @returns {Needs}
 */
export function neededServers(testFiles) {
  const needs = { ...NONE };
  for (const text of textsOf(testFiles, () => true)) {
    for (const [server, sign] of Object.entries(SIGNS)) needs[server] ||= sign.test(text);
  }
  return needs;
}

/**
 * Whether a test needs no server, browser, network or process: nothing that it imports starts one,
 * not counting the sources under test.
 *
 * @param {string} testFile - its path
 */
export function isQuick(testFile) {
  const texts = textsOf([testFile], (path) => !/[\\/]src[\\/]/.test(path));
  return !texts.some((text) => SLOW.test(text));
}

/** The texts of some files, and of what they import by a relative path that is wanted. */
function textsOf(files, isWanted) {
  const seen = new Set(files);
  const texts = [];
  for (const file of seen) {
    const text = readFileSync(file, 'utf8');
    texts.push(text);
    for (const [, specifier = ''] of text.matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)) {
      const path = join(dirname(file), specifier).replace(/\.js$/, '.ts');
      if (existsSync(path) && isWanted(path)) seen.add(path);
    }
  }
  return texts;
}
