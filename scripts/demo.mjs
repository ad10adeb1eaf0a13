/**
 * `npm run demo`: fills a ledger of its own with two simulated months that end now, and serves it.
 * The same seed makes the same customers, requests and amounts. Credentials differ each time.
 *
 *   DEMO_SEED=2 npm run demo              # another month
 *   npm run demo -- --fill /tmp/demo      # only writes the data, into this directory
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runGateway } from './run-gateway.mjs';
import { ensureBuilt, ensureInstalled, node, root, step } from './setup.mjs';

const [option, given] = process.argv.slice(2);
const dataDir = given ?? join(root, '.demo');
const seed = process.env['DEMO_SEED'] ?? '1';

ensureInstalled();
ensureBuilt();
step(`Simulating two months in ${dataDir}`);
rmSync(dataDir, { recursive: true, force: true });
// The clock is loaded into each thread, also into those of the ledger.
const clock = join(root, 'scripts/demo/clock.mjs');
const filled = spawnSync(
  node,
  [`--import=${clock}`, join(root, 'scripts/demo/fill.mjs'), dataDir, seed],
  { stdio: 'inherit' },
);
if (filled.status !== 0) process.exit(filled.status ?? 1);
if (option !== '--fill') {
  const settings = JSON.parse(readFileSync(join(dataDir, 'settings.json'), 'utf8'));
  Object.assign(process.env, settings);
  step('Starting the gateway');
  runGateway(['serve']);
}
