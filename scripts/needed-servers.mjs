/**
 * Which servers some test files need, so that `npm test -- packages/billing` starts none. Found in
 * the test files and in the files that they import by a relative path: whatever uses a server reads
 * its variable.
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

/** @typedef {Record<keyof typeof SIGNS, boolean>} Needs */

/** @type {Needs} */
export const ALL = { postgres: true, redis: true, chromium: true, seccomp: true };

/**
 * @param {readonly string[]} testFiles - paths
 * @returns {Needs}
 */
export function neededServers(testFiles) {
  const needs = { postgres: false, redis: false, chromium: false, seccomp: false };
  const seen = new Set(testFiles);
  for (const file of seen) {
    const text = readFileSync(file, 'utf8');
    for (const [server, sign] of Object.entries(SIGNS)) needs[server] ||= sign.test(text);
    for (const [, specifier = ''] of text.matchAll(/(?:from|import) '(\.{1,2}\/[^']+)'/g)) {
      const path = join(dirname(file), specifier).replace(/\.js$/, '.ts');
      if (existsSync(path)) seen.add(path);
    }
  }
  return needs;
}
