/** Runs `fill.mjs` under the clock that the demo sets. */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { node, root } from '../setup.mjs';

/**
 * Replaces what the directory has by the data of the demo.
 *
 * @returns the variables with which the gateway serves it
 */
export function writeDemo(dataDir, seed = '1') {
  rmSync(dataDir, { recursive: true, force: true });
  // The clock is loaded into each thread, also into those of the ledger.
  const clock = join(root, 'scripts/demo/clock.mjs');
  const filled = spawnSync(
    node,
    [`--import=${clock}`, join(root, 'scripts/demo/fill.mjs'), dataDir, seed],
    { stdio: 'inherit' },
  );
  if (filled.status !== 0) process.exit(filled.status ?? 1);
  return JSON.parse(readFileSync(join(dataDir, 'settings.json'), 'utf8'));
}
