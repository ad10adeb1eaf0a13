/**
 * A check for continuous integration that takes two minutes: exits with 1 if the gateway's CPU
 * time, as a multiple of the bare proxy's, is more than 1.3 times the recorded ratio. The check
 * itself is in `ratio-guard.mjs`.
 *
 *   node bench/guard.mjs
 *   node bench/guard.mjs --record      records this machine's ratios, on an idle machine
 */

import { join } from 'node:path';
import { installRedis } from '../scripts/servers.mjs';
import { ensureBuilt, ensureInstalled, node, root, run } from '../scripts/setup.mjs';

ensureInstalled();
ensureBuilt();
installRedis();
run(node, [join(root, 'bench/main.mjs'), '--guard', ...process.argv.slice(2)]);
