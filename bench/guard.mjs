/**
 * A check for continuous integration that takes half a minute: exits with 1 if the gateway takes
 * more than three times its budget of CPU time. The check itself is in `ratio-guard.mjs`.
 *
 *   node bench/guard.mjs
 */

import { join } from 'node:path';
import { installRedis } from '../scripts/servers.mjs';
import { ensureBuilt, ensureInstalled, node, root, run } from '../scripts/setup.mjs';

ensureInstalled();
ensureBuilt();
installRedis();
run(node, [join(root, 'bench/main.mjs'), '--guard']);
