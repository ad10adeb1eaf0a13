/** Exit codes that scripts can rely on, and the text that explains each failure. */

import {
  BackgroundWorkError,
  DatabaseUnsuitableError,
  EmbeddedStoreLockedError,
  LedgerArchiveError,
  LedgerFileError,
  LedgerMoveError,
  LedgerMovedError,
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
  StoreUnavailableError,
} from '@gateway/balance-store';
import { ConfigError } from '../config/config.js';
import { OperationError } from '../endpoints/operation-error.js';
import { WorkerStartError } from './workers/worker-process.js';

export const EXIT = {
  ok: 0,
  /** The operation was refused, an audit found a difference, or something unexpected failed. */
  refused: 1,
  /** The command or the configuration cannot be used. */
  usage: 2,
  /** The gateway or its ledger cannot be reached, or the ledger cannot be used as it is. */
  unavailable: 3,
} as const;

export function exitCodeOf(error: unknown): number {
  if (error instanceof WorkerStartError) return error.exitCode;
  if (error instanceof ConfigError) return EXIT.usage;
  if (error instanceof OperationError) return error.status >= 500 ? EXIT.unavailable : EXIT.refused;
  if (
    error instanceof StoreUnavailableError ||
    error instanceof BackgroundWorkError ||
    error instanceof DatabaseUnsuitableError ||
    error instanceof EmbeddedStoreLockedError ||
    error instanceof LedgerFileError ||
    error instanceof LedgerMovedError ||
    error instanceof PepperMismatchError ||
    error instanceof SchemaMismatchError ||
    error instanceof SchemaTooNewError ||
    error instanceof SchemaTooOldError
  ) {
    return EXIT.unavailable;
  }
  return EXIT.refused;
}

/** The text of a failure for a person. Only an unexpected failure has a stack trace. */
export function failureText(error: unknown): string {
  const isExpected =
    error instanceof ConfigError ||
    error instanceof OperationError ||
    error instanceof LedgerArchiveError ||
    error instanceof LedgerMoveError ||
    error instanceof WorkerStartError ||
    exitCodeOf(error) === EXIT.unavailable;
  if (!(error instanceof Error)) return 'failed';
  return isExpected ? error.message : (error.stack ?? error.message);
}
