/** Classifies errors of SQLite by what is at fault: the database, a value or this program. */

import { constants } from 'node:os';
import { LedgerArchiveError } from '../../errors.js';
import type { Fault } from '../../ledger/threads/messages.js';

/** Result codes of SQLite, see https://sqlite.org/rescode.html */
const CODE = {
  permission: 3,
  busy: 5,
  locked: 6,
  noMemory: 7,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  tooBig: 18,
  constraint: 19,
  mismatch: 20,
  authorization: 23,
  range: 25,
  notADatabase: 26,
} as const;

const UNAVAILABLE: ReadonlySet<number> = new Set([
  CODE.permission,
  CODE.busy,
  CODE.locked,
  CODE.noMemory,
  CODE.readOnly,
  CODE.io,
  CODE.corrupt,
  CODE.full,
  CODE.cannotOpen,
  CODE.protocol,
  CODE.authorization,
  CODE.notADatabase,
]);
const REFUSED: ReadonlySet<number> = new Set([
  CODE.tooBig,
  CODE.constraint,
  CODE.mismatch,
  CODE.range,
]);

export function faultOf(error: unknown): Fault {
  const code = sqliteCodeOf(error);
  if (code !== undefined) {
    if (UNAVAILABLE.has(code)) return 'unavailable';
    return REFUSED.has(code) ? 'refused' : 'mistake';
  }
  if (error instanceof LedgerArchiveError) return 'archive';
  if (isSystemError(error) || isClosed(error)) return 'unavailable';
  // These errors report values that cannot be bound, or amounts out of range.
  return error instanceof RangeError || error instanceof TypeError ? 'refused' : 'mistake';
}

export function isUnavailable(error: unknown): boolean {
  return faultOf(error) === 'unavailable';
}

/** Whether the file itself is at fault: not a database, or damaged. */
export function isDamaged(error: unknown): boolean {
  const code = sqliteCodeOf(error);
  return code === CODE.corrupt || code === CODE.notADatabase;
}

/** Whether this process may not write the file, or cannot reach it. */
export function isNotWritable(error: unknown): boolean {
  const code = sqliteCodeOf(error);
  if (code === CODE.readOnly || code === CODE.cannotOpen || code === CODE.permission) return true;
  return ['EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

export function isBusy(error: unknown): boolean {
  return sqliteCodeOf(error) === CODE.busy;
}

/** The primary result code; `undefined` for errors that are not SQLite's. */
function sqliteCodeOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

function isSystemError(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && code in constants.errno;
}

function isClosed(error: unknown): boolean {
  return codeOf(error) === 'ERR_INVALID_STATE';
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
