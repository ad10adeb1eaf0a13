/**
 * Makes an archive. Charges are deleted only after the file was read again and the sums and the
 * mark are in the ledger. So a crash can leave a file, and sums, without a mark: the same command
 * then checks the file and uses it, and writes the sums again. Or it can leave a mark and charges
 * that are not deleted yet: the same command then deletes them.
 */

import { DAY_MS } from '../base/hours.js';
import { existsSync } from 'node:fs';
import type {
  ArchiveOptions,
  ArchiveProgress,
  ArchiveReport,
  LedgerArchive,
} from '../../archive.js';
import { LedgerArchiveError } from '../../errors.js';
import type { LedgerDatabase } from '../database/ledger-database.js';
import type { ArchiveRange } from '../archive/plan.js';
import { deleteCarriedCharges } from './delete-charges.js';
import { createCarryDigest } from '../archive/carry.js';
import type { CarryRow } from '../rows/carry-row.js';

const MIN_AGE_DAYS = 3;
/** A small number, because charges of the embedded ledger wait during each step. */
const CARRIES_PER_STEP = 1_000;

export async function archiveLedger(
  database: Pick<LedgerDatabase, 'archives' | 'background' | 'book'>,
  seal: () => Promise<unknown>,
  options: ArchiveOptions,
): Promise<ArchiveReport> {
  assertDay(options.until);
  const release = await database.archives.lock();
  if (release === undefined) {
    throw new LedgerArchiveError(
      'another archive of this ledger is being made: wait until it is finished',
    );
  }
  try {
    const { source } = database.archives;
    const last = (await source.archives()).at(-1);
    const archive =
      last === undefined || last.until < options.until
        ? await makeArchive(database, seal, last, options)
        : await resumeArchive(database, last, options);
    const deleted = await deleteCarriedCharges(database.archives, archive, (done) => {
      options.onProgress?.({ stage: 'delete', done, total: archive.charges });
    });
    return { archive, deleted };
  } finally {
    await release();
  }
}

/** @throws {LedgerArchiveError} unless the file is that of this archive. */
async function resumeArchive(
  { background }: Pick<LedgerDatabase, 'background'>,
  last: LedgerArchive,
  { until, file, onProgress }: ArchiveOptions,
): Promise<LedgerArchive> {
  const what = `charges before ${dayOf(last.until)} are archived`;
  if (last.until > until) throw new LedgerArchiveError(`until: ${what} already`);
  if (!existsSync(file)) {
    throw new LedgerArchiveError(
      `until: ${what} already, and there is no ${file}: name the file of that archive`,
    );
  }
  const progress = (done: number) => {
    onProgress?.({ stage: 'verify', done, total: last.charges });
  };
  progress(0);
  const { digest } = await background.verifyArchive(file, progress);
  if (digest === last.fileDigest) return last;
  throw new LedgerArchiveError(`${file} is not the file in which ${what}: nothing was changed`);
}

async function makeArchive(
  database: Pick<LedgerDatabase, 'archives' | 'background' | 'book'>,
  seal: () => Promise<unknown>,
  last: LedgerArchive | undefined,
  { until, file, by, onProgress }: ArchiveOptions,
): Promise<LedgerArchive> {
  const { background } = database;
  const progress = (stage: ArchiveProgress['stage'], done: number, total?: number) => {
    onProgress?.({ stage, done, total });
  };
  if (last !== undefined && (await database.archives.source.hasCarriedCharges(last.number))) {
    throw new LedgerArchiveError(
      `the archive until ${dayOf(last.until)} was interrupted: repeat its command first`,
    );
  }
  await seal();
  progress('audit', 0);
  const audit = await background.audit({
    onProgress: ({ entries }) => {
      progress('audit', entries);
    },
  });
  if (!audit.isSound) {
    throw new LedgerArchiveError(
      'the ledger is not sound: an audit names the differences; nothing was archived',
    );
  }
  const number = (last?.number ?? 0) + 1;
  const prepared = await background.prepareArchive(
    { number, until, after: last?.until, file },
    onProgress ?? (() => undefined),
  );
  if (prepared === undefined) {
    throw new LedgerArchiveError(`until: no charge before ${dayOf(until)} is left to archive`);
  }
  await writeCarries(database, { number, until }, prepared.carryDigest);
  progress('mark', 0);
  const archive = await database.book('recordArchive', prepared, by);
  if (archive === undefined) {
    throw new LedgerArchiveError('another archive was made meanwhile: nothing was deleted');
  }
  progress('mark', 1, 1);
  return archive;
}

/**
 * Writes the sums, in many small transactions. They count only once the archive is recorded. Those
 * that an interrupted call has left are deleted first.
 */
async function writeCarries(
  { background, book }: Pick<LedgerDatabase, 'background' | 'book'>,
  range: ArchiveRange,
  expected: string,
): Promise<void> {
  while ((await book('deleteUnrecordedCarries', CARRIES_PER_STEP)) === CARRIES_PER_STEP);
  const digest = createCarryDigest();
  const write = async (rows: readonly CarryRow[]) => {
    if (await book('writeCarries', range.number, rows)) return;
    throw new LedgerArchiveError('another archive was made meanwhile: nothing was deleted');
  };
  let step: CarryRow[] = [];
  for await (const row of background.carries(range)) {
    digest.add(row);
    step.push(row);
    if (step.length < CARRIES_PER_STEP) continue;
    await write(step);
    step = [];
  }
  await write(step);
  if (digest.hex() !== expected) {
    throw new LedgerArchiveError('the ledger changed meanwhile: nothing was deleted');
  }
}

/** @throws {RangeError} */
function assertDay(until: Date): void {
  const time = until.getTime();
  if (Number.isNaN(time) || time % DAY_MS !== 0) {
    throw new RangeError('until: must be a day, such as 2026-01-31');
  }
  if (time > Date.now() - MIN_AGE_DAYS * DAY_MS) {
    throw new RangeError(`until: must be at least ${String(MIN_AGE_DAYS)} days ago`);
  }
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
