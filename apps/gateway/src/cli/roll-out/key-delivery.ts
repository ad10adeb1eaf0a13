/**
 * How people get the keys that an import makes: as credentials or as links in a file that only its
 * owner can read, or as links by mail.
 */

import { closeSync, existsSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { reasonOf } from '../../base/error-code.js';
import { ConfigError } from '../../config/config.js';
import { csvOf, csvRows } from '../../endpoints/csv.js';
import type { CallOperation } from '../../operator/operations/operations.js';

export interface DeliveryOptions {
  /** A file for credentials. */
  readonly keys?: string | undefined;
  /** A file for links that show a key once. */
  readonly links?: string | undefined;
  /** Whether each member gets the link by mail. */
  readonly mail?: true | undefined;
  /** How many days a link is valid. */
  readonly days: number;
}

/** A key that was made, or that nobody has seen yet. */
export interface MadeKey {
  readonly externalId: string;
  readonly name: string;
  readonly email: string | null;
  readonly keyId: string;
  /** `undefined` for a key that was made before. */
  readonly credential: string | undefined;
}

export interface KeyDelivery {
  /** Writes at once, because a credential is shown only now. */
  take(key: MadeKey, call: CallOperation): Promise<void>;
  readonly report: { mailed: number; readonly problems: string[] };
  close(): void;
}

const COLUMNS = ['external_id', 'name', 'email', 'key_id'] as const;

/** Whether a way is given in which people get their keys. */
export function isDelivered({ keys, links, mail }: DeliveryOptions): boolean {
  return keys !== undefined || links !== undefined || mail === true;
}

/**
 * @throws {ConfigError} A file is there already, no mail can be sent, or nobody would get the keys.
 */
export async function assertDelivery(options: DeliveryOptions, call: CallOperation): Promise<void> {
  const { keys, links, mail } = options;
  if (!isDelivered(options)) {
    const ways = '--links <file>, --mail or --keys <file>';
    throw new ConfigError([`key: somebody must get the keys that this makes: give ${ways}`]);
  }
  for (const file of [keys, links]) {
    if (file !== undefined && existsSync(file)) {
      throw new ConfigError([`${file}: exists already, and may have keys that nobody else has`]);
    }
  }
  if (mail !== true) return;
  const { variables } = await call('showSettings', {});
  const missing = ['SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL'].filter(
    (needed) => variables.find(({ name }) => name === needed)?.is_set !== true,
  );
  if (missing.length > 0) {
    throw new ConfigError([`--mail: the gateway cannot send links without ${missing.join(', ')}`]);
  }
}

/** @throws {ConfigError} The file cannot be written. */
export function openDelivery({ keys, links, mail, days }: DeliveryOptions): KeyDelivery {
  const keyFile = openFile(keys, [...COLUMNS, 'api_key']);
  const linkFile = openFile(links, [...COLUMNS, 'link', 'expires_at']);
  const report = { mailed: 0, problems: [] as string[] };
  return {
    report,
    async take({ externalId, name, email, keyId, credential }, call) {
      const row = { external_id: externalId, name, email, key_id: keyId };
      if (credential !== undefined) {
        keyFile?.write({ ...row, api_key: credential });
        // A lost link can be made again; a lost key can only be replaced.
        keyFile?.sync();
      }
      if (links === undefined && mail === undefined) return;
      const isMailed = mail === true && email !== null;
      const link = await call('createKeyLink', {
        key_id: keyId,
        expires_in_seconds: days * 86_400,
        mail: isMailed,
      });
      const address = link.url ?? link.path;
      linkFile?.write({ ...row, link: address, expires_at: link.expires_at });
      if (link.mailed_to !== null) report.mailed += 1;
      if (link.mail_problem !== null) report.problems.push(`${externalId}: ${link.mail_problem}`);
      if (mail === true && email === null) report.problems.push(`${externalId}: has no address`);
    },
    close() {
      keyFile?.close();
      linkFile?.close();
    },
  };
}

interface RowFile {
  write(row: Readonly<Record<string, unknown>>): void;
  /** Waits until all rows are on the disk. */
  sync(): void;
  close(): void;
}

function openFile(path: string | undefined, columns: readonly string[]): RowFile | undefined {
  if (path === undefined) return undefined;
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    throw new ConfigError([`${path}: ${reasonOf(error)}`]);
  }
  writeSync(file, csvOf(columns, []));
  return {
    write(row) {
      writeSync(file, csvRows(columns, [row]));
    },
    sync() {
      fdatasyncSync(file);
    },
    close() {
      closeSync(file);
    },
  };
}
