/** A short run of the torture harness: real processes, databases and kills, three witnesses compared. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const ROOT = join(__dirname, '../../..');

it('loses, doubles, invents and overdraws nothing through kills, outages and races', () => {
  // `npm test` builds before it tests; run alone, this suite needs `npm run build` first.
  expect(existsSync(join(ROOT, 'apps/gateway/dist/main.js'))).toBe(true);
  const run = spawnSync(
    process.execPath,
    [join(ROOT, 'torture/main.mjs'), '--seed', '1', '--only', 'http,race,zero'],
    { cwd: ROOT, encoding: 'utf8' },
  );
  // The harness prints what it compared and what differs.
  expect(run.stdout + run.stderr).toMatch(/\n\nseed 1: 19 passed, 0 failed\n$/);
  expect(run.status).toBe(0);
}, 240_000);
