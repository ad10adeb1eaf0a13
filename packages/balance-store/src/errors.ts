/** Why a store refuses to open. {@link StoreUnavailableError} is the one fault of an open store. */

/** Another live process has the embedded ledger open. Two at once would lose charges silently. */
export class EmbeddedStoreLockedError extends Error {
  override readonly name = 'EmbeddedStoreLockedError';
}

/** The embedded ledger was moved to PostgreSQL: opened again, its keys could be spent in both places. */
export class LedgerMovedError extends Error {
  override readonly name = 'LedgerMovedError';
}

/** A ledger cannot be moved. The message says why, and what was changed: nothing. */
export class LedgerMoveError extends Error {
  override readonly name = 'LedgerMoveError';
}

/** The database was migrated by a newer version of this package. */
export class SchemaTooNewError extends Error {
  override readonly name = 'SchemaTooNewError';
}

/** Every key in the database was issued under another pepper: none of them would ever be found. */
export class PepperMismatchError extends Error {
  override readonly name = 'PepperMismatchError';
}

/** The database's schema is not what its migrations should have made. The message says what to do. */
export class SchemaMismatchError extends Error {
  override readonly name = 'SchemaMismatchError';
}
