/**
 * PostgreSQL for tests: the server of TEST_DATABASE_URL, or a new one in a temporary directory.
 *
 * PostgreSQL refuses to run as root. If the tests run as root, it runs as `postgres` or `nobody`.
 */

import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { QueryResultRow } from 'pg';
import { freePort } from '../../../scripts/free-port.cjs';

export interface PostgresServer {
  /** Creates an empty database and returns its connection string. */
  createDatabase(): Promise<string>;
  stop(): Promise<void>;
}

/** A server that was started for the tests, so they may restart it. */
export interface OwnPostgresServer extends PostgresServer {
  /** Of its database `postgres`, for a superuser. */
  url(): string;
  /** Stops without a checkpoint, like a power cut, and starts again. */
  restartImmediately(): Promise<void>;
  /** Stops in the same way and stays down. */
  stopImmediately(): Promise<void>;
  start(): Promise<void>;
  /** Copies the database in its present state, like a backup. Ends all sessions of the original. */
  copyDatabase(connectionString: string): Promise<string>;
  /** Makes a database read-only or writable. Ends its sessions, which would keep the old mode. */
  setReadOnly(connectionString: string, value: 'on' | 'off'): Promise<void>;
  /** Freezes and unfreezes the server and all its sessions. */
  freeze(signal: 'SIGSTOP' | 'SIGCONT'): void;
}

/**
 * Without fsync, only a crash of the whole machine loses a commit. No test causes that. Autovacuum
 * would visit databases that live for seconds.
 */
const SETTINGS = ['-c', 'max_connections=200', '-c', 'fsync=off', '-c', 'autovacuum=off'];

/** A server of its own starts with its first database: tests of the other ledger need none. */
export function usePostgresServer(): Promise<PostgresServer> {
  const url = process.env['TEST_DATABASE_URL'];
  let started: Promise<OwnPostgresServer> | undefined;
  return Promise.resolve({
    async createDatabase() {
      if (url !== undefined && url !== '') return createDatabase(url);
      started ??= startPostgresServer();
      return (await started).createDatabase();
    },
    stop: async () => (await started)?.stop(),
  });
}

/**
 * @param parent - the folder in which it has its own
 * @param primary - the address of a server of which this one is a standby; none when absent
 */
export async function startPostgresServer(
  parent = tmpdir(),
  primary?: string,
): Promise<OwnPostgresServer> {
  const bin = programsDirectory();
  const directory = mkdtempSync(join(parent, 'balance-store-pg-'));
  const data = join(directory, 'data');
  const account = serverAccount();
  if (account !== undefined) {
    chownSync(directory, account.uid, account.gid);
    chmodSync(directory, 0o755);
  }
  const run = (program: string, args: readonly string[]) =>
    execFileSync(join(bin, program), args, { ...account, cwd: directory, stdio: 'pipe' });

  if (primary === undefined) {
    run('initdb', ['-D', data, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--no-sync']);
  } else run('pg_basebackup', ['-D', data, '-R', '-c', 'fast', '--no-sync', '-d', primary]);
  const port = await freePort();
  const start = async () => {
    const args = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory];
    const server = spawn(join(bin, 'postgres'), [...args, ...SETTINGS], {
      ...account,
      cwd: directory,
      stdio: 'ignore',
    });
    server.unref();
    const url = `postgres://postgres@127.0.0.1:${String(port)}/postgres`;
    await waitUntilReady(url);
    return { server, url };
  };
  let { server, url } = await start();
  const stopped = () =>
    new Promise<void>((resolve) => {
      server.ref();
      if (server.exitCode !== null || server.signalCode !== null) resolve();
      else
        server.once('exit', () => {
          resolve();
        });
    });

  const own: OwnPostgresServer = {
    url: () => url,
    createDatabase: () => createDatabase(url),
    async stop() {
      await own.stopImmediately();
      rmSync(directory, { recursive: true, force: true });
    },
    async stopImmediately() {
      server.kill('SIGQUIT');
      await stopped();
    },
    async start() {
      ({ server, url } = await start());
    },
    async restartImmediately() {
      await own.stopImmediately();
      await own.start();
    },
    async copyDatabase(connectionString) {
      const original = new URL(connectionString).pathname.slice(1);
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
        [original],
      );
      await client.query(`CREATE DATABASE ${original}_copy TEMPLATE ${original}`);
      await client.end();
      return `${connectionString}_copy`;
    },
    async setReadOnly(connectionString, value) {
      const name = new URL(connectionString).pathname.slice(1);
      await querySql(url, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
      await querySql(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
      );
    },
    freeze(signal) {
      for (const pid of [...childrenOf(server.pid!), server.pid!]) signalIfAlive(pid, signal);
    },
  };
  return own;
}

/** Runs SQL on a connection of its own, without the code under test. */
export async function querySql<Row extends QueryResultRow = Record<string, unknown>>(
  connectionString: string,
  sql: string,
  values: readonly string[] = [],
): Promise<readonly Row[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql, [...values])).rows;
  } finally {
    await client.end();
  }
}

/**
 * Waits until no other session uses the database. A session ends some time after its client has
 * closed it. It publishes its last statistics when it ends.
 */
export async function untilSessionsEnded(connectionString: string): Promise<void> {
  const others = () =>
    querySql(
      connectionString,
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  while ((await others()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function createDatabase(serverUrl: string): Promise<string> {
  const name = `balance_store_${randomBytes(6).toString('hex')}`;
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The processes that a process has started. A minimal Linux has no `ps`, but `/proc`. */
function childrenOf(parent: number): readonly number[] {
  if (process.platform !== 'linux') {
    const listed = execFileSync('ps', ['-o', 'pid=', '--ppid', String(parent)], {
      encoding: 'utf8',
    });
    return listed.trim().split(/\s+/).map(Number);
  }
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return ids.map(Number).filter((id) => parentOf(id) === parent);
}

/** @returns `undefined` for a process that has ended meanwhile */
function parentOf(id: number): number | undefined {
  try {
    // `pid (name) state ppid …`; the name may contain spaces and parentheses.
    const state = readFileSync(`/proc/${String(id)}/stat`, 'utf8');
    return Number(state.slice(state.lastIndexOf(')')).split(' ')[2]);
  } catch {
    return undefined;
  }
}

/** A session may have ended since the list of processes was read. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function programsDirectory(): string {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort() : [];
  for (const version of versions.reverse()) {
    const bin = join(root, version, 'bin');
    if (existsSync(join(bin, 'postgres'))) return bin;
  }
  for (const bin of (process.env['PATH'] ?? '').split(':')) {
    if (existsSync(join(bin, 'postgres')) && existsSync(join(bin, 'initdb'))) return bin;
  }
  throw new Error(
    "PostgreSQL's server programs were not found: install them. Most tests can use TEST_DATABASE_URL " +
      'instead, a server where databases may be created. Some start a server of their own.',
  );
}

function serverAccount(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const user of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) =>
        Number(execFileSync('id', [flag, user], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {
      // The account does not exist: try the next one.
    }
  }
  throw new Error('PostgreSQL refuses to run as root, and there is no user "postgres" or "nobody"');
}

async function waitUntilReady(url: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
