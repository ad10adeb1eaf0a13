/**
 * The tree of commands. Most only parse and print; their work is done in `operations/`. `migrate`
 * and `ledger export`, `backup`, `archive` and `verify-archive` open the ledger themselves.
 */

import { Argument, Command, Option } from 'commander';
import { EXIT } from '../base/errors/failures.js';
import { version } from '../../package.json';
import { ConfigError, readConfig } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import type { DataDir } from '../config/data-dir.js';
import { exampleFile } from '../config/describe-variables.js';
import { readWholeTable } from '../config/settings.js';
import { embeddedLedger, openStore } from '../ledger/open-store.js';
import type { Port } from '../openapi/document.js';
import { addAccounts } from './account-commands.js';
import { addArchive } from './archive-commands.js';
import { auditWithProgress } from './audit-command.js';
import { checkConfig, tryLedger, tryMail, tryUpstream } from './check-config.js';
import { addExamples } from './examples.js';
import { addExports } from './export-commands.js';
import { addKeys } from './key-commands.js';
import { addOperation } from './operation-command.js';
import { makeConsoleLink, printConsoleLink } from './console-link.js';
import { run, runPages, show, withFormats, withJson } from './output.js';
import type { FormatOptions, OutputOptions } from './output.js';
import { addPayments, addPromoCodes } from './payment-commands.js';
import { printHome, readPicturedDays } from './print-home.js';
import { printEntry, printLedger } from './print-ledger.js';
import {
  printAudits,
  printBooks,
  printBreakdown,
  printClosedBooks,
  printToday,
  printVerification,
} from './print-overview.js';
import {
  printAudit,
  printBackup,
  printEvents,
  printExport,
  printHolds,
  printModels,
  printModelsDiff,
  printRecharge,
  printTrail,
  printUsage,
} from './print.js';
import { printRequestSums, printRequests } from './print-requests.js';
import { printSettings } from './print-settings.js';
import { showProgress, timed } from './progress.js';
import { addReconcile } from './reconcile-command.js';
import { printReloads, reloadReplicas } from './reload.js';
import { addApply } from './roll-out/apply-command.js';
import { addBudgets, addGroups, addMembers } from './spender-commands.js';
import { monthText } from './when.js';
import { compareWithFiles, rechargeFromFiles } from './witness-commands.js';

export function createProgram(): Command {
  const program = new Command('farthing')
    .description("Farthing, a prepaid gateway to Anthropic's Messages API")
    .version(version)
    .exitOverride()
    .showHelpAfterError('(--help says more)');
  program
    .command('serve')
    .description(
      'run the gateway, as without any command (configured by environment variables, see .env.example)',
    )
    .action(async () => {
      // Imported here, so that the other commands need not load the server.
      const { serve } = await import('./serve.js');
      await serve();
    });
  program
    .command('migrate')
    .description("bring the ledger's schema to this version; farthing serve does so by itself")
    .action(migrate);
  program
    .command('config')
    .description('print every variable of the configuration with its default, as a file')
    .action(() => {
      process.stdout.write(exampleFile());
    });
  program
    .command('check-config')
    .description(
      'check the configuration, the files that it names and the upstream credentials, without starting',
    )
    .option('--ledger', 'then try whether the ledger can be used and a charge be recorded')
    .action(async ({ ledger }: { readonly ledger?: true }) => {
      process.stdout.write(`${checkConfig()}\n`);
      const { lines, problems: refused } = await tryUpstream();
      for (const line of lines) process.stdout.write(`${line}\n`);
      const mail = await tryMail();
      if (mail !== undefined && 'line' in mail) process.stdout.write(`${mail.line}\n`);
      const problems =
        mail !== undefined && 'problem' in mail ? [...refused, mail.problem] : refused;
      if (ledger === true) process.stdout.write(`${(await tryLedger()).join('\n')}\n`);
      if (problems.length > 0) throw new ConfigError(problems);
    });
  program
    .command('reload')
    .argument(
      '[admin_url...]',
      'the admin API of each replica; default: ADMIN_URL, or the gateway on this machine',
    )
    .description('make running gateways read prices, models, upstream keys and tokens again')
    .option('--json', 'print JSON')
    .action(async (urls: readonly string[], options: OutputOptions) => {
      show(options, await reloadReplicas(urls), printReloads);
    });
  withJson(
    program
      .command('console-link')
      .description('print a link that signs in to the console of the running gateway, once'),
  ).action(async (options: OutputOptions) => {
    show(options, await makeConsoleLink(), printConsoleLink);
  });
  program
    .command('openapi')
    .description('print the OpenAPI document of the port for clients, or of the admin API')
    .addArgument(new Argument('[port]').choices(['client', 'admin']).default('client'))
    .action(async (port: Port) => {
      const { openApiDocument } = await import('../openapi/document.js');
      const { ENDPOINTS } = await import('../openapi/endpoints.js');
      const document = openApiDocument(port, ENDPOINTS[port]);
      process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
    });
  addAccounts(
    program.command('accounts').description('balances, and the entries that change them'),
  );
  addKeys(program.command('keys').description('API keys, their limits and caps'));
  addMembers(program.command('members').description('who spends the money of an account'));
  addGroups(program.command('groups').description('groups of members, such as courses'));
  addBudgets(program.command('budgets').description('how much who may spend in which period'));
  addApply(program);
  addPayments(program.command('payments').description('payments by the payment provider'));
  addPromoCodes(program.command('promo-codes').description('codes for promotional credit'));
  addReports(program);
  addReconcile(program.command('reconcile'));
  addLedger(program.command('ledger').description('the record of every charge and top-up'));
  const models = program.command('models').description('the offered models and their prices');
  addOperation(models, 'diff', 'compareModels', printModelsDiff);
  models
    .command('table')
    .description('print the price table of this configuration, in the form that PRICES takes')
    .action(() => {
      const table = readWholeTable(readConfig(process.env).prices);
      process.stdout.write(`${JSON.stringify(table, undefined, 2)}\n`);
    });
  addOperation(models, 'list', 'listModels', printModels);
  addExamples(program);
  return program;
}

function addReports(program: Command): void {
  addOperation(program, 'usage', 'listUsage', printUsage);
  const books = program.command('books');
  withFormats(
    books
      .argument('<month>', 'such as 2026-11', monthText)
      .description('credits, adjustments, charges and balances of a month, by account and in all'),
    'showBooks',
  ).action((month: string, options: FormatOptions) =>
    runPages(options, { name: 'showBooks', input: { month } }, printBooks),
  );
  addOperation(books, 'close <month>', 'closeBooks', printClosedBooks);
  withJson(
    books
      .command('verify <month>')
      .description('compare a closed month with its digest; exits with 1 if a figure has changed'),
  ).action((month: string, options: OutputOptions) =>
    run(
      options,
      async (call) => {
        const found = await call('verifyBooks', { month });
        if (!found.is_as_closed) process.exitCode = EXIT.refused;
        return found;
      },
      printVerification,
    ),
  );
  addExports(program);
  addOperation(program, 'home', 'showHome', printHome, { onTerminal: readPicturedDays });
  addOperation(program, 'breakdown', 'breakDown', printBreakdown);
  addOperation(program, 'today', 'showToday', printToday);
  addOperation(program, 'audits', 'listAudits', printAudits);
  addOperation(program, 'requests', 'listRequests', printRequests, { defaults: { limit: 50 } });
  addOperation(program, 'requests-summary', 'sumRequests', printRequestSums);
  addOperation(program, 'events', 'listEvents', printEvents);
  addOperation(program, 'trail', 'listTrail', printTrail);
  addOperation(program, 'settings', 'showSettings', printSettings);
  addOperation(program, 'change-setting <name>', 'changeSetting', printSettings);
}

interface AuditOptions extends OutputOptions {
  readonly witness?: readonly string[];
  readonly anchor?: string;
}

function addLedger(ledger: Command): void {
  // An entry takes several lines, so a page has fewer of them than one of the API.
  addOperation(ledger, 'list', 'listLedger', printLedger, { defaults: { limit: 50 } });
  addOperation(ledger, 'show <entry_id>', 'showEntry', printEntry);
  ledger
    .command('audit')
    .description('recompute every amount, sequence and balance; exits with 1 on any difference')
    .option(
      '--witness <file...>',
      'compare with usage objects that clients received, as JSON lines with their request_id',
    )
    .option('--anchor <block:hash>', 'end of the hash chain, from the log or an earlier audit')
    .option('--json', 'print JSON')
    .action((options: AuditOptions) =>
      run(
        options,
        async (call) => {
          const audit = await auditWithProgress(options.anchor, call);
          const witness =
            options.witness === undefined ? null : await compareWithFiles(options.witness, call);
          if (!audit.is_sound || (witness?.differences.length ?? 0) > 0) {
            process.exitCode = EXIT.refused;
          }
          return { ...audit, witness };
        },
        printAudit,
      ),
    );
  withJson(
    ledger
      .command('recharge')
      .description(
        'book charges that a restore lost, each at most once, from logs or usage objects',
      ),
  )
    .requiredOption(
      '--witness <file...>',
      "lines of the gateway's log, or JSON lines with request_id, key_id, model and usage",
    )
    .option(
      '--key <key_id...>',
      "charge only these keys; needed for usage objects, which are not from the gateway's log",
      [],
    )
    .action((options: OutputOptions & { readonly witness: string[]; readonly key: string[] }) =>
      run(
        options,
        async (call) => {
          const result = await rechargeFromFiles(options.witness, options.key, call);
          if (result.refused.length > 0) process.exitCode = EXIT.refused;
          return result;
        },
        printRecharge,
      ),
    );
  ledger
    .command('export')
    .description(
      'move the embedded ledger into an empty PostgreSQL database; stop the gateway first',
    )
    .addOption(
      new Option('--to <url>', 'such as postgres://user:password@host:5432/gateway')
        .env('EXPORT_DATABASE_URL')
        .makeOptionMandatory(),
    )
    .action(async ({ to }: { readonly to: string }) => {
      process.stdout.write(`${await timed(() => exportLedger(to))}\n`);
    });
  ledger
    .command('backup')
    .description('copy the embedded ledger into one file while it is in use')
    .requiredOption('--to <file>', 'the file to write; it must not exist')
    .action(async ({ to }: { readonly to: string }) => {
      process.stdout.write(`${await timed(() => backUpLedger(to))}\n`);
    });
  addArchive(ledger);
  addOperation(ledger, 'holds', 'listHolds', printHolds);
}

async function migrate(): Promise<void> {
  const config = readConfig(process.env);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = await openStore(config, dataDir, 'migration');
  await store.close();
  process.stdout.write("The ledger has this version's schema.\n");
}

/** No gateway may have the ledger open. */
async function exportLedger(connectionString: string): Promise<string> {
  const config = readConfig(process.env);
  const ledger = embeddedLedger(config, embeddedDataDir(config, 'export'));
  const { moveEmbeddedLedger } = await import('@gateway/balance-store/embedded');
  const report = await moveEmbeddedLedger({ ...ledger, connectionString });
  return printExport(report, config.dataDir);
}

async function backUpLedger(to: string): Promise<string> {
  const config = readConfig(process.env);
  const dataDir = embeddedDataDir(config, 'back up');
  const { backUpEmbeddedLedger } = await import('@gateway/balance-store/embedded');
  await backUpEmbeddedLedger({ dataDir: dataDir.path, to, onProgress: showShare });
  dataDir.recordBackup();
  return printBackup(to, config.dataDir);
}

function embeddedDataDir(config: Config, purpose: string): DataDir {
  if (config.databaseUrl !== undefined) {
    throw new ConfigError([`DATABASE_URL: is set, so there is no embedded ledger to ${purpose}`]);
  }
  return openDataDir(config.dataDir);
}

function showShare(done: number): void {
  showProgress(`${String(Math.floor(done * 100)).padStart(3)} %`, done === 1);
}
