/** The exit code of a failure, and the text that explains it. */

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
import { EXIT, FAILURES } from '../base/errors/failures.js';
import type { FailureName } from '../base/errors/failures.js';
import { ConfigError } from '../config/config.js';
import { OperationError, WrongUsageError } from '../endpoints/operation-error.js';
import { WorkerStartError } from './workers/worker-process.js';

type ErrorClass = abstract new (...args: never) => Error;

const CLASSES: Readonly<Record<FailureName, ErrorClass>> = {
  ConfigError,
  StoreUnavailableError,
  DatabaseUnsuitableError,
  EmbeddedStoreLockedError,
  LedgerFileError,
  LedgerMovedError,
  PepperMismatchError,
  SchemaMismatchError,
  SchemaTooNewError,
  SchemaTooOldError,
  BackgroundWorkError,
  LedgerArchiveError,
  LedgerMoveError,
};
const NAMES = Object.keys(CLASSES) as FailureName[];

export function exitCodeOf(error: unknown): number {
  if (error instanceof WorkerStartError) return error.exitCode;
  if (error instanceof WrongUsageError) return EXIT.usage;
  if (error instanceof OperationError) {
    return error.status >= 500 ? EXIT.unavailable : EXIT.refused;
  }
  const name = failureNameOf(error);
  return name === undefined ? EXIT.refused : EXIT[FAILURES[name].exit];
}

/** The text of a failure for a person. Only an unexpected failure has a stack trace. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const isExpected =
    error instanceof OperationError ||
    error instanceof WorkerStartError ||
    failureNameOf(error) !== undefined;
  return isExpected ? error.message : (error.stack ?? error.message);
}

function failureNameOf(error: unknown): FailureName | undefined {
  return NAMES.find((name) => error instanceof CLASSES[name]);
}
