/**
 * Real PostgreSQL and Redis for the tests: the servers of TEST_DATABASE_URL and TEST_REDIS_URL.
 * Without these, servers whose programs are on this machine, or can be installed from the system's
 * packages.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { step } from './setup.mjs';

const isRoot = process.getuid?.() === 0;

/**
 * @returns addresses and environment for the tests, and `stop`, which stops the started servers.
 */
export async function startServers() {
  const needsPostgres = process.env.TEST_DATABASE_URL === undefined;
  const needsRedis = process.env.TEST_REDIS_URL === undefined;
  installServers({ postgres: needsPostgres, redis: needsRedis });
  const postgres = needsPostgres ? await startPostgres() : undefined;
  const redis = needsRedis ? await startRedis() : undefined;
  return {
    env: {
      TEST_DATABASE_URL: postgres?.url ?? process.env.TEST_DATABASE_URL,
      TEST_REDIS_URL: redis?.url ?? process.env.TEST_REDIS_URL,
      PATH: [...new Set([findPostgres(), process.env.PATH])].filter(Boolean).join(delimiter),
    },
    stop() {
      postgres?.stop();
      redis?.stop();
    },
  };
}

/** Installs the missing servers if the system's package manager can be used. */
export function installServers({ postgres, redis }) {
  const packages = [
    ...(postgres && findPostgres() === undefined ? ['postgresql'] : []),
    ...(redis && findOnPath('redis-server') === undefined ? ['redis-server'] : []),
  ];
  if (packages.length === 0) return;
  const prefix = isRoot ? [] : ['sudo', '-n'];
  if (findOnPath('apt-get') === undefined || (!isRoot && !succeeds('sudo', ['-n', 'true']))) {
    throw new Error(
      `the tests need ${packages.join(' and ')}: install them, or name running servers with ` +
        'TEST_DATABASE_URL and TEST_REDIS_URL',
    );
  }
  step(`Installing ${packages.join(' and ')} for the tests`);
  const apt = (...args) => {
    const [command, ...rest] = [
      ...prefix,
      'env',
      'DEBIAN_FRONTEND=noninteractive',
      'apt-get',
      ...args,
    ];
    execFileSync(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] });
  };
  apt('update', '-qq');
  apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
}

/** Starts a server with its files in a new folder. `crash` stops it like a power failure. */
export async function startPostgres(bin = installed('PostgreSQL', findPostgres())) {
  const owner = unprivilegedUser('postgres');
  const dir = ownedDir('gateway-postgres-', owner);
  const data = join(dir, 'data');
  const port = await freePort();
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'], {
    ...owner,
    stdio: 'ignore',
    cwd: dir,
  });
  const options = [
    '-p',
    port,
    '-k',
    dir,
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'max_connections=200',
  ];
  const isReady = () =>
    succeeds(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)]);
  let server;
  folders.add(dir);
  async function start() {
    const args = ['-D', data, ...options.map(String)];
    server = endsWithUs(
      spawn(join(bin, 'postgres'), args, { ...owner, stdio: 'ignore', cwd: dir }),
    );
    await until(isReady, 'PostgreSQL');
  }
  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    crash: () => ended(server, 'SIGQUIT'),
    stop: () => stop(server, 'SIGINT', dir),
  };
}

export async function startRedis(bin = installed('Redis', findOnPath('redis-server'))) {
  const dir = ownedDir('gateway-redis-', {});
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir];
  let server;
  folders.add(dir);
  async function start() {
    server = endsWithUs(spawn(bin, args, { stdio: 'ignore' }));
    await until(() => succeeds('redis-cli', ['-p', String(port), 'ping']), 'Redis');
  }
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    crash: () => ended(server, 'SIGKILL'),
    stop: () => stop(server, 'SIGTERM', dir),
  };
}

const children = new Set();
const folders = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const dir of folders) rmSync(dir, { recursive: true, force: true });
});

/** Ends the child when this process ends, for any reason. */
export function endsWithUs(child) {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

function ended(server, signal) {
  return new Promise((resolve) => {
    server.once('exit', resolve);
    server.kill(signal);
  });
}

function stop(server, signal, dir) {
  server.once('exit', () => {
    folders.delete(dir);
    rmSync(dir, { recursive: true, force: true });
  });
  server.kill(signal);
}

/** @param {string | undefined} path */
function installed(name, path) {
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

/** Finds the folder of `initdb` and `postgres`, which is not always on the path. */
function findPostgres() {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    : [];
  const candidates = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return candidates.find(
    (dir) => existsSync(join(dir, 'initdb')) && existsSync(join(dir, 'postgres')),
  );
}

function findOnPath(name) {
  const dir = (process.env.PATH ?? '')
    .split(delimiter)
    .find((path) => existsSync(join(path, name)));
  return dir === undefined ? undefined : join(dir, name);
}

/**
 * PostgreSQL refuses to run as root.
 *
 * @returns {{ uid?: number, gid?: number }}
 */
function unprivilegedUser(name) {
  if (!isRoot) return {};
  const id = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * @param {string} prefix
 * @param {{ uid?: number, gid?: number }} owner
 */
function ownedDir(prefix, { uid, gid }) {
  const dir = mkdtempSync(join(tmpdir(), prefix));
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid);
  return dir;
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

async function until(isTrue, name) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (isTrue()) return;
    await sleep(100);
  }
  throw new Error(`${name} did not start`);
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}
