/**
 * The data directory. Beside the embedded ledger it holds the secrets and the demo key that are
 * made on first start. Only their owner can read what is created.
 */

import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './error-code.js';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;

export interface DataDir {
  /** Where the embedded ledger keeps its files. */
  readonly path: string;
  /** Reads the secret of this name. On first use, creates it. */
  secret(name: 'key-pepper' | 'admin-token'): string;
  readDemoKey(): string | undefined;
  writeDemoKey(credential: string): void;
}

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
    path,
    secret(name) {
      try {
        // Exclusive: if two processes start at once, one creates the file and the other reads it.
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
  };
}
