/** Other gateways from npm. Only the benchmark depends on them; it installs them when it runs. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pnpm, root, step } from '../scripts/setup.mjs';

const PEERS = join(root, 'bench/peers');

export function findPeer(name) {
  const dir = join(PEERS, 'node_modules', name);
  if (!existsSync(dir)) {
    step(`Installing ${name}, to compare with (once)`);
    pnpm('--dir', PEERS, 'install', '--frozen-lockfile', '--ignore-scripts');
  }
  const { version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
  return { dir, version };
}
