/**
 * The numbers of this package's advisory locks. PostgreSQL has one number space for all of them, so
 * a number that is used twice makes unrelated work wait.
 */

export const ADVISORY_LOCKS = {
  /** The lock that Prisma's own migrator takes. */
  migration: 72_707_369,
  /** Taken by the SQL function `seal_ledger`. */
  seal: 72_707_370,
  /** Taken by the SQL function `roll_up_usage`. */
  rollUp: 72_707_371,
  /** Held while a trail entry gets its number. */
  trail: 72_707_372,
  /** With a random second number, which is another space of numbers: see `charging.ts`. */
  probe: 72_707_373,
  /** Held while an archive is made. */
  archive: 72_707_379,
  /** Held while sums of an archive are written, or it is recorded. */
  archiveRecord: 72_707_380,
  /** Held while a month is closed or a statement gets its number. */
  closing: 72_707_381,
} as const;
