/**
 * `npm run check:image`: builds the image and runs it, alone and by `deploy/compose.yaml`. Needs
 * Docker with Compose; the release workflow has it.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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
const RESTRICTED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'];
const HEALTHY_MS = 60_000;

const docker = (...args) => output('docker', args).trim();

docker('build', '--file', join(root, 'deploy/Dockerfile'), '--tag', IMAGE, root);
await checkAlone();
await checkCompose();

/** Without a credential of an upstream, the simulator answers a message. */
async function checkAlone() {
  const id = docker('run', '--detach', ...RESTRICTED, '--publish', '127.0.0.1::8080', IMAGE);
  try {
    await waitUntilHealthy(id);
    const user = docker('exec', id, 'id', '-u');
    if (user === '0') throw new Error('the gateway runs as root');
    const [address] = docker('port', id, '8080/tcp').split('\n');
    const message = await call(
      `http://${address}/v1/messages`,
      {
        'x-api-key': docker('exec', id, 'cat', '/data/demo-key'),
        'anthropic-version': '2023-06-01',
      },
      {
        model: 'claude-opus-5',
        max_tokens: 100,
        messages: [{ role: 'user', content: 'Hello' }],
      },
    );
    if (message.type !== 'message') throw new Error(`no message: ${JSON.stringify(message)}`);
    docker('stop', '-t', '130', id);
    const code = docker('inspect', '--format', '{{.State.ExitCode}}', id);
    if (code !== '0') throw new Error(`SIGTERM ended the gateway with ${code}`);
    say('the image answers a message, is healthy, and stops on SIGTERM');
  } catch (error) {
    process.stderr.write(`${docker('logs', id)}\n`);
    throw error;
  } finally {
    docker('rm', '--force', '--volumes', id);
  }
}

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

async function waitUntilHealthy(id) {
  const end = Date.now() + HEALTHY_MS;
  for (;;) {
    const state = docker('inspect', '--format', '{{.State.Health.Status}}', id);
    if (state === 'healthy') return;
    if (Date.now() > end) throw new Error(`the container is ${state}`);
    await sleep(500);
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
