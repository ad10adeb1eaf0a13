/**
 * Compares the exports of each entry point with the committed report in `etc/`, so that no change
 * of a public type goes unnoticed. With `--update` it writes the reports instead.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { publishedLibraries, withScratch } from './packed.mjs';
import { ensureBuilt, step } from './setup.mjs';

const update = process.argv.includes('--update');

step(update ? 'Writing the API reports' : 'Comparing the API reports');
ensureBuilt();
await withScratch((scratch) => {
  for (const published of publishedLibraries()) {
    const reports = new Map(
      published.entries.map((entry) => [`${reportName(entry)}.api.md`, typesOf(published, entry)]),
    );
    checkReports(published, reports, join(scratch, published.name));
  }
});

function checkReports({ name, dir }, reports, scratch) {
  const committed = join(dir, 'etc');
  mkdirSync(committed, { recursive: true });
  const differing = [...reports].filter(
    ([report, types]) => !isUnchanged({ dir, types, report, committed, scratch }),
  );
  const stale = readdirSync(committed).filter((report) => !reports.has(report));
  if (update) {
    for (const report of stale) rmSync(join(committed, report));
    return;
  }
  process.stdout.write(
    `  ${name}: ${reports.size - differing.length} of ${reports.size} as committed\n`,
  );
  for (const [report] of differing) {
    const before = join(committed, report);
    const files = [existsSync(before) ? before : '/dev/null', join(scratch, report)];
    spawnSync('git', ['--no-pager', 'diff', '--no-index', ...files], { stdio: 'inherit' });
  }
  if (differing.length + stale.length === 0) return;
  process.stderr.write(`The exports of ${name} have changed: run npm run api and commit\n`);
  process.exitCode = 1;
}

/** Writes the report to `committed` with `--update`, otherwise to `scratch`. */
function isUnchanged({ dir, types, report, committed, scratch }) {
  // A type that callers can reach is public, even if it is not exported by name. The report of the
  // main entry contains such types; the reports of other entries do not repeat them.
  const isMain = !report.slice(0, -'.api.md'.length).includes('.');
  const compilerOptions = {
    strict: true,
    target: 'es2023',
    lib: ['es2023'],
    module: 'preserve',
    types: ['node'],
  };
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: dir,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: [types] } },
      apiReport: {
        enabled: true,
        includeForgottenExports: isMain,
        reportFileName: report,
        reportFolder: committed,
        reportTempFolder: scratch,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        // Comments are not compared.
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    packageJsonFullPath: join(dir, 'package.json'),
  });
  const messageCallback = (message) => {
    // `checkReports` shows how the reports differ.
    message.handled = message.category !== 'Compiler' || message.logLevel === 'none';
  };
  return !Extractor.invoke(config, { localBuild: update, messageCallback }).apiReportChanged;
}

function reportName(entry) {
  return entry.replace('@gateway/', '').replace('/', '.');
}

function typesOf({ name, dir, manifest }, entry) {
  return join(dir, manifest.exports[`.${entry.slice(name.length)}`].import.types);
}
