/**
 * The data directory. Beside the embedded ledger it holds the secrets and the demo key that are
 * made on first start. Only the system user that runs the gateway can read the files that are
 * created here.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../base/error-code.js';
import { ConfigError } from './config.js';

const PRIVATE_FILE = 0o600;
const PRIVATE_DIR = 0o700;
/** As for secrets in variables. A shorter file was cut off, or emptied by mistake. */
const MIN_SECRET_LENGTH = 16;

export interface DataDir {
  /** Where the embedded ledger keeps its files. */
  readonly path: string;
  /**
   * Reads the secret of this name. On first use, creates it.
   *
   * @throws {ConfigError} if its file has too few characters, for example none
   */
  secret(name: 'key-pepper' | 'admin-token'): string;
  readDemoKey(): string | undefined;
  writeDemoKey(credential: string): void;
  /** When a backup of the ledger was last finished; `undefined` if never. */
  lastBackupAt(): Date | undefined;
  recordBackup(): void;
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

  /**
   * The file appears under its name only when it is complete and on disk, so that a crash leaves no
   * empty one.
   */
  function create(name: string): string {
    const made = randomBytes(32).toString('base64url');
    const draft = file(`${name}.${randomBytes(6).toString('hex')}`);
    try {
      writeFileSync(draft, `${made}\n`, { mode: PRIVATE_FILE, flag: 'wx', flush: true });
      linkSync(draft, file(name));
      syncDir(path);
      return made;
    } catch (error) {
      // Two processes started at once, and the other one was first.
      if (errorCode(error) !== 'EEXIST') throw error;
      return read(name) ?? '';
    } finally {
      rmSync(draft, { force: true });
    }
  }

  return {
    path,
    secret(name) {
      const secret = read(name) ?? create(name);
      if (secret.length >= MIN_SECRET_LENGTH) return secret;
      throw new ConfigError([
        `${file(name)}: must have at least ${String(MIN_SECRET_LENGTH)} characters: restore it from a backup`,
      ]);
    },
    readDemoKey: () => read('demo-key') || undefined,
    writeDemoKey(credential) {
      writeFileSync(file('demo-key'), `${credential}\n`, { mode: PRIVATE_FILE });
    },
    lastBackupAt: () => statSync(file('last-backup'), { throwIfNoEntry: false })?.mtime,
    recordBackup() {
      writeFileSync(file('last-backup'), `${new Date().toISOString()}\n`, { mode: PRIVATE_FILE });
    },
  };
}

/** Makes a new name in this directory durable. Windows does not open directories. */
function syncDir(path: string): void {
  if (process.platform === 'win32') return;
  const dir = openSync(path, 'r');
  try {
    fsyncSync(dir);
  } finally {
    closeSync(dir);
  }
}
