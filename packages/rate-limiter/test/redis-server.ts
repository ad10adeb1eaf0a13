/**
 * A real Redis for tests: the one named by TEST_REDIS_URL, or one that is started for the duration
 * of the suite.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { freePort } from '../../../scripts/free-port.cjs';

type Address = { readonly path: string } | { readonly host: string; readonly port: number };

interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

export interface RedisServer {
  /** Where it listens, for proxies. */
  readonly address: Address;
  readonly connect: (options?: RedisOptions) => Redis;
  /** Like `connect`, but through a proxy on this local port. */
  readonly connectThrough: (port: number, options?: RedisOptions) => Redis;
  /**
   * Blocks this process until the server has answered a new connection. By then it has also
   * answered all earlier calls.
   */
  readonly pingSync: () => void;
  /** Disconnects every client made here, and ends the server if it was started here. */
  readonly stop: () => Promise<void>;
}

/**
 * @throws when there is neither TEST_REDIS_URL nor a `redis-server` on the PATH, or when the server
 * does not answer.
 */
export async function startRedisServer(): Promise<RedisServer> {
  const url = process.env['TEST_REDIS_URL'];
  const { address, credentials, mayStillStart, end } =
    url === undefined || url === '' ? await startOwn() : existing(new URL(url));
  const clients: Redis[] = [];

  function open(options: RedisOptions): Redis {
    const client = new Redis({ ...credentials, ...options, replyMapping: 'legacy' });
    // Ignored, because tests cut connections on purpose and assert the outcome.
    client.on('error', () => {});
    clients.push(client);
    return client;
  }

  const connect = (options: RedisOptions = {}): Redis => open({ ...address, ...options });

  async function stop(): Promise<void> {
    for (const client of clients) client.disconnect();
    await end();
  }

  try {
    await connect({ retryStrategy: (attempt) => (mayStillStart(attempt) ? 20 : null) }).ping();
  } catch (error) {
    await stop();
    throw new Error('the Redis server for tests does not answer', { cause: error });
  }
  return {
    address,
    connect,
    connectThrough: (port, options = {}) => open({ host: '127.0.0.1', port, ...options }),
    pingSync() {
      // Any answer will do, even one that asks for a password.
      const ping =
        `const socket = require('node:net').connect(${JSON.stringify(address)});` +
        "socket.write('PING\\r\\n'); socket.once('data', () => socket.destroy());";
      execFileSync(process.execPath, ['-e', ping]);
    },
    stop,
  };
}

interface Endpoint {
  readonly address: Address;
  readonly credentials: Credentials;
  /** Whether to try again after this many attempts to connect. */
  readonly mayStillStart: (attempt: number) => boolean;
  readonly end: () => Promise<void>;
}

function existing({ hostname, port, username, password }: URL): Endpoint {
  return {
    address: { host: hostname, port: Number(port === '' ? '6379' : port) },
    credentials: {
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    },
    mayStillStart: (attempt) => attempt < 100,
    end: async () => {},
  };
}

async function startOwn(): Promise<Endpoint> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-redis-'));
  const path = join(directory, 'redis.sock');
  const child = spawn(
    'redis-server',
    ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', directory],
    { stdio: 'ignore' },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw new Error(
      'these tests need a real Redis: set TEST_REDIS_URL, or put redis-server on the PATH',
      { cause: error },
    );
  }
  return {
    address: { path },
    credentials: {},
    mayStillStart: () => child.exitCode === null,
    async end() {
      child.kill('SIGKILL');
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface RedisCluster {
  /** The URLs of all nodes. */
  readonly urls: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Starts two servers that share the slots of a cluster. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-redis-cluster-'));
  const ports = [await freePort(), await freePort()];
  const children = ports.map((port) => {
    const options = {
      port,
      'cluster-enabled': 'yes',
      // A node that is late on a busy machine must not count as failed.
      'cluster-node-timeout': 3_600_000,
      save: '',
    };
    const args = Object.entries({ ...options, 'cluster-config-file': `${port}.conf` });
    return spawn(
      'redis-server',
      [...args.flatMap(([name, value]) => [`--${name}`, String(value)]), '--dir', directory],
      { stdio: 'ignore' },
    );
  });
  const ended = children.map((child) => once(child, 'close'));
  const nodes = ports.map(
    (port, n) =>
      new Redis({ port, retryStrategy: () => (children[n]?.exitCode === null ? 20 : null) }),
  );
  for (const node of nodes) node.on('error', () => {});
  const [first, second] = nodes;
  const slots = [
    [0, 8_191],
    [8_192, 16_383],
  ] as const;
  for (const [index, node] of nodes.entries()) {
    await node.ping();
    await node.call('cluster', 'addslotsrange', ...(slots[index] ?? []));
    await node.call('cluster', 'set-config-epoch', index + 1);
  }
  await first?.call('cluster', 'meet', '127.0.0.1', ports[1] ?? 0);
  for (const node of [first, second]) {
    // A node may know all slots some time before it serves them.
    const isReady = async () =>
      /cluster_state:ok[^]*cluster_slots_ok:16384/.test(
        String(await node?.call('cluster', 'info')),
      );
    while (!(await isReady())) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  for (const node of nodes) node.disconnect();
  return {
    urls: ports.map((port) => `redis://127.0.0.1:${port}`),
    async stop() {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(ended);
      await rm(directory, { recursive: true, force: true });
    },
  };
}
