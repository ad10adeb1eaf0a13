/**
 * `npm start`: install, build, serve.
 *
 * npm hands SIGTERM and SIGINT to the one process it started and waits for it. The script in
 * package.json begins with `exec` so that this is that process, not a shell which dies of the signal
 * and leaves the gateway behind.
 */

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt, ensureInstalled, node, root, step } from './setup.mjs';

ensureInstalled();
ensureBuilt();
step('Starting the gateway');
const main = join(root, 'apps/gateway/dist/main.js');
const gateway = spawn(node, ['--env-file-if-exists=.env', main, 'serve'], {
  cwd: root,
  stdio: 'inherit',
});
// A terminal sends its interrupt to the gateway as well, which drains once however often it is told.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.on(signal, () => gateway.kill(signal));
}
gateway.on('exit', (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 128));
});
