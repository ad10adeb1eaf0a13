/**
 * Runs the image as a stranger does, and asks it lines of the specification. Needs Docker.
 *
 *   node fetch-image.mjs <image>
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { checkSpecification } from './specification-lines.mjs';

const RESTRICTED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'];
const HEALTHY_MS = 60_000;
/** What an intruder would use. */
const ABSENT = ['sh', 'bash', 'busybox', 'npm', 'apt', 'dpkg'];

const docker = (...args) => execFileSync('docker', args, { encoding: 'utf8' }).trim();

/** Without a credential of an upstream, the simulator answers. */
export async function checkImage(image) {
  const id = docker('run', '--detach', ...RESTRICTED, '--publish', '127.0.0.1::8080', image);
  try {
    await waitUntilHealthy(id);
    const user = docker('inspect', '--format', '{{.Config.User}}', id);
    if (!/^[1-9]\d*:[1-9]\d*$/.test(user)) throw new Error(`the image runs as ${user}`);
    const [address] = docker('port', id, '8080/tcp').split('\n');
    const [, key] = /Demo key: +(\S+)/.exec(docker('logs', id)) ?? [];
    const lines = await checkSpecification(`http://${address}`, key);
    docker('stop', '-t', '130', id);
    const code = docker('inspect', '--format', '{{.State.ExitCode}}', id);
    if (code !== '0') throw new Error(`SIGTERM ended the gateway with ${code}`);
    for (const program of ABSENT) {
      const { status } = spawnSync('docker', [
        'run',
        '--rm',
        '--entrypoint',
        program,
        image,
        '-c',
        ':',
      ]);
      // Docker's status for a program that cannot be found.
      if (status !== 127)
        throw new Error(`the image has ${program}, or docker ended with ${status}`);
    }
    return lines;
  } catch (error) {
    process.stderr.write(`${docker('logs', id)}\n`);
    throw error;
  } finally {
    docker('rm', '--force', '--volumes', id);
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [image] = process.argv.slice(2);
  const lines = await checkImage(image);
  process.stdout.write(`  ${image}: serves, and ${lines} lines of the specification hold\n`);
}
