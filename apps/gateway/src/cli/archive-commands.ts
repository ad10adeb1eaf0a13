/**
 * `farthing ledger archive` and `verify-archive`. Both run on the machine that has the file, so
 * they open the ledger themselves, whether or not a gateway is running. `--alone` opens no ledger.
 */

import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import { verifyArchive } from '@gateway/balance-store';
import type {
  ArchiveComparison,
  ArchiveFileSummary,
  ArchiveProgress,
  ArchiveReport,
  BalanceStore,
} from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { EXIT } from '../base/errors/failures.js';
import { ConfigError, readConfig } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import { day } from '../endpoints/fields.js';
import { invalidInput } from '../endpoints/operation-error.js';
import { openStore } from '../ledger/open-store.js';
import { show, withJson } from './output.js';
import type { OutputOptions } from './output.js';
import { pairs } from './table.js';
import { showProgress, timed } from './progress.js';

interface ArchiveOptions extends OutputOptions {
  readonly until: Date;
  readonly to: string;
}

interface VerifyOptions extends OutputOptions {
  readonly alone?: boolean;
}

export function addArchive(ledger: Command): void {
  withJson(
    ledger
      .command('archive')
      .description('move the charges before a day into a file; their sums stay in the ledger'),
  )
    .requiredOption('--until <day>', 'at least three days ago, such as 2026-01-01', parseDay)
    .requiredOption(
      '--to <file>',
      'the file to write; to continue after an interruption, name the same file',
    )
    .action(async (options: ArchiveOptions) => {
      const { until, to: file } = options;
      const report = await withStore((store) =>
        store.archive({ until, file, by: { name: 'cli' }, onProgress: showStage }),
      );
      show(options, reportView(report, file), printArchive);
    });
  withJson(
    ledger
      .command('verify-archive')
      .argument('<file>', 'a file that ledger archive wrote')
      .description('verify the file of an archive, and that it belongs to this ledger'),
  )
    .option('--alone', 'verify the file without its ledger')
    .action(async (file: string, options: VerifyOptions) => {
      const comparison =
        options.alone === true
          ? { file: await verifyArchive(file, showCharges), differences: [] }
          : await withStore((store) => store.compareArchive(file, showCharges));
      showProgress(`${String(comparison.file.charges)} charges`, true);
      if (comparison.differences.length > 0) process.exitCode = EXIT.refused;
      show(options, comparisonView(comparison, options.alone === true), printComparison);
    });
}

function withStore<Result>(work: (store: BalanceStore) => Promise<Result>): Promise<Result> {
  return timed(() => withOpenStore(work));
}

async function withOpenStore<Result>(
  work: (store: BalanceStore) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  if (config.adminUrl !== undefined) {
    throw new ConfigError([
      'ADMIN_URL: must not be set, because this command opens the ledger itself: run it where the archive file is, or will be, stored',
    ]);
  }
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = await openStore(config, dataDir, 'command');
  try {
    return await work(store);
  } catch (error) {
    // The store has refused an argument. The command line reports it without a stack trace.
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput(error.message);
  } finally {
    await store.close();
  }
}

function parseDay(text: string): Date {
  const parsed = day.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(parsed.error.issues[0]?.message ?? 'cannot be used');
}

const STAGES = {
  audit: 'auditing',
  write: 'writing',
  verify: 'reading again',
  mark: 'recording',
  delete: 'deleting',
} as const satisfies Record<ArchiveProgress['stage'], string>;

function showStage({ stage, done, total }: ArchiveProgress): void {
  const of = total === undefined ? '' : ` of ${String(total)}`;
  const isLast = stage === 'delete' && done === total;
  showProgress(`${STAGES[stage].padEnd(13)} ${String(done)}${of}`.padEnd(50), isLast);
}

function showCharges(charges: number): void {
  showProgress(`${String(charges)} charges`, false);
}

function reportView({ archive, deleted }: ArchiveReport, file: string) {
  return {
    object: 'ledger_archive' as const,
    number: archive.number,
    until: archive.until.toISOString(),
    created_at: archive.createdAt.toISOString(),
    file,
    digest: archive.fileDigest,
    charges: archive.charges,
    charged_usd: formatUsd(archive.charged),
    written_off_usd: formatUsd(archive.writtenOff),
    last_block: `${archive.lastBlock.toString()}:${archive.lastHash}`,
    deleted,
  };
}

function printArchive(view: ReturnType<typeof reportView>): string {
  return `${pairs({
    archive: String(view.number),
    'charges before': view.until,
    charges: String(view.charges),
    'charged (USD)': view.charged_usd,
    'written off (USD)': view.written_off_usd,
    'deleted now': String(view.deleted),
    'last block': view.last_block,
    digest: view.digest,
  })}

${view.file} has these charges. Keep it as long as you must be able to show them; the ledger has only their sums.
To verify at any time that it is intact:  farthing ledger verify-archive ${view.file}`;
}

function fileView(file: ArchiveFileSummary) {
  return {
    number: file.number,
    ledger: file.ledger,
    after: file.after?.toISOString() ?? null,
    until: file.until.toISOString(),
    accounts: file.accounts,
    charges: file.charges,
    charged_usd: formatUsd(file.charged),
    written_off_usd: formatUsd(file.writtenOff),
    last_block: `${file.lastBlock.toString()}:${file.lastHash}`,
    digest: file.digest,
  };
}

function comparisonView({ file, differences }: ArchiveComparison, isAlone: boolean) {
  return {
    object: 'archive_comparison' as const,
    ...fileView(file),
    /** `null` if the ledger was not asked. */
    is_of_ledger: isAlone ? null : differences.length === 0,
    differences,
  };
}

function printComparison(view: ReturnType<typeof comparisonView>): string {
  const summary = pairs({
    archive: String(view.number),
    'charges before': view.until,
    accounts: String(view.accounts),
    charges: String(view.charges),
    'charged (USD)': view.charged_usd,
    'written off (USD)': view.written_off_usd,
    'last block': view.last_block,
    digest: view.digest,
  });
  if (view.is_of_ledger === null) return `${summary}\nThe file is sound by itself.`;
  if (view.is_of_ledger) return `${summary}\nThe file is sound, and it belongs to this ledger.`;
  const lines = view.differences.map(
    ({ expected, found }) => `  ledger: ${expected}\n  file:   ${found}`,
  );
  return `${summary}\nThe file is sound by itself, but it is NOT an archive of this ledger:\n${lines.join('\n')}`;
}
