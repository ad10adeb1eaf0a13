/**
 * `farthing check-config`: checks the whole configuration without starting anything, and whether
 * the upstream accepts the credentials.
 */

import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { SchemaTooOldError } from '@gateway/balance-store';
import { parsePriceSchedule } from '@gateway/billing';
import { memoryLimit, memoryProblem } from '../config/body-memory.js';
import { ConfigError, readConfig, readEnvironment, readPart } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import { givenValues, unknownVariables } from '../config/describe-variables.js';
import { offeredIds, readFiles } from '../config/settings.js';
import { upstreamTarget } from '../config/upstreams-file.js';
import { openStore, peppersOf } from '../ledger/open-store.js';
import { describeCheck, describeMissing } from '../upstream/credential-watch.js';
import { undeclaredGaps } from '../upstream/homes/gaps.js';
import { checkCredentials } from '../upstream/list-models.js';
import type { CredentialCheck } from '../upstream/list-models.js';

/**
 * @returns a summary for a person
 * @throws {ConfigError} with every problem of the variables. If there is none, with every problem
 * of the files that they name, and of combinations with which the gateway does not start, or starts
 * but does not work as intended.
 */
export function checkConfig(): string {
  const environment = readEnvironment(process.env);
  const config = readConfig(process.env);
  const { upstreamsPath } = config;
  const problems: string[] = [];
  const files = readPart(problems, () => readFiles(config));
  problems.push(...misfits(config));
  if (files === undefined || problems.length > 0) throw new ConfigError(problems);
  const schedule = parsePriceSchedule(files.priceTable);
  const now = Date.now();
  const next = schedule.nextChange(now);
  return [
    'The configuration can be used.',
    `  Upstream:  ${config.upstream?.url ?? upstreamsPath ?? 'the bundled SIMULATOR'}`,
    `  Ledger:    ${config.databaseUrl === undefined ? `embedded, in ${config.dataDir}` : 'PostgreSQL'}`,
    `  Limits:    ${config.redisUrls.length === 0 ? 'in memory' : 'Redis'}`,
    `  Models:    ${String(schedule.at(now).list().length)}`,
    `  Prices:    ${next === Infinity ? 'no change scheduled' : `change at ${new Date(next).toISOString()}`}`,
    `  Traces:    ${tracesOf(config)}`,
    'Variables that are set:',
    ...givenValues(process.env, environment).map((line) => `  ${line}`),
    ...unknownVariables(environment).map((line) => `Look at ${line}`),
    ...unserved(files).map((line) => `Look at ${line}`),
    ...gaps(files).map((line) => `Look at ${line}`),
  ].join('\n');
}

/**
 * Asks the upstream something with each credential, which costs nothing and takes seconds.
 *
 * @returns a line for each upstream account, and for a refused one a problem in its place; a
 * problem for each model that an account does not serve under its configured name. If the upstream
 * cannot be reached, that is no problem of the configuration.
 */
export async function tryUpstream(): Promise<{
  readonly lines: readonly string[];
  readonly problems: readonly string[];
}> {
  const config = readConfig(process.env);
  const target = upstreamTarget(config);
  const checks = target === undefined ? [] : await checkCredentials(target, config.proxies);
  const isRefused = ({ outcome }: CredentialCheck): boolean => outcome === 'refused';
  return {
    lines: checks.filter((check) => !isRefused(check)).map(describeCheck),
    problems: [...checks.filter(isRefused).map(describeCheck), ...checks.flatMap(describeMissing)],
  };
}

/**
 * Logs in to the mail server, and sends nothing.
 *
 * @returns a line for a person, or a problem in its place; `undefined` without `SMTP_URL`
 */
export async function tryMail(): Promise<
  { readonly line: string } | { readonly problem: string } | undefined
> {
  const { mail } = readConfig(process.env);
  if (mail === undefined) return undefined;
  const { tryMailServer } = await import('../process/try-mail.js');
  const reason = await tryMailServer(mail);
  return reason === undefined
    ? { line: 'The mail server can be used.' }
    : { problem: `SMTP_URL: ${reason}` };
}

/**
 * Tries to record a charge, without leaving a trace. Creates and migrates nothing.
 *
 * @returns lines for a person
 * @throws {DatabaseUnsuitableError} if the database can keep no ledger
 * @throws {StoreUnavailableError} if a charge cannot be recorded now
 */
export async function tryLedger(): Promise<readonly string[]> {
  const config = readConfig(process.env);
  const { databaseUrl } = config;
  let remarks: readonly string[] = [];
  if (databaseUrl === undefined) {
    const { ledgerFile } = await import('@gateway/balance-store/embedded');
    // Opening the folder would create it, and the secrets in it, as the user who runs the check.
    if (!existsSync(ledgerFile(config.dataDir))) return [toBeMade('no file')];
  } else {
    const { checkPostgresServer } = await import('@gateway/balance-store/postgres');
    remarks = await checkPostgresServer(databaseUrl);
  }
  try {
    const dataDir = databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
    const store = await openStore(config, dataDir, 'command');
    try {
      await store.probeCharging();
    } finally {
      await store.close();
    }
    return [...remarks, 'A charge can be recorded in the ledger.'];
  } catch (error) {
    if (!(error instanceof SchemaTooOldError)) throw error;
    return [...remarks, toBeMade(error.message)];
  }
}

function toBeMade(reason: string): string {
  return `There is no ledger of this version yet (${reason}): farthing serve makes it.`;
}

/** Models that are offered, but that no upstream account serves to most customers. */
function unserved({ upstream, ...tables }: ReturnType<typeof readFiles>): readonly string[] {
  if (upstream === undefined || !('accounts' in upstream)) return [];
  const shared = upstream.accounts.filter(({ onlyFor }) => onlyFor === undefined);
  const isServed = (id: string): boolean =>
    shared.some(({ models }) => models === undefined || Object.hasOwn(models, id));
  const ids = offeredIds(tables).filter((id) => !isServed(id));
  return ids.length === 0
    ? []
    : [`UPSTREAMS: no account without only_for serves ${ids.join(', ')}, which PRICES offers`];
}

function gaps({ upstream }: ReturnType<typeof readFiles>): readonly string[] {
  return upstream !== undefined && 'accounts' in upstream ? undeclaredGaps(upstream.accounts) : [];
}

/** Leaves out the path of the address, which may be a secret. */
function tracesOf({ tracing }: Config): string {
  if (tracing === undefined) return 'off';
  const { ratio, followsParent } = tracing.sampling;
  const share = ratio === 1 ? 'all requests' : `${String(ratio * 100)} % of requests`;
  const chosen = followsParent ? ', except those that clients chose not to record' : '';
  return `to ${new URL(tracing.url).origin}: ${share}${chosen}`;
}

/** Problems of combinations. */
function misfits(config: Config): readonly string[] {
  const problems: string[] = [];
  if (config.replicas > 1 && config.redisUrls.length === 0) {
    problems.push('REDIS_URL: is needed with several REPLICAS, which otherwise share no limits');
  }
  if (config.replicas > 1 && config.databaseUrl === undefined) {
    problems.push('DATABASE_URL: is needed with several REPLICAS, which otherwise share no ledger');
  }
  const hasToken = config.adminToken !== undefined || config.adminTokens.length > 0;
  if (config.databaseUrl !== undefined && !hasToken) {
    problems.push('ADMIN_TOKEN: is needed with DATABASE_URL; without it there is no admin API');
  }
  if (config.databaseUrl === undefined && !isWritable(config.dataDir)) {
    problems.push(`DATA_DIR: ${config.dataDir} cannot be written`);
  } else if (config.previousKeyPepper !== undefined) {
    readPart(problems, () => peppersOf(config));
  }
  const memory = memoryProblem(config, memoryLimit());
  if (memory !== undefined) problems.push(memory);
  return problems;
}

/** Whether the folder, or the first one above it that exists, can be written. */
function isWritable(path: string): boolean {
  let folder = resolve(path);
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
