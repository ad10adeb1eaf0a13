/** The tree of commands. What they do is in `operations/`; this file only parses and prints. */

import { randomUUID } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import { ConfigError, readConfig } from '../config.js';
import type { Config } from '../config.js';
import { openDataDir } from '../data-dir.js';
import type { DataDir } from '../data-dir.js';
import { embeddedLedger, openStore } from '../open-store.js';
import { WITNESS_BATCH } from '../operations/operations.js';
import type { CallOperation } from '../operations/operations.js';
import type { WitnessDifference, WitnessedUsage } from '../operations/witness.js';
import { EXIT } from '../exit-codes.js';
import { withOperations } from './operations-access.js';
import { serve } from './serve.js';
import { readWitnessFile } from './witness-file.js';
import {
  printAudit,
  printBackup,
  printCreatedKey,
  printExport,
  printHolds,
  printKey,
  printKeys,
  printLedger,
  printModels,
  printTopUp,
} from './print.js';

interface JsonOption {
  readonly json?: boolean;
}

export function createProgram(): Command {
  const program = new Command('gateway')
    .description("Prepaid gateway to Anthropic's Messages API")
    .exitOverride()
    .showHelpAfterError();
  program
    .command('serve', { isDefault: true })
    .description('run the gateway (configured by environment variables, see .env.example)')
    .action(serve);
  program
    .command('migrate')
    .description("bring the ledger's schema to this version; gateway serve does so by itself")
    .action(migrate);
  addKeys(program.command('keys').description('API keys and their balances'));
  addLedger(program.command('ledger').description('the record of every charge and top-up'));
  program
    .command('models')
    .description('what is offered, and at what price')
    .command('list')
    .description('list models and rates')
    .option('--json', 'print JSON')
    .action((options: JsonOption) => run(options, (call) => call('listModels', {}), printModels));
  return program;
}

interface CreateOptions extends JsonOption {
  readonly name: string;
  readonly balance?: string;
  readonly concurrency?: number;
  readonly burst?: number;
  readonly requestsPerMinute?: number;
  readonly expiresAt?: string;
}

function addKeys(keys: Command): void {
  keys
    .command('create')
    .description('create a key; its credential is shown this once')
    .requiredOption('--name <name>', 'what people call it')
    .option('--balance <usd>', 'first credit, such as 5 or 0.25')
    .option('--concurrency <n>', 'requests in flight at once', integer)
    .option('--burst <n>', 'requests at once after a pause', integer)
    .option('--requests-per-minute <n>', 'sustained rate', integer)
    .option('--expires-at <time>', 'such as 2026-12-31T23:59:59Z')
    .option('--json', 'print JSON')
    .action((options: CreateOptions) =>
      run(
        options,
        (call) =>
          call('createKey', {
            name: options.name,
            balance_usd: options.balance,
            concurrency: options.concurrency,
            burst: options.burst,
            requests_per_minute: options.requestsPerMinute,
            expires_at: options.expiresAt,
            actor: 'cli',
          }),
        printCreatedKey,
      ),
    );
  keys
    .command('list')
    .description('list keys, newest first')
    .option('--limit <n>', 'at most this many', integer, 100)
    .option('--after <key_id>', 'continue after this key')
    .option('--json', 'print JSON')
    .action((options: JsonOption & { readonly limit: number; readonly after?: string }) =>
      run(
        options,
        (call) => call('listKeys', { limit: options.limit, after: options.after }),
        printKeys,
      ),
    );
  keys
    .command('show')
    .argument('<key_id>')
    .description('show one key')
    .option('--json', 'print JSON')
    .action((keyId: string, options: JsonOption) =>
      run(options, (call) => call('showKey', { key_id: keyId }), printKey),
    );
  keys
    .command('top-up')
    .argument('<key_id>')
    .argument('<usd>', 'amount, such as 10 or 0.5')
    .description('add credit, at once')
    .option('--id <id>', 'id of this top-up: repeating it never credits twice')
    .option('--json', 'print JSON')
    .action((keyId: string, amount: string, options: JsonOption & { readonly id?: string }) =>
      run(
        options,
        (call) =>
          call('topUp', {
            key_id: keyId,
            top_up_id: options.id ?? randomUUID(),
            amount_usd: amount,
            actor: 'cli',
          }),
        printTopUp,
      ),
    );
  const changes = [
    ['suspend', 'suspendKey', 'stop a key until it is resumed'],
    ['resume', 'resumeKey', 'lift a suspension'],
    ['revoke', 'revokeKey', 'stop a key for good'],
  ] as const;
  for (const [name, operation, description] of changes) {
    keys
      .command(name)
      .argument('<key_id>')
      .description(description)
      .option('--json', 'print JSON')
      .action((keyId: string, options: JsonOption) =>
        run(options, (call) => call(operation, { key_id: keyId }), printKey),
      );
  }
}

interface LedgerOptions extends JsonOption {
  readonly key?: string;
  readonly kind?: 'charge' | 'top_up';
  readonly model?: string;
  readonly from?: string;
  readonly until?: string;
  readonly limit: number;
  readonly cursor?: string;
}

interface AuditOptions extends JsonOption {
  readonly witness?: string;
  readonly anchor?: string;
}

/** Sends the file in batches and puts the answers together. */
async function compareWitness(file: string, call: CallOperation) {
  let compared = 0;
  const differences: WitnessDifference[] = [];
  let batch: WitnessedUsage[] = [];
  const compare = async () => {
    if (batch.length === 0) return;
    const answer = await call('compareWitness', { usages: batch });
    compared += answer.compared;
    differences.push(...answer.differences);
    batch = [];
  };
  for await (const usage of readWitnessFile(file)) {
    batch.push(usage);
    if (batch.length === WITNESS_BATCH) await compare();
  }
  await compare();
  return { compared, differences };
}

function addLedger(ledger: Command): void {
  ledger
    .command('list')
    .description('list entries, newest first')
    .option('--key <key_id>', 'of one key')
    .option('--kind <kind>', 'charge or top_up')
    .option('--model <model>', 'charges of one model')
    .option('--from <time>', 'only entries at or after this time, such as 2026-01-01T00:00:00Z')
    .option('--until <time>', 'only entries before this time')
    .option('--limit <n>', 'at most this many', integer, 50)
    .option('--cursor <cursor>', 'continue from the page before')
    .option('--json', 'print JSON')
    .action((options: LedgerOptions) =>
      run(
        options,
        (call) =>
          call('listLedger', {
            key_id: options.key,
            kind: options.kind,
            model: options.model,
            from: options.from,
            until: options.until,
            limit: options.limit,
            cursor: options.cursor,
          }),
        printLedger,
      ),
    );
  ledger
    .command('audit')
    .description('recompute every amount, sequence and balance; exits with 1 on any difference')
    .option('--witness <file>', 'compare with usage objects that clients received, as JSON lines')
    .option('--anchor <block:hash>', 'end of the hash chain, from the log or an earlier audit')
    .option('--json', 'print JSON')
    .action((options: AuditOptions) =>
      run(
        options,
        async (call) => {
          const audit = await call('auditLedger', { anchor: options.anchor });
          const witness =
            options.witness === undefined ? null : await compareWitness(options.witness, call);
          if (!audit.is_sound || (witness?.differences.length ?? 0) > 0) {
            process.exitCode = EXIT.refused;
          }
          return { ...audit, witness };
        },
        printAudit,
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
  ledger
    .command('holds')
    .description('list amounts held for requests (OVERDRAFT=none), newest first')
    .option('--state <state>', 'orphaned: not charged, not released; live: in flight', 'orphaned')
    .option('--limit <n>', 'at most this many', integer, 100)
    .option('--json', 'print JSON')
    .action(
      (options: JsonOption & { readonly state: 'live' | 'orphaned'; readonly limit: number }) =>
        run(
          options,
          (call) => call('listHolds', { state: options.state, limit: options.limit }),
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
  await backUpEmbeddedLedger({ dataDir: dataDir.path, to, onProgress: showProgress });
  return printBackup(to, config.dataDir);
}

function embeddedDataDir(config: Config, purpose: string): DataDir {
  if (config.databaseUrl !== undefined) {
    throw new ConfigError([`DATABASE_URL: is set, so there is no embedded ledger to ${purpose}`]);
  }
  return openDataDir(config.dataDir);
}

/** On a terminal only: a log would fill with it. */
function showProgress(done: number): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(
    `\r${String(Math.floor(done * 100)).padStart(3)} %${done === 1 ? '\n' : ''}`,
  );
}

async function run<Result>(
  options: JsonOption,
  operate: (call: CallOperation) => Promise<Result>,
  print: (result: Result) => string,
): Promise<void> {
  const result = await withOperations(operate);
  const text = options.json === true ? JSON.stringify(result, null, 2) : print(result);
  process.stdout.write(`${text}\n`);
}

function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}
