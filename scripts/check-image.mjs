/**
 * `npm run check:image`: builds the image and runs it, alone and by `deploy/compose.yaml`. Needs
 * Docker with Compose; the release workflow has it.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkImage } from './release/fetch-image.mjs';
import { output, root } from './setup.mjs';

const IMAGE = 'farthing';
const ENV_FILE = join(root, 'deploy/farthing.env');
/** A project of its own, so that a gateway of this machine keeps its volume. */
const COMPOSE = [
  'compose',
  '--project-name',
  'farthing-check',
  '--env-file',
  ENV_FILE,
  '--file',
  join(root, 'deploy/compose.yaml'),
];

const docker = (...args) => output('docker', args).trim();

docker('build', '--file', join(root, 'deploy/Dockerfile'), '--tag', IMAGE, root);
await checkImage(IMAGE);
say('the image answers lines of the specification, is healthy, and stops on SIGTERM');
await checkCompose();

/** The console is reachable from this machine, and commands run beside the gateway. */
async function checkCompose() {
  // Fails if the file exists, because it is somebody's.
  const settings = 'UPSTREAM_API_KEY=none\nUPSTREAM_URL=http://127.0.0.1:9\n';
  writeFileSync(ENV_FILE, settings, { flag: 'wx', mode: 0o600 });
  try {
    docker(...COMPOSE, 'up', '--detach', '--wait', '--wait-timeout', '120');
    const gateway = (...args) =>
      JSON.parse(
        docker(...COMPOSE, 'exec', '-T', 'gateway', 'node', '/app/dist/main.js', ...args, '--json'),
      );
    const { api_key: key } = gateway('keys', 'create', '--name', 'alice', '--balance', '20');
    const headers = { authorization: `Bearer ${key}` };
    const balance = await call('http://127.0.0.1:8080/v1/dashboard/balance', headers);
    if (balance.balance_usd !== 20) throw new Error(`the balance is ${JSON.stringify(balance)}`);
    const link = new URL(gateway('console-link').url);
    const page = await fetch(link);
    if (!page.ok) throw new Error(`${link.origin}${link.pathname}: status ${page.status}`);
    const code = link.hash.replace('#link=', '');
    const session = await call(`${link.origin}/console/link`, {}, { code });
    if (session.right !== 'all') throw new Error(`no session: ${JSON.stringify(session)}`);
    say('compose.yaml starts a gateway with a console on this machine');
  } catch (error) {
    process.stderr.write(`${docker(...COMPOSE, 'logs')}\n`);
    throw error;
  } finally {
    docker(...COMPOSE, 'down', '--volumes');
    rmSync(ENV_FILE);
  }
}

async function call(url, headers, body) {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return response.json();
}

function say(text) {
  process.stdout.write(`ok    ${text}\n`);
}
