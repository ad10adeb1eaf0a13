/**
 * An npm registry on this machine: it stores what is published to it, and fetches all other
 * packages from the registry that npm is configured to use.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.cjs';
import { PNPM, node, output, step } from '../setup.mjs';

/**
 * Verdaccio is not a dependency of this repository, because every installation would then include
 * its 311 packages. One of them depends on node-fetch by a tag, which mirrors of the registry may
 * not have.
 */
const VERDACCIO = { verdaccio: '6.10.4' };
const OVERRIDES =
  'overrides:\n  node-fetch: 2.7.0\nminimumReleaseAge: 1440\nstrictDepBuilds: false\n';

export function installRegistry(dir) {
  step('Installing a registry');
  mkdirSync(dir);
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ dependencies: VERDACCIO }));
  writeFileSync(join(dir, 'pnpm-workspace.yaml'), OVERRIDES);
  output('npx', ['-y', PNPM, 'install', '--prefer-offline'], { cwd: dir });
}

/**
 * @param dir - where it was installed
 * @param published - names of the packages that are published to it, such as `@gateway/*`. It takes
 * them from nowhere else.
 */
export async function startRegistry(dir, published) {
  const port = await freePort();
  const own = { access: '$all', publish: '$authenticated' };
  const config = {
    storage: join(dir, `storage-${port}`),
    auth: { htpasswd: { file: join(dir, `htpasswd-${port}`) } },
    uplinks: { configured: { url: output('npm', ['config', 'get', 'registry']).trim() } },
    packages: {
      ...Object.fromEntries(published.map((names) => [names, own])),
      '**': { access: '$all', proxy: 'configured' },
    },
    log: { type: 'stdout', level: 'error' },
  };
  const file = join(dir, `config-${port}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  const listen = `127.0.0.1:${port}`;
  const program = join(dir, 'node_modules/verdaccio/bin/verdaccio');
  const args = [program, '--config', file, '--listen', listen];
  const verdaccio = spawn(node, args, { stdio: 'ignore' });
  const exited = once(verdaccio, 'exit');
  const stop = () => {
    verdaccio.kill();
    return exited;
  };
  process.once('exit', stop);
  const url = `http://${listen}/`;
  await answering(`${url}-/ping`);
  return { url, token: await addUser(url), stop };
}

export async function answering(url) {
  for (let tries = 0; tries < 300; tries += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(100);
  }
  throw new Error('the registry did not start');
}

async function addUser(url) {
  const response = await fetch(`${url}-/user/org.couchdb.user:dry`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'dry', password: 'a password for nothing' }),
  });
  return (await response.json()).token;
}
