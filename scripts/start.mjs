/**
 * `npm start`: install, build, serve.
 *
 * npm passes SIGTERM and SIGINT to the process that it started and waits for it. The script in
 * package.json begins with `exec`, so that this process receives them. A shell would die of the
 * signal and leave the gateway running.
 */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, node, root, step } from './setup.mjs';

ensureInstalled();
ensureBuilt();
step('Starting the gateway');
const main = join(root, 'apps/gateway/dist/main.js');
// Node reports a missing file, even with `--env-file-if-exists`.
const environment = existsSync(join(root, '.env')) ? ['--env-file=.env'] : [];
const gateway = spawn(node, [...environment, main, 'serve'], { cwd: root, stdio: 'inherit' });
// A terminal sends its interrupt to the gateway too. The gateway drains once, also if it gets two
// signals.
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])) {
  process.on(signal, () => gateway.kill(signal));
}
gateway.on('exit', (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 128));
});
