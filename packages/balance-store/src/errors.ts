/**
 * Errors of a store that refuses to open, to change something, or to make an archive. Faults of the
 * database are a `StoreUnavailableError` instead.
 */

import type { BoundField } from './operator-bounds.js';

/**
 * The operator's id for an account or a key already belongs to another account or key. Nothing was
 * changed.
 */
export class ExternalIdTakenError extends Error {
  override readonly name = 'ExternalIdTakenError';
}

/**
 * A holder's change would undo or exceed what an operator decided about the key. Nothing was
 * changed.
 */
export class SetByOperatorError extends Error {
  override readonly name = 'SetByOperatorError';
  readonly field: BoundField;
  constructor(field: BoundField) {
    super(`${field} was set by an operator`);
    this.field = field;
  }
}

/** The account is closed, which only reopening it changes. Nothing was changed. */
export class AccountClosedError extends Error {
  override readonly name = 'AccountClosedError';
}

/** An account is erased only after it was closed. Nothing was changed. */
export class AccountNotClosedError extends Error {
  override readonly name = 'AccountNotClosedError';
}

/** Another live process owns the embedded ledger: a gateway has it open. */
export class EmbeddedStoreLockedError extends Error {
  override readonly name = 'EmbeddedStoreLockedError';
}

/**
 * The embedded ledger was moved to PostgreSQL. If it opened, keys could be spent in both places.
 */
export class LedgerMovedError extends Error {
  override readonly name = 'LedgerMovedError';
}

/**
 * A ledger could not be moved, or its copy is wrong. The message says why. The embedded ledger
 * stays in use; the new database may already hold a copy.
 */
export class LedgerMoveError extends Error {
  override readonly name = 'LedgerMoveError';
}

/**
 * A file of the embedded ledger, or of its backup, cannot be used. For example, it belongs to
 * another program, it is damaged, or the write-ahead log beside it belongs to another file. The
 * message says why.
 */
export class LedgerFileError extends Error {
  override readonly name = 'LedgerFileError';
}

/**
 * There is no ledger, or the database lacks a migration, and the store was opened with `migrate:
 * false`.
 */
export class SchemaTooOldError extends Error {
  override readonly name = 'SchemaTooOldError';
}

/** The database was migrated by a newer version of this package. */
export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError';
}

/** Every key in the database was issued under another pepper, so none of them could be found. */
export class PepperMismatchError extends Error {
  override readonly name = 'PepperMismatchError';
}

/**
 * The migrations do not fit the database: one was changed after it was applied, one sorts before an
 * applied one, another program left one unfinished, or the package lacks them. The message says
 * which.
 */
export class SchemaMismatchError extends Error {
  override readonly name = 'SchemaMismatchError';
}

/**
 * The database server cannot keep a ledger: it is too old, is reached through a pooler in
 * transaction mode, or lacks locks or rights that the ledger needs. The message says what to do.
 */
export class DatabaseUnsuitableError extends Error {
  override readonly name = 'DatabaseUnsuitableError';
}

/** The account of a key has no such member, or no such group, as the key is to have. */
export class UnknownMemberError extends Error {
  override readonly name = 'UnknownMemberError';
}

/** An archive cannot be made, or its file is not sound. The message says why. */
export class LedgerArchiveError extends Error {
  override readonly name = 'LedgerArchiveError';
}

/**
 * Long work, such as an audit, ended before it was done, because the thread that it runs in reached
 * its limit of memory or crashed. Nothing was changed, and the store remains usable. The message
 * says why.
 */
export class BackgroundWorkError extends Error {
  override readonly name = 'BackgroundWorkError';
}
