/** Serves the data of the demo on free ports, and opens a browser for its pages. */

import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.cjs';
import { NODE_FLAGS } from '../run-gateway.mjs';
import { NONE } from '../needed-servers.mjs';
import { startServers } from '../servers.mjs';
import { node, root } from '../setup.mjs';

const { chromium } = createRequire(join(root, 'apps/dashboard/package.json'))('playwright-core');

export const ADMIN_TOKEN = 'admin-token-of-the-questions';

/** @param settings - the variables of `writeDemo` */
export async function serveDemo(dataDir, settings) {
  const [port, adminPort] = [await freePort(), await freePort()];
  const main = join(root, 'apps/gateway/dist/main.js');
  const child = spawn(node, [...NODE_FLAGS, main, 'serve'], {
    cwd: dataDir,
    // Each window has an address of its own, because log-ins and reads are limited per address.
    env: {
      ...settings,
      PATH: process.env['PATH'],
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ADMIN_TOKEN,
      TRUST_PROXY: '1',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let hasEnded = false;
  const ended = new Promise((resolve) => {
    child.once('exit', () => {
      hasEnded = true;
      resolve(undefined);
    });
  });
  const [url, adminUrl] = [port, adminPort].map((each) => `http://127.0.0.1:${String(each)}`);
  const answers = () =>
    fetch(`${String(adminUrl)}/health`).then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    if (hasEnded) throw new Error('the gateway did not start');
    await sleep(100);
  }
  return {
    url,
    adminUrl,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

export async function openChromium() {
  const { env } = await startServers({ ...NONE, chromium: true });
  return chromium.launch({
    executablePath: env.TEST_CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking'],
  });
}
