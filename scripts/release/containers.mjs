/**
 * The chart and the image of a release, through a registry on this machine. The image is put
 * together as `deploy/Dockerfile` does it, for this machine's architecture, but without a container
 * engine: `crane` stores it and gets it back, and it runs in a root file system of its own.
 * `npm run check:image` builds the Dockerfile itself.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deployTool } from '../deploy-tools.mjs';
import { freePort } from '../free-port.cjs';
import { PNPM, node, output, step } from '../setup.mjs';
import { chartFolder } from './chart.mjs';
import { answering } from './local-registry.mjs';
import { checkSpecification } from './specification-lines.mjs';

/** Only root may give files to another user, and change the root file system of a process. */
const canRun = process.platform === 'linux' && process.getuid?.() === 0;
const START_MS = 60_000;
/**
 * Programs find /proc and /dev in every container. This shell is outside of the file system, and
 * stays the first process of the namespace, with which all others end.
 */
const START =
  'mkdir -p "$1/proc" "$1/dev" && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && ' +
  'machine=$1 user=$2 && shift 2 && chroot --userspec="$user" "$machine" "$@" || exit 1';

/** @param copy - a repository that was built */
export function buildImage(copy, dir) {
  step('Packing the chart, and an image without a container engine');
  mkdirSync(dir);
  output(deployTool('helm'), ['package', chartFolder(copy), '--destination', dir]);
  const [chart] = readdirSync(dir);
  if (!canRun) return { dir, chart };
  const configured = configOf(readFileSync(join(copy, 'deploy/Dockerfile'), 'utf8'));
  const root = join(dir, 'root');
  output('sh', [join(copy, 'deploy/minimal-root.sh'), root, node]);
  const { name } = JSON.parse(readFileSync(join(copy, 'apps/gateway/package.json'), 'utf8'));
  const deploy = ['--filter', name, 'deploy', '--prod', '--legacy', join(root, 'app')];
  output('npx', ['-y', PNPM, ...deploy], { cwd: copy });
  const data = join(root, 'data');
  mkdirSync(data, { mode: 0o700 });
  const [user, group] = configured.user.split(':').map(Number);
  chownSync(data, user, group);
  const layer = join(dir, 'layer.tar');
  output('tar', ['--sort=name', '--mtime=@0', '--numeric-owner', '-cf', layer, '-C', root, '.']);
  rmSync(root, { recursive: true });
  return { dir, chart, layer, config: configured };
}

/** What the last stage of the Dockerfile sets. */
function configOf(dockerfile) {
  const text = dockerfile.slice(dockerfile.lastIndexOf('\nFROM ')).replaceAll(/\\\n/g, ' ');
  const [, env = ''] = /^ENV (.*)$/m.exec(text) ?? [];
  const [, user = ''] = /^USER (.*)$/m.exec(text) ?? [];
  const list = (name) => JSON.parse(new RegExp(`^${name} (\\[.*)$`, 'm').exec(text)?.[1] ?? '[]');
  return {
    env: env.trim().split(/\s+/),
    user,
    entrypoint: list('ENTRYPOINT'),
    cmd: list('CMD'),
  };
}

/** @param {ReturnType<typeof buildImage>} built */
export async function rehearseContainers({ dir, chart, layer, config }) {
  step('Starting a registry for containers');
  const crane = deployTool('crane');
  const address = `127.0.0.1:${await freePort()}`;
  const registry = spawn(crane, ['registry', 'serve', '--address', address], { stdio: 'ignore' });
  const exited = once(registry, 'exit');
  process.once('exit', () => registry.kill());
  try {
    await answering(`http://${address}/v2/`);
    passChart({ dir, chart, address });
    if (layer === undefined)
      process.stdout.write('  NOT RUN: the image, which needs root on Linux\n');
    else await passImage({ crane, dir, layer, config, address });
  } finally {
    registry.kill();
    await exited;
  }
}

function passChart({ dir, chart, address }) {
  const helm = deployTool('helm');
  const env = { ...process.env, HELM_CACHE_HOME: dir, HELM_CONFIG_HOME: dir };
  const [, name, version] = /^(.+)-(\d.*)\.tgz$/.exec(chart) ?? [];
  output(helm, ['push', join(dir, chart), `oci://${address}/charts`, '--plain-http'], { env });
  const got = join(dir, 'got');
  mkdirSync(got);
  const from = [`oci://${address}/charts/${name}`, '--version', version, '--plain-http'];
  output(helm, ['pull', ...from, '--destination', got], { env });
  const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
  if (digest(join(got, chart)) !== digest(join(dir, chart))) throw new Error('the chart differs');
  const values = ['--set', 'existingSecret=secret', '--kube-version', '1.30.0'];
  const manifests = output(helm, ['template', 'test', join(got, chart), ...values], { env });
  if (!manifests.includes('kind: Deployment')) throw new Error('the chart has no deployment');
  process.stdout.write(`  ${basename(chart)}: pushed, pulled, rendered\n`);
}

async function passImage({ crane, dir, layer, config, address }) {
  const image = `${address}/farthing:dry`;
  output(crane, ['append', '--oci-empty-base', '--new_layer', layer, '--new_tag', image]);
  rmSync(layer);
  const settings = [
    `--user=${config.user}`,
    `--entrypoint=${config.entrypoint.join(',')}`,
    `--cmd=${config.cmd.join(',')}`,
    ...config.env.map((variable) => `--env=${variable}`),
  ];
  output(crane, ['mutate', image, '--tag', image, ...settings]);
  const { config: stored } = JSON.parse(output(crane, ['config', image]));
  const machine = join(dir, 'machine');
  mkdirSync(machine);
  const archive = join(dir, 'exported.tar');
  output(crane, ['export', image, archive]);
  output('tar', ['-xpf', archive, '-C', machine]);
  rmSync(archive);
  const programs = output('find', [machine, '-type', 'f', '-perm', '-100', '-path', '*/bin/*'])
    .split('\n')
    .map((path) => path.slice(machine.length))
    .filter((path) => path !== '' && !path.startsWith('/app/'));
  if (programs.join() !== '/usr/local/bin/node')
    throw new Error(`the image has ${programs.join()}`);
  const ports = { PORT: String(await freePort()), ADMIN_PORT: '0' };
  const variables = Object.fromEntries(stored.Env.map((line) => line.split(/=(.*)/s)));
  const isolation = ['--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', START, 'sh'];
  const command = [...stored.Entrypoint, ...stored.Cmd];
  const container = spawn('unshare', [...isolation, machine, stored.User, ...command], {
    env: { ...variables, ...ports, PATH: `${variables.PATH}:/usr/sbin:/sbin:/bin` },
    stdio: 'pipe',
  });
  const exited = once(container, 'exit');
  let printed = '';
  for (const stream of [container.stdout, container.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (printed += text));
  }
  try {
    const key = await demoKey(() => printed, exited);
    const lines = await checkSpecification(`http://127.0.0.1:${ports.PORT}`, key);
    if (!existsSync(join(machine, 'data/ledger.db'))) throw new Error('no ledger in /data');
    process.stdout.write(
      `  the image, as user ${stored.User}: ${lines} lines of the specification hold\n`,
    );
  } finally {
    container.kill('SIGKILL');
    await exited;
  }
}

async function demoKey(printed, exited) {
  const end = Date.now() + START_MS;
  const failed = exited.then(() => {
    throw new Error(`the image ended: ${printed()}`);
  });
  failed.catch(() => undefined);
  for (;;) {
    const [, key] = /Demo key: +(\S+)[^]*Ledger: /.exec(printed()) ?? [];
    if (key !== undefined) return key;
    if (Date.now() > end) throw new Error(`the image does not serve: ${printed()}`);
    await Promise.race([failed, sleep(100)]);
  }
}
