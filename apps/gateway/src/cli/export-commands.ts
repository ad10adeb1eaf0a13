/** Commands that print a month as a file for another program: whole, or they fail. */

import { Option } from 'commander';
import type { Command } from 'commander';
import { focusCsv } from '../operator/exports/focus.js';
import { JOURNAL_FORMATS } from '../operator/exports/journal-formats.js';
import { withOperations } from './operations-access.js';

export function addExports(program: Command): void {
  program
    .command('journal')
    .argument('<month>', 'such as 2026-11')
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
    .argument('<month>', 'such as 2026-11')
    .description('usage of a month as CSV, in the columns of FOCUS')
    .option('--account <account_id>', 'only of this account')
    .action(async (month: string, { account }: { readonly account?: string }) => {
      const only = account === undefined ? {} : { account_id: account };
      const usage = await withOperations((call) => call('showFocus', { month, ...only }));
      process.stdout.write(focusCsv(usage));
    });
}
