/** Runs the built gateway on the project's own Node, with the variables of `.env` if it exists. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { node, root } from './setup.mjs';

const MAIN = join(root, 'apps/gateway/dist/main.js');
/**
 * Flags for the gateway's Node process; the image and the systemd unit have them too. The young
 * generation of V8's heap would otherwise grow to 128 MB under full load.
 */
export const NODE_FLAGS = ['--max-semi-space-size=16'];

/** Forwards signals to the gateway, and exits as it does. */
export function runGateway(args) {
  // With `--env-file-if-exists`, Node prints a line if the file is missing.
  const environment = existsSync(join(root, '.env')) ? ['--env-file=.env'] : [];
  const gateway = spawn(node, [...NODE_FLAGS, ...environment, MAIN, ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  // A terminal sends its interrupt to the gateway too, which then gets the signal twice. The
  // gateway drains only once.
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP'])) {
    process.on(signal, () => gateway.kill(signal));
  }
  gateway.on('exit', (code, signal) => {
    process.exit(code ?? (signal === null ? 1 : 128));
  });
}
