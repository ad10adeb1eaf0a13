#!/usr/bin/env node
/** The command's former name, `gateway`: says so, and runs the command. Remove it after 0.1. */

import cluster from 'node:cluster';

// Each worker runs this file again.
if (cluster.isPrimary) {
  process.stderr.write(
    'gateway: this command is now called farthing; the name gateway ends with the next release\n',
  );
}
await import('./main.js');
