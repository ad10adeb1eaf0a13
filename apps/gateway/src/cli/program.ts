/**
 * The tree of commands. Most only parse and print; their work is done in `operations/`. `migrate`
 * and `ledger export`, `backup`, `archive` and `verify-archive` open the ledger themselves.
 */

import { Argument, Command, Option } from 'commander';
import { version } from '../../package.json';
import { ConfigError, readConfig } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import type { DataDir } from '../config/data-dir.js';
import { exampleFile } from '../config/describe-variables.js';
import { readWholeTable } from '../config/settings.js';
import { embeddedLedger, openStore } from '../ledger/open-store.js';
import type { Port } from '../openapi/openapi-route.js';
import { EXIT } from '../process/exit-codes.js';
import { addAccounts } from './account-commands.js';
import { addArchive } from './archive-commands.js';
import { auditWithProgress } from './audit-command.js';
import { checkConfig, tryLedger } from './check-config.js';
import { addKeys } from './key-commands.js';
import { integer, run, runList, runPages, show, time, withFormats, withJson } from './output.js';
import type { FormatOptions, OutputOptions } from './output.js';
import { addPayments, addPromoCodes } from './payment-commands.js';
import { printEntry, printLedger } from './print-ledger.js';
import { printAudits, printBooks, printToday } from './print-overview.js';
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
import { showProgress } from './progress.js';
import { addReconcile } from './reconcile-command.js';
import { printReloads, reloadReplicas } from './reload.js';
import { compareWithFiles, rechargeFromFiles } from './witness-commands.js';

export function createProgram(): Command {
  const program = new Command('gateway')
    .description("Prepaid gateway to Anthropic's Messages API")
    .version(version)
    .exitOverride()
    .showHelpAfterError();
  program
    .command('serve', { isDefault: true })
    .description('run the gateway (configured by environment variables, see .env.example)')
    .action(async () => {
      // Imported here, so that the other commands need not load the server.
      const { serve } = await import('./serve.js');
      await serve();
    });
  program
    .command('migrate')
    .description("bring the ledger's schema to this version; gateway serve does so by itself")
    .action(migrate);
  program
    .command('config')
    .description('print every variable of the configuration with its default, as a file')
    .action(() => {
      process.stdout.write(exampleFile());
    });
  program
    .command('check-config')
    .description('check the configuration and the files that it names, without starting')
    .option('--ledger', 'then try whether the ledger can be used and a charge be recorded')
    .action(async ({ ledger }: { readonly ledger?: true }) => {
      process.stdout.write(`${checkConfig()}\n`);
      if (ledger === true) process.stdout.write(`${await tryLedger()}\n`);
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
  program
    .command('openapi')
    .description('print the OpenAPI document of the port for clients, or of the admin API')
    .addArgument(new Argument('[port]').choices(['client', 'admin']).default('client'))
    .action(async (port: Port) => {
      const { openApiDocument } = await import('../openapi/document.js');
      process.stdout.write(`${JSON.stringify(openApiDocument(port), undefined, 2)}\n`);
    });
  addAccounts(
    program.command('accounts').description('balances, and the entries that change them'),
  );
  addKeys(program.command('keys').description('API keys, their limits and caps'));
  addPayments(program.command('payments').description('payments by the payment provider'));
  addPromoCodes(program.command('promo-codes').description('codes for promotional credit'));
  addReports(program);
  addReconcile(program.command('reconcile'));
  addLedger(program.command('ledger').description('the record of every charge and top-up'));
  const models = program.command('models').description('the offered models and their prices');
  models
    .command('diff')
    .description('compare the price table with the models that the upstream offers')
    .option('--json', 'print JSON')
    .action((options: OutputOptions) =>
      run(options, (call) => call('compareModels', {}), printModelsDiff),
    );
  models
    .command('table')
    .description('print the price table of this configuration, in the form that PRICE_TABLE takes')
    .action(() => {
      const table = readWholeTable(readConfig(process.env).priceTablePath);
      process.stdout.write(`${JSON.stringify(table, undefined, 2)}\n`);
    });
  withFormats(models.command('list').description('list models and rates')).action(
    (options: FormatOptions) => runList(options, { name: 'listModels', input: {} }, printModels),
  );
  return program;
}

interface UsageOptions extends FormatOptions {
  readonly by: string;
  readonly from: string;
  readonly until?: string;
  readonly account?: string;
  readonly key?: string;
  readonly model?: string;
  readonly sort?: 'charged' | 'requests' | 'tokens';
  readonly top?: number;
}

interface EventOptions extends FormatOptions {
  readonly state?: 'pending' | 'delivered' | 'undelivered';
  readonly account?: string;
  readonly limit: number;
  readonly after?: string;
}

interface TrailOptions extends FormatOptions {
  readonly account?: string;
  readonly key?: string;
  readonly limit: number;
  readonly after?: string;
}

function addReports(program: Command): void {
  withFormats(
    program.command('usage').description('sums of requests, tokens and USD over a range of time'),
  )
    .requiredOption('--from <time>', 'from this whole hour or day on, such as 2026-11-01', time)
    .option('--until <time>', 'before this whole hour or day; default: everything until now', time)
    .option(
      '--by <dimensions>',
      'what to group by: some of day, hour, model, account, key, endpoint, upstream',
      'day,model',
    )
    .option('--account <account_id>', 'only those of this account')
    .option('--key <key_id>', 'only those of this key')
    .option('--model <model>', 'only those of this model')
    .option('--sort <figure>', 'largest first, by charged, requests or tokens')
    .option('--top <n>', 'at most this many', integer)
    .action((options: UsageOptions) =>
      runList(
        options,
        {
          name: 'listUsage',
          input: {
            by: options.by,
            from: options.from,
            until: options.until,
            account_id: options.account,
            key_id: options.key,
            model: options.model,
            sort: options.sort,
            top: options.top,
          },
        },
        printUsage,
      ),
    );
  withFormats(
    program
      .command('books')
      .argument('<month>', 'such as 2026-11')
      .description('credits, adjustments, charges and balances of a month, by account and in all'),
  ).action((month: string, options: FormatOptions) =>
    runPages(options, { name: 'showBooks', input: { month } }, printBooks),
  );
  withJson(program.command('today').description('spend, balances and requests at a glance')).action(
    (options: OutputOptions) => run(options, (call) => call('showToday', {}), printToday),
  );
  withFormats(
    program.command('audits').description('list audits of the running gateway, newest first'),
  ).action((options: FormatOptions) =>
    runList(options, { name: 'listAudits', input: {} }, printAudits),
  );
  withFormats(program.command('events').description('list events and their delivery, oldest first'))
    .option('--state <state>', 'pending, delivered or undelivered')
    .option('--account <account_id>', 'only those of this account')
    .option('--limit <n>', 'at most this many', integer, 100)
    .option('--after <cursor>', 'continue after the previous page')
    .action((options: EventOptions) =>
      runList(
        options,
        {
          name: 'listEvents',
          input: {
            state: options.state,
            account_id: options.account,
            limit: options.limit,
            cursor: options.after,
          },
        },
        printEvents,
      ),
    );
  withFormats(program.command('trail').description('list who changed what, newest first'))
    .option('--account <account_id>', 'only those of this account')
    .option('--key <key_id>', 'only those of this key')
    .option('--limit <n>', 'at most this many', integer, 100)
    .option('--after <cursor>', 'continue after the previous page')
    .action((options: TrailOptions) =>
      runList(
        options,
        {
          name: 'listTrail',
          input: {
            account_id: options.account,
            key_id: options.key,
            limit: options.limit,
            cursor: options.after,
          },
        },
        printTrail,
      ),
    );
}

interface LedgerOptions extends FormatOptions {
  readonly account?: string;
  readonly key?: string;
  readonly kind?: 'charge' | 'top_up' | 'adjustment' | 'expiry';
  readonly model?: string;
  readonly from?: string;
  readonly until?: string;
  readonly limit: number;
  readonly after?: string;
}

interface AuditOptions extends OutputOptions {
  readonly witness?: readonly string[];
  readonly anchor?: string;
}

function addLedger(ledger: Command): void {
  withFormats(ledger.command('list').description('list entries, newest first'))
    .option('--account <account_id>', 'only those of this account')
    .option(
      '--key <key_id>',
      'only charges of this key, and the entries of its account that are not charges',
    )
    .option('--kind <kind>', 'charge, top_up, adjustment or expiry')
    .option('--model <model>', 'only charges of this model')
    .option('--from <time>', 'only entries from this time or day on, such as 2026-01-01', time)
    .option('--until <time>', 'only entries before this time or day', time)
    .option('--limit <n>', 'at most this many', integer, 50)
    .option('--after <cursor>', 'continue after the previous page')
    .action((options: LedgerOptions) =>
      runList(
        options,
        {
          name: 'listLedger',
          input: {
            account_id: options.account,
            key_id: options.key,
            kind: options.kind,
            model: options.model,
            from: options.from,
            until: options.until,
            limit: options.limit,
            cursor: options.after,
          },
        },
        printLedger,
      ),
    );
  withJson(
    ledger.command('show').argument('<entry_id>').description('show everything about one entry'),
  ).action((entryId: string, options: OutputOptions) =>
    run(options, (call) => call('showEntry', { entry_id: entryId }), printEntry),
  );
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
      process.stdout.write(`${await exportLedger(to)}\n`);
    });
  ledger
    .command('backup')
    .description('copy the embedded ledger into one file while it is in use')
    .requiredOption('--to <file>', 'the file to write; it must not exist')
    .action(async ({ to }: { readonly to: string }) => {
      process.stdout.write(`${await backUpLedger(to)}\n`);
    });
  addArchive(ledger);
  withFormats(
    ledger
      .command('holds')
      .description('list amounts held for requests (OVERDRAFT=none), newest first'),
  )
    .option('--state <state>', 'orphaned: not charged, not released; live: in flight', 'orphaned')
    .option('--limit <n>', 'at most this many', integer, 100)
    .action(
      (options: FormatOptions & { readonly state: 'live' | 'orphaned'; readonly limit: number }) =>
        runList(
          options,
          { name: 'listHolds', input: { state: options.state, limit: options.limit } },
          printHolds,
        ),
    );
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
