/** Runs the built gateway on the project's own Node, with the variables of `.env` if it exists. */

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { node, root } from './setup.mjs';

const MAIN = join(root, 'apps/gateway/dist/main.js');
/**
 * Flags for the gateway's Node process; the image and the systemd unit have them too. The young
 * generation of V8's heap would otherwise grow to 128 MB under full load.
 */
export const NODE_FLAGS = ['--max-semi-space-size=16'];

/** A clone keeps its ledger to itself; what is installed has one for each user. */
const CLONE_DATA_DIR = './.data';

/** Forwards signals to the gateway, and exits as it does. */
export function runGateway(args) {
  const file = join(root, '.env');
  const variables = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
  // With `--env-file-if-exists`, Node prints a line if the file is missing.
  const environment = existsSync(file) ? ['--env-file=.env'] : [];
  // As for Node, a variable of the environment takes precedence over the file. An empty one counts
  // as absent.
  const DATA_DIR = (process.env.DATA_DIR ?? variables.DATA_DIR) || CLONE_DATA_DIR;
  const gateway = spawn(node, [...NODE_FLAGS, ...environment, MAIN, ...args], {
    cwd: root,
    env: { ...process.env, DATA_DIR },
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
