/**
 * One process per directory. Two would overwrite each other's pages, and every sum would still add
 * up.
 *
 * The lock is a socket that the holder listens on, so the operating system frees it when the
 * process dies in whatever way: there is no age to guess and nothing alive to steal from.
 */

import { createHash, randomBytes } from 'node:crypto';
import { realpath, rename, stat, unlink } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedStoreLockedError } from '../errors.js';

export interface DirectoryLock {
  release(): Promise<void>;
}

/**
 * @throws {EmbeddedStoreLockedError} at once when another live process holds the lock.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const path = await realpath(directory);
  const name = createHash('sha256').update(path).digest('hex');
  switch (process.platform) {
    case 'win32':
      return lockOf(await listenOrRefuse(`\\\\.\\pipe\\gateway-balance-store-${name}`, path));
    case 'linux': {
      // Free of races, but only seen within one network namespace: the file is seen from containers
      // that share the directory, too.
      const abstract = await listenOrRefuse(`\0gateway-balance-store-${name}`, path);
      try {
        const file = await lockFile(path);
        return lockOf(abstract, file);
      } catch (error) {
        if (NO_SOCKETS_HERE.has(codeOf(error) ?? '')) return lockOf(abstract);
        await close(abstract);
        throw error;
      }
    }
    default:
      return lockFile(path);
  }
}

/** Some file systems that a host shares with a virtual machine cannot hold a socket. */
const NO_SOCKETS_HERE = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EPERM', 'EINVAL']);

/** Longer than the moment between finding a dead socket and putting another in its place. */
const SETTLE_MS = 150;
/** The longest path that a socket may have on every system, less the ending of ours. */
const MAX_SOCKET_PATH_BYTES = 90;

async function lockFile(directory: string): Promise<DirectoryLock> {
  const file = socketPath(directory);
  const own = `${file}-${randomBytes(4).toString('hex')}`;
  if (await answers(file)) throw lockedError(directory);

  const server = await listen(own);
  const { ino } = await stat(own);
  const isOurs = async () => (await stat(file)).ino === ino;
  await rename(own, file);
  // Whoever else found the same dead socket has replaced ours by now, or will find it alive.
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  if (!(await isOurs())) {
    await close(server);
    throw lockedError(directory);
  }
  return {
    async release() {
      if (await isOurs()) await unlink(file);
      await close(server);
    },
  };
}

function socketPath(directory: string): string {
  const file = join(directory, 'lock');
  if (Buffer.byteLength(file) <= MAX_SOCKET_PATH_BYTES) return file;
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  return join(tmpdir(), `gateway-balance-store-${name}`);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

async function listenOrRefuse(path: string, directory: string): Promise<Server> {
  try {
    return await listen(path);
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') throw lockedError(directory);
    throw error;
  }
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    server.listen(path, () => {
      // The lock alone must not keep a process running.
      server.unref();
      resolve(server);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

function lockOf(server: Server, inner?: DirectoryLock): DirectoryLock {
  return {
    async release() {
      await inner?.release();
      await close(server);
    },
  };
}

function codeOf(error: unknown): string | undefined {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  return hasCode ? String(error.code) : undefined;
}

function lockedError(directory: string): EmbeddedStoreLockedError {
  return new EmbeddedStoreLockedError(
    `the ledger in ${directory} is open in another process; stop that process, use another data ` +
      'directory, or let several processes share a PostgreSQL database',
  );
}
