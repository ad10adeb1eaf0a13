/**
 * Why the gateway does not start, or a command ends: by the class of the error, whose message says
 * the particulars. They go to stderr as `farthing: <message>`, with an exit code.
 */

/** Exit codes that scripts can rely on. */
export const EXIT = {
  ok: 0,
  /** The operation was refused, an audit found a difference, or something unexpected failed. */
  refused: 1,
  /** The command or the configuration cannot be used. */
  usage: 2,
  /** The gateway or its ledger cannot be reached, or the ledger cannot be used as it is. */
  unavailable: 3,
} as const;

interface Failure {
  readonly exit: Exclude<keyof typeof EXIT, 'ok'>;
  readonly cause: string;
  readonly cure: string;
}

export const FAILURES = {
  ConfigError: {
    exit: 'usage',
    cause: 'a variable, a file that one names, or an option cannot be used; the message names it',
    cure: 'correct it; `farthing check-config` checks all at once',
  },
  StoreUnavailableError: {
    exit: 'unavailable',
    cause: 'the database cannot be reached, is read-only, or its disk is full',
    cure: 'repair it, and start again',
  },
  DatabaseUnsuitableError: {
    exit: 'unavailable',
    cause: 'PostgreSQL before 13, a pooler in transaction mode, or a role without rights',
    cure: 'as the message says',
  },
  EmbeddedStoreLockedError: {
    exit: 'unavailable',
    cause: 'another process has the embedded ledger open',
    cure: 'stop it, or set `ADMIN_URL` so that the command asks it',
  },
  LedgerFileError: {
    exit: 'unavailable',
    cause: 'the file of the embedded ledger is missing, damaged, not writable or on a network disk',
    cure: 'as the message says; restore a backup if it is damaged',
  },
  LedgerMovedError: {
    exit: 'unavailable',
    cause: 'the embedded ledger was moved to PostgreSQL',
    cure: 'set `DATABASE_URL`',
  },
  PepperMismatchError: {
    exit: 'unavailable',
    cause: 'all keys were issued under another `KEY_PEPPER`',
    cure: 'set the one that they were issued under',
  },
  SchemaMismatchError: {
    exit: 'unavailable',
    cause: 'the database was migrated by a build whose migrations differ, or a migration broke off',
    cure: 'start the version that migrated it, or restore the backup',
  },
  SchemaTooNewError: {
    exit: 'unavailable',
    cause: 'a newer version migrated the database',
    cure: 'start that version or a newer one',
  },
  SchemaTooOldError: {
    exit: 'unavailable',
    cause: 'a command opened a database that this version has not migrated',
    cure: '`farthing migrate`, or start the gateway',
  },
  BackgroundWorkError: {
    exit: 'unavailable',
    cause: 'long work needed more memory than it may use, or its thread crashed',
    cure: 'run it where there is more memory',
  },
  LedgerArchiveError: {
    exit: 'refused',
    cause: 'an archive cannot be made, or its file is not sound',
    cure: 'as the message says; nothing was deleted',
  },
  LedgerMoveError: {
    exit: 'refused',
    cause: 'the ledger could not be moved, or its copy differs',
    cure: 'as the message says; the embedded ledger stays in use',
  },
} as const satisfies Record<string, Failure>;

export type FailureName = keyof typeof FAILURES;
