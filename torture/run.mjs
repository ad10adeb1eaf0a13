/**
 * `npm run torture`: installs and builds if needed, then runs `main.mjs` on the project's own Node.
 */

import { join } from 'node:path';
import { findRedis } from '../scripts/servers.mjs';
import { ensureBuilt, ensureInstalled, node, root, run } from '../scripts/setup.mjs';

ensureInstalled();
ensureBuilt();
findRedis();
run(node, [join(root, 'torture/main.mjs'), ...process.argv.slice(2)]);
