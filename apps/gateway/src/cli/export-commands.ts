/** Commands that write a month or a day as a file for another program: whole, or they fail. */

import { Option } from 'commander';
import type { Command } from 'commander';
import { day as dayOf } from '../endpoints/fields.js';
import { chargebackCsv } from '../operator/exports/chargeback.js';
import {
  MANIFEST,
  verifyChargebacks,
  writeChargeback,
} from '../operator/exports/chargeback-files.js';
import { folderPlace } from '../operator/exports/chargeback-folder.js';
import { focusCsv } from '../operator/exports/focus.js';
import { JOURNAL_FORMATS } from '../operator/exports/journal-formats.js';
import { withOperations } from './operations-access.js';
import { checkedBy } from './output.js';
import { pairs } from './table.js';
import { monthText } from './when.js';

export function addExports(program: Command): void {
  program
    .command('journal')
    .argument('<month>', 'such as 2026-11', monthText)
    .description('the journal of a month, as CSV for a program of bookkeeping')
    .addOption(
      new Option('--as <program>', 'the columns of this program')
        .choices(Object.keys(JOURNAL_FORMATS))
        .makeOptionMandatory(),
    )
    .action(async (month: string, { as }: { readonly as: keyof typeof JOURNAL_FORMATS }) => {
      const journal = await withOperations((call) => call('showJournal', { month }));
      process.stdout.write(JOURNAL_FORMATS[as].write(journal));
    });
  program
    .command('focus')
    .argument('<month>', 'such as 2026-11', monthText)
    .description('usage of a month as CSV, in the columns of FOCUS')
    .option('--account <account_id>', 'only of this account')
    .action(async (month: string, { account }: { readonly account?: string }) => {
      const only = account === undefined ? {} : { account_id: account };
      const usage = await withOperations((call) => call('showFocus', { month, ...only }));
      process.stdout.write(focusCsv(usage));
    });
  program
    .command('chargeback')
    .description('what a day cost each member, group and tag: a final file in a folder')
    .requiredOption(
      '--day <day>',
      'a day that ended at least an hour ago, in UTC',
      checkedBy(dayOf),
    )
    .requiredOption('--into <folder>', `the folder; its ${MANIFEST} has the hash of each file`)
    .option('--account <account_id>', 'only of this account; each needs a folder of its own')
    .action(async ({ day, into, account }: ChargebackOptions) => {
      const only = account === undefined ? {} : { account_id: account };
      const written = await withOperations((call) =>
        writeChargeback(folderPlace(into), day, async () => {
          const found = await call('showChargeback', { day, ...only });
          const { rows, charged_usd } = found;
          return { csv: chargebackCsv(found), rows: rows.length, charged_usd };
        }),
      );
      const { outcome, file, sha256, charged_usd } = written;
      const state = outcome === 'written' ? 'Written' : 'Written before: nothing changed';
      process.stdout.write(
        `${state}.\n${pairs({ file, rows: String(written.rows), 'charged (USD)': charged_usd, sha256 })}\n`,
      );
    });
  program
    .command('verify-chargeback')
    .argument('<folder>', 'the folder of farthing chargeback')
    .description('whether each file of a folder is as it was written')
    .action(async (folder: string) => {
      const { files, head } = await verifyChargebacks(folderPlace(folder));
      process.stdout.write(`${pairs({ 'files as written': String(files), head: head ?? '' })}\n`);
    });
}

interface ChargebackOptions {
  readonly day: string;
  readonly into: string;
  readonly account?: string;
}
