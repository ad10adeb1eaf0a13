/**
 * Runs parts of the torture harness, which needs the built gateway: `npm test` builds before it
 * tests.
 */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isLong } from '../../../../scripts/runs.cjs';

const ROOT = join(__dirname, '../../../..');

/** @returns the output of the harness: its headings, then each check and the totals */
export function runTorture(...parts: readonly string[]): {
  readonly output: string;
  readonly status: number | null;
} {
  if (!existsSync(join(ROOT, 'apps/gateway/dist/main.js'))) throw new Error('run `npm run build`');
  const run = spawnSync(
    process.execPath,
    [
      join(ROOT, 'torture/main.mjs'),
      '--seed',
      '1',
      '--only',
      parts.join(','),
      ...(isLong ? [] : ['--least']),
      // No time is checked, because tests share their machine.
      '--untimed',
    ],
    { cwd: ROOT, encoding: 'utf8' },
  );
  return { output: run.stderr + run.stdout, status: run.status };
}
