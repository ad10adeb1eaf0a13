/**
 * Compares the cost of a request with that of a pinned commit. The comparison is in
 * `cost-guard.mjs`, the commit in `pinned.json`.
 *
 *   npm run bench:guard                  judges, in seven to fourteen minutes
 *   npm run bench:guard -- --plant 5     makes this checkout 5 % slower, which must not pass
 *
 * Exits with 0 if every row passed; 1 if one became more expensive, or an answer was wrong; 2 if
 * the pinned commit is missing; 3 if it cannot judge, because the machine is too busy.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { findRedis } from '../scripts/servers.mjs';
import { ensureBuilt, ensureInstalled, node, root } from '../scripts/setup.mjs';
import { pinnedCheckout } from './pinned.mjs';

ensureInstalled();
ensureBuilt();
findRedis();
const pinned = pinnedCheckout();
if ('missing' in pinned) {
  process.stderr.write(`${pinned.missing}\n`);
  process.exitCode = 2;
} else {
  const args = [join(root, 'bench/main.mjs'), '--guard', pinned.folder, ...process.argv.slice(2)];
  process.exitCode = spawnSync(node, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}
