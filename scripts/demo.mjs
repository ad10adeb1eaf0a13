/**
 * `npm run demo`: fills a ledger of its own with two simulated months that end now, and serves it.
 * The same seed makes the same customers, requests and amounts. Credentials differ each time.
 *
 *   DEMO_SEED=2 npm run demo              # another month
 *   npm run demo -- --fill /tmp/demo      # only writes the data, into this directory
 */

import { join } from 'node:path';
import { writeDemo } from './demo/write-demo.mjs';
import { runGateway } from './run-gateway.mjs';
import { ensureBuilt, ensureInstalled, root, step } from './setup.mjs';

const [option, given] = process.argv.slice(2);
const dataDir = given ?? join(root, '.demo');

ensureInstalled();
ensureBuilt();
step(`Simulating two months in ${dataDir}`);
const settings = writeDemo(dataDir, process.env['DEMO_SEED']);
if (option !== '--fill') {
  Object.assign(process.env, settings);
  step('Starting Farthing');
  runGateway(['serve']);
}
