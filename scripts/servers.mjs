/**
 * Real PostgreSQL, Redis and Chromium for the tests. Uses the servers at TEST_DATABASE_URL and
 * TEST_REDIS_URL, and the program TEST_CHROMIUM. Without these variables, it starts new servers and
 * uses the machine's Chromium. What the machine lacks is unpacked by `packaged-programs.mjs`.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port.cjs';
import { ALL } from './needed-servers.mjs';
import {
  packagedChromium,
  packagedPgbouncer,
  packagedPostgres,
  packagedRedis,
  packagedSeccomp,
} from './packaged-programs.mjs';

const isRoot = process.getuid?.() === 0;

/**
 * @param {import('./needed-servers.mjs').Needs} [needs] - what to install and start, by default
 *   everything
 * @returns addresses and environment for the tests, and `stop`, which stops the started servers.
 */
export async function startServers(needs = ALL) {
  const { TEST_DATABASE_URL, TEST_REDIS_URL, PATH } = process.env;
  const redisProgram = needs.redis && TEST_REDIS_URL === undefined ? findRedis() : undefined;
  const chromium = needs.chromium ? findChromium() : undefined;
  const seccomp = needs.seccomp ? findSeccomp() : undefined;
  const programs = needs.postgres ? findPostgres() : undefined;
  const startsPostgres = programs !== undefined && TEST_DATABASE_URL === undefined;
  // Autovacuum would visit hundreds of databases that live for seconds, again and again.
  const settings = ['autovacuum=off'];
  const postgres = startsPostgres ? await startPostgres(programs, tmpdir(), settings) : undefined;
  const redis = redisProgram === undefined ? undefined : await startRedis(redisProgram);
  const isOnPath = findOnPath('redis-server') !== undefined;
  const paths = [programs, redisProgram && !isOnPath ? dirname(redisProgram) : undefined, PATH];
  const found = {
    TEST_DATABASE_URL: postgres?.url,
    TEST_REDIS_URL: redis?.url,
    TEST_CHROMIUM: chromium,
    TEST_SECCOMP: seccomp,
    PATH: paths.filter((path) => path !== undefined).join(delimiter),
  };
  return {
    env: Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)),
    stop() {
      postgres?.stop();
      redis?.stop();
    },
  };
}

/** @returns Redis's server program, on this machine or from a package */
export function findRedis() {
  const program = findOnPath('redis-server') ?? packagedRedis();
  return program ?? missing('Redis', ', or name a running server with TEST_REDIS_URL');
}

/** @returns PgBouncer's program, on this machine or from a package, or undefined without either */
export function findPgbouncer() {
  const debian = '/usr/sbin/pgbouncer';
  return existsSync(debian) ? debian : (findOnPath('pgbouncer') ?? packagedPgbouncer());
}

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC_BROWSER = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

/**
 * Chromium without the browser's windows is preferred. A page costs a quarter of the CPU time that
 * it costs in Chromium, which starts more processes for each window, even a hidden one.
 *
 * @returns the program of TEST_CHROMIUM, of this machine or from a package
 */
function findChromium() {
  const { TEST_CHROMIUM } = process.env;
  const small = TEST_CHROMIUM ?? findOnPath('chromium-headless-shell') ?? packagedChromium();
  const browser = small ?? BROWSERS.map(findOnPath).find((path) => path !== undefined);
  if (browser !== undefined) return browser;
  if (existsSync(MAC_BROWSER)) return MAC_BROWSER;
  return missing('Chromium', ', or name its program with TEST_CHROMIUM');
}

/**
 * What tests need that run the gateway under the system-call filter of its systemd unit. Only root
 * can run them.
 *
 * @returns a Python with libseccomp's module, in a folder with `systemd-analyze`, or undefined
 */
function findSeccomp() {
  if (process.platform !== 'linux' || !isRoot) return undefined;
  const python = '/usr/bin/python3';
  const isOnMachine =
    existsSync('/usr/bin/systemd-analyze') && succeeds(python, ['-c', 'import seccomp']);
  return isOnMachine ? python : packagedSeccomp();
}

/**
 * Starts a server with its files in a new folder. `crash` stops the server at once, without a clean
 * shutdown.
 *
 * @param {string} [bin] - the folder of PostgreSQL's programs
 * @param {string} [parent] - where the new folder is made
 * @param {readonly string[]} [settings]
 */
export async function startPostgres(bin = findPostgres(), parent = tmpdir(), settings = []) {
  const owner = unprivilegedUser();
  const dir = ownedDir('gateway-postgres-', owner, parent);
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
    // Commits then need not wait for the disk. Only a crash of the whole machine could lose them.
    '-c',
    'fsync=off',
    ...settings.flatMap((setting) => ['-c', setting]),
  ];
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server;
  folders.add(dir);
  async function start() {
    const args = ['-D', data, ...options.map(String)];
    server = endsWithUs(
      spawn(join(bin, 'postgres'), args, { ...owner, stdio: 'ignore', cwd: dir }),
    );
    await until(() => acceptsSessions(url), 'PostgreSQL');
  }
  await start();
  return {
    url,
    start,
    /** Starts it again if it ended by itself, as a supervisor would. */
    async ensureStarted() {
      if (server.exitCode !== null) await start();
      else await until(() => acceptsSessions(url), 'PostgreSQL');
    },
    crash: () => ended(server, 'SIGQUIT'),
    stop: () => stop(server, 'SIGINT', dir),
  };
}

/**
 * Starts a pooler in session mode between the gateway and a database.
 *
 * @param {string} target - the address of the database
 */
export async function startPgbouncer(target) {
  const bin = findPgbouncer() ?? missing('PgBouncer', '');
  const owner = unprivilegedUser();
  const dir = ownedDir('gateway-pgbouncer-', owner);
  const port = await freePort();
  const { hostname, port: targetPort, username, pathname } = new URL(target);
  const file = join(dir, 'pgbouncer.ini');
  const database = pathname.slice(1);
  writeFileSync(
    file,
    `[databases]
${database} = host=${hostname} port=${targetPort} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 150
`,
  );
  const url = `postgres://${username}@127.0.0.1:${port}/${database}`;
  let server;
  folders.add(dir);
  async function start() {
    server = endsWithUs(spawn(bin, [file], { ...owner, stdio: 'ignore', cwd: dir }));
    await until(() => acceptsSessions(url), 'PgBouncer');
  }
  await start();
  return {
    url,
    start,
    /** @param {NodeJS.Signals} signal */
    signal: (signal) => server.kill(signal),
    crash: () => ended(server, 'SIGKILL'),
    stop: () => stop(server, 'SIGKILL', dir),
  };
}

export async function startRedis(bin = findRedis()) {
  const dir = ownedDir('gateway-redis-', {});
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', dir];
  let server;
  folders.add(dir);
  async function start() {
    server = endsWithUs(spawn(bin, args, { stdio: 'ignore' }));
    await until(() => acceptsConnections(port), 'Redis');
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

/** Kills the child when this process exits, but not if a signal ends this process. */
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

/** @returns the folder of `initdb` and `postgres`, which is not always on the path */
function findPostgres() {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian)
    ? readdirSync(debian).sort((a, b) => Number(b) - Number(a))
    : [];
  const candidates = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const found = candidates.find((dir) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(dir, name))),
  );
  const bin = found ?? packagedPostgres();
  return bin ?? missing('PostgreSQL', ', or name a running server with TEST_DATABASE_URL');
}

/** @returns {never} */
function missing(name, otherwise) {
  throw new Error(`the tests need ${name}, which this machine lacks: install it${otherwise}`);
}

function findOnPath(name) {
  const dir = (process.env.PATH ?? '')
    .split(delimiter)
    .find((path) => existsSync(join(path, name)));
  return dir === undefined ? undefined : join(dir, name);
}

/**
 * The account for PostgreSQL, which refuses to run as root.
 *
 * @returns {{ uid?: number, gid?: number }}
 */
function unprivilegedUser() {
  if (!isRoot) return {};
  const name = succeeds('id', ['postgres']) ? 'postgres' : 'nobody';
  const id = (flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * @param {string} prefix
 * @param {{ uid?: number, gid?: number }} owner
 */
function ownedDir(prefix, { uid, gid }, parent = tmpdir()) {
  const dir = mkdtempSync(join(parent, prefix));
  if (uid !== undefined && gid !== undefined) chownSync(dir, uid, gid);
  return dir;
}

function succeeds(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

async function acceptsSessions(connectionString) {
  // Loaded here, because this file is also loaded before anything is installed.
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function acceptsConnections(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function until(isTrue, name) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (await isTrue()) return;
    await sleep(100);
  }
  throw new Error(`${name} did not start`);
}
