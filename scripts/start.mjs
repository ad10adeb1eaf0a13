/** `npm start`: install, build, serve. */

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
// A terminal sends its interrupt to both processes; only a signal sent to this one is handed on.
process.on('SIGTERM', () => gateway.kill('SIGTERM'));
process.on('SIGINT', () => {});
gateway.on('exit', (code, signal) => {
  process.exit(code ?? (signal === null ? 1 : 128));
});
