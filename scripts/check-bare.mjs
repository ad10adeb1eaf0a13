/**
 * `npm run check:bare`: `npm start` and `npm test` as a newcomer runs them, on the lowest Node that
 * `engines` names: in a new root file system with nothing but Node and npm added, as a user without
 * rights, with an empty home, in a path with spaces, and with `LANG=C`. The tests are one of each
 * server and one of the pages; they leave nothing outside of the folder but caches of npm and pnpm.
 * Then `npm start` once more, on an installation that is broken as pnpm broke it before it knew the
 * project's Node.
 *
 * Needs root on Linux, and `debootstrap`, which is installed if it is missing.
 */

import { spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVES, ask } from './ask.mjs';
import { freePort } from './free-port.cjs';
import { debianProgram } from './deploy-tools.mjs';
import { output, root, step } from './setup.mjs';

/** With the npm that it brings. */
const LOWEST = { node: '20.12.0', npm: '10.5.0' };
const USER = 1234;
const PLACE = '/home/newcomer/my projects/a gateway';
/** What is in a home after it: the caches of npm and pnpm, and the folder with the repository. */
const CACHES = ['.npm', '.cache', '.local', 'my projects'];
const TESTS = [
  'packages/balance-store/test/both/tables.test.ts',
  'packages/rate-limiter/test/redis/redis-cluster.test.ts',
  'apps/dashboard/test/console/settings.test.ts',
];
const START_MS = 15 * 60_000;
/** Where they are set, this machine needs them to reach a registry. */
const PASSED_ON = ['npm_config_registry', 'HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'];
const CA_FILE = '/etc/ssl/ca-of-the-machine.pem';

/** Programs find /proc and /dev on every machine. */
const START =
  'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && user=$2 place=$3 && ' +
  // This shell stays the first process of the namespace, with which all others end.
  'bare=$1 && shift 3 && chroot --userspec="$user:$user" "$bare" ' +
  '/usr/bin/env -i "$@" sh -c \'cd "$0" && exec npm $ARGUMENTS\' "$place" || exit 1';

if (process.platform !== 'linux' || process.getuid?.() !== 0) {
  process.stderr.write('check:bare makes a root file system, so it needs root on Linux\n');
  process.exit(1);
}
const bare = mkdtempSync(join(tmpdir(), 'bare-machine-'));
try {
  makeMachine();
  copyRepository();
  step('npm start, on a machine that has only Node and npm');
  await startAndAsk();
  step('npm test, with a server of each kind and a browser');
  await testWithServers();
  breakInstallation();
  step('npm start, on an installation without the native part of a tool');
  await startAndAsk();
  process.stdout.write(
    '\nnpm start serves on a bare machine, also after a broken installation, and npm test passes\n',
  );
} finally {
  rmSync(bare, { recursive: true, force: true });
}

function makeMachine() {
  step('Making a root file system');
  chmodSync(bare, 0o755);
  output(debianProgram('debootstrap'), ['--variant=minbase', hostRelease(), bare]);
  const architecture = `${process.platform}-${process.arch}`;
  const local = join(bare, 'usr/local');
  unpack(`node-${architecture}@${LOWEST.node}`, join(bare, 'node'));
  cpSync(join(bare, 'node/bin/node'), join(local, 'bin/node'));
  unpack(`npm@${LOWEST.npm}`, join(local, 'lib/npm'));
  for (const name of ['npm', 'npx']) {
    output('ln', ['-s', `../lib/npm/bin/${name}-cli.js`, join(local, 'bin', name)]);
  }
  const { NODE_EXTRA_CA_CERTS: ca } = process.env;
  if (ca !== undefined) cpSync(ca, join(bare, CA_FILE));
  appendFileSync(join(bare, 'etc/passwd'), `newcomer:x:${USER}:${USER}::/home/newcomer:/bin/sh\n`);
  cpSync('/etc/resolv.conf', join(bare, 'etc/resolv.conf'), { dereference: true });
  cpSync('/etc/hosts', join(bare, 'etc/hosts'), { dereference: true });
}

function hostRelease() {
  const release = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'));
  if (release === null) throw new Error('/etc/os-release names no release of Debian or Ubuntu');
  return release[1];
}

function unpack(spec, directory) {
  mkdirSync(directory, { recursive: true });
  const [name] = output('npm', ['pack', '--silent', spec], { cwd: directory }).trim().split('\n');
  output('tar', ['-xzf', name, '--strip-components=1'], { cwd: directory });
  unlinkSync(join(directory, name));
}

/** The files as they are here, also changed ones, but nothing that Git ignores. */
function copyRepository() {
  const place = join(bare, PLACE);
  const listed = output('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  for (const file of listed.split('\0').filter((name) => name !== '')) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(place, file));
  }
  output('chown', ['-R', `${USER}:${USER}`, join(bare, 'home/newcomer')]);
}

/** Rolldown builds the pages. Earlier versions wrote their stamp without a look at it. */
function breakInstallation() {
  const store = join(bare, PLACE, 'node_modules/.pnpm');
  const part = readdirSync(store).find((name) => name.startsWith('@rolldown+binding-linux'));
  if (part === undefined) throw new Error(`${store} has no native part of rolldown`);
  rmSync(join(store, part), { recursive: true });
  rmSync(join(bare, PLACE, 'node_modules/.installed'));
  rmSync(join(bare, PLACE, 'node_modules/.built'));
}

async function startAndAsk() {
  const [port, adminPort] = [await freePort(), await freePort()];
  const started = Date.now();
  const machine = runInside('start', { PORT: String(port), ADMIN_PORT: String(adminPort) });
  try {
    await machine.said(SERVES);
    const seconds = Math.round((Date.now() - started) / 1_000);
    await ask(port, machine.output());
    process.stdout.write(`\nserved, and answered a message, after ${String(seconds)} s\n`);
  } finally {
    await machine.stop();
  }
}

async function testWithServers() {
  const machine = runInside(`test -- ${TESTS.join(' ')}`, {});
  await machine.ended();
  if (!/^[1-9]\d* passed, 0 failed$/m.test(machine.output())) throw new Error('npm test failed');
  const home = readdirSync(join(bare, 'home/newcomer'));
  const left = [
    ...home.filter((name) => !CACHES.includes(name)),
    // pnpm's locks.
    ...readdirSync(join(bare, 'tmp')).filter((name) => !name.startsWith('pnpm-')),
  ];
  if (left.length > 0) throw new Error(`npm test left ${left.join(', ')} outside of its folder`);
}

/**
 * Runs npm in the root file system, in namespaces of its own: all its processes and mounts end with
 * it.
 */
function runInside(args, variables) {
  const passed = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [`${name}=${value}`];
  });
  const ca =
    process.env.NODE_EXTRA_CA_CERTS === undefined ? [] : [`NODE_EXTRA_CA_CERTS=${CA_FILE}`];
  const environment = [
    'LANG=C',
    'HOME=/home/newcomer',
    'PATH=/usr/local/bin:/usr/bin:/bin',
    `ARGUMENTS=${args}`,
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    ...passed,
    ...ca,
  ];
  const isolation = ['--mount', '--pid', '--fork', '--kill-child'];
  const start = ['sh', '-c', START, 'sh', bare, String(USER), PLACE];
  const child = spawn('unshare', [...isolation, ...start, ...environment], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const exited = new Promise((resolve) => child.once('exit', resolve));
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      process.stdout.write(chunk);
    });
  }
  return {
    output: () => text,
    ended: () => exited,
    async said(pattern) {
      const deadline = Date.now() + START_MS;
      const ended = exited.then((code) => {
        throw new Error(`npm start ended with ${String(code)}`);
      });
      ended.catch(() => undefined);
      while (!pattern.test(text)) {
        if (Date.now() > deadline) throw new Error('npm start does not serve');
        await Promise.race([ended, sleep(200)]);
      }
    },
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
