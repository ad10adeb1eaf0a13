/**
 * The data directory. Beside the embedded database it holds the secrets and the demo key that are
 * made on first start, and the address of a running gateway's admin API. Only its owner can read
 * it.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from './error-code.js';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

export interface DataDir {
  /** Where the embedded database keeps its files. */
  readonly databaseDir: string;
  /** Reads the secret of this name, making it on first use. */
  secret(name: 'key-pepper' | 'admin-token'): string;
  readDemoKey(): string | undefined;
  writeDemoKey(credential: string): void;
  /** Writes down for the command line how to reach the running gateway. */
  announceAdmin(admin: AdminAddress): void;
  withdrawAdmin(): void;
  readAdmin(): AdminAddress | undefined;
}

const adminAddress = z.object({ url: z.url(), token: z.string() });
export type AdminAddress = z.infer<typeof adminAddress>;

export function openDataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: PRIVATE_DIR });
  const file = (name: string): string => join(path, name);

  function read(name: string): string | undefined {
    try {
      return readFileSync(file(name), 'utf8').trim();
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  return {
    databaseDir: file('pglite'),
    secret(name) {
      try {
        // Exclusive: if two processes start at once, one creates the file and both read it.
        const made = randomBytes(32).toString('base64url');
        writeFileSync(file(name), `${made}\n`, { mode: PRIVATE_FILE, flag: 'wx' });
        return made;
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error;
        return read(name) ?? '';
      }
    },
    readDemoKey: () => read('demo-key'),
    writeDemoKey(credential) {
      writeFileSync(file('demo-key'), `${credential}\n`, { mode: PRIVATE_FILE });
    },
    announceAdmin(admin) {
      writeFileSync(file('admin.json'), JSON.stringify(admin), { mode: PRIVATE_FILE });
    },
    withdrawAdmin() {
      rmSync(file('admin.json'), { force: true });
    },
    readAdmin() {
      const text = read('admin.json');
      return text === undefined ? undefined : adminAddress.safeParse(JSON.parse(text)).data;
    },
  };
}
