/**
 * `npm start`: installs, builds and serves.
 *
 * npm passes SIGTERM and SIGINT to the process that it started, and waits for that process. The
 * script in package.json begins with `exec`, so that this process receives the signals. Without
 * `exec`, a signal would end the shell and leave the gateway running.
 */

import { runGateway } from './run-gateway.mjs';
import { ensureBuilt, ensureInstalled, step } from './setup.mjs';

ensureInstalled();
ensureBuilt();
step('Starting Farthing');
runGateway(['serve']);
