/**
 * The settings: the part of the configuration that can change while the gateway serves. They are
 * read and checked as a whole, so that nothing changes if a file is invalid.
 */

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { NAMED_TABLES, PriceTableError, formatUsd, wholePriceTable } from '@gateway/billing';
import type { NamedTable, PriceScheduleJson } from '@gateway/billing';
import { reasonOf } from '../base/error-code.js';
import type { AdminToken } from './admin-tokens.js';
import { ConfigError, readPart } from './config.js';
import type { Config } from './config.js';
import { problemsAtHomes } from './home-tables.js';
import type { UpstreamTarget } from './upstream-target.js';
import { upstreamTarget } from './upstreams-file.js';

/** Plain data, because the primary sends it to its workers. */
export interface Settings {
  /** Equal on all replicas with equal settings. It does not reveal the settings. */
  readonly version: string;
  /** A price schedule as JSON, checked. */
  readonly priceTable: PriceScheduleJson;
  /** Those of customers, by name: whole, and checked. */
  readonly customerTables: Readonly<Record<string, PriceScheduleJson>>;
  /** The same for what requests cost the operator; `undefined` if that is not configured. */
  readonly costTable: PriceScheduleJson | undefined;
  readonly upstream: UpstreamTarget;
  readonly keyLimits: Config['keyLimits'];
  readonly accountLimits: Config['accountLimits'];
  /** Threshold of the event `balance.low` for new accounts, in USD. */
  readonly lowBalanceUsd: string | undefined;
  /** The tokens that the admin API accepts. */
  readonly adminTokens: readonly AdminToken[];
  readonly metricsToken: string | undefined;
}

/**
 * Without any of these at the start, and without a token in the data directory, there is no admin
 * API that could accept a new token.
 */
export const ADMIN_TOKEN_VARIABLES = ['ADMIN_TOKEN', 'ADMIN_TOKEN_PREVIOUS', 'ADMIN_TOKENS'];

/** Values from the data directory and the simulator, for settings that the configuration lacks. */
export interface SettingsDefaults {
  readonly adminToken: string | undefined;
  /** The simulator's address. */
  readonly upstream: UpstreamTarget | undefined;
  /** Secret, and the same on every replica. The version is computed with it. */
  readonly pepper: string;
}

/** @throws {ConfigError} One line per problem, with the variable and the place in its file. */
export function readSettings(config: Config, defaults: SettingsDefaults): Settings {
  const { upstream: configured, ...tables } = readFiles(config);
  const upstream = configured ?? defaults.upstream;
  if (upstream === undefined) {
    throw new ConfigError(['UPSTREAM_API_KEY: cannot be removed while the gateway serves']);
  }
  const settings = {
    ...tables,
    upstream,
    keyLimits: config.keyLimits,
    accountLimits: config.accountLimits,
    lowBalanceUsd: config.lowBalance === undefined ? undefined : formatUsd(config.lowBalance),
    adminTokens: adminTokensOf(config, defaults),
    metricsToken: config.metricsToken,
  };
  // The digest is keyed, so that a secret cannot be found by guessing.
  const digest = createHmac('sha256', defaults.pepper).update(JSON.stringify(settings));
  return { version: digest.digest('hex').slice(0, 12), ...settings };
}

/**
 * Reads the files and tables that the configuration names. Every change of a setting is checked by
 * it, whether a running gateway or a command makes it.
 *
 * @returns `upstream` is undefined if the bundled simulator answers
 * @throws {ConfigError} with the problems of all of them
 */
export function readFiles(config: Config): Pick<
  Settings,
  'priceTable' | 'customerTables' | 'costTable'
> & {
  readonly upstream: UpstreamTarget | undefined;
} {
  const problems: string[] = [];
  const prices = readPart(problems, () => readPriceTables(config));
  const upstream = readPart(problems, () => upstreamTarget(config));
  if (prices !== undefined && upstream !== undefined) problems.push(...unpriced(upstream, prices));
  const costTable = readPart(problems, () => readCostTable(config));
  if (prices !== undefined && upstream !== undefined && 'accounts' in upstream) {
    const isSpecification = config.prices === 'specification';
    const tables = { ...prices, costTable, isSpecification };
    problems.push(...problemsAtHomes(upstream.accounts, tables));
  }
  if (prices === undefined || problems.length > 0) throw new ConfigError(problems);
  return { ...prices, costTable, upstream };
}

/** A name for a model that has no price is a mistake: no request can ever use it. */
function unpriced(
  upstream: UpstreamTarget,
  tables: Pick<Settings, 'priceTable' | 'customerTables'>,
): readonly string[] {
  if (!('accounts' in upstream)) return [];
  const priced = offeredIds(tables);
  return upstream.accounts.flatMap(({ models = {} }, index) =>
    Object.keys(models)
      .filter((id) => !priced.includes(id))
      .map((id) => {
        const place = `accounts.${String(index)}.models.${id}`;
        return `UPSTREAMS: ${place}: is not the id of a model that PRICES offers`;
      }),
  );
}

/** The ids of all models that a customer may be offered. */
export function offeredIds({
  priceTable,
  customerTables,
}: Pick<Settings, 'priceTable' | 'customerTables'>): string[] {
  const tables = [priceTable, ...Object.values(customerTables)];
  return [...new Set(tables.flatMap(({ models }) => models.map(({ id }) => id)))];
}

/** `ADMIN_TOKEN` and the token that it replaces count as the same operator, also in the trail. */
function adminTokensOf(config: Config, defaults: SettingsDefaults): readonly AdminToken[] {
  const tokens = [config.adminToken ?? defaults.adminToken, config.previousAdminToken];
  const admin = tokens
    .filter((token) => token !== undefined)
    .map((token): AdminToken => ({ name: 'admin', right: 'all', token }));
  return [...admin, ...config.adminTokens];
}

/**
 * @returns the table of the models that are offered, as JSON. It was checked.
 * @throws {ConfigError}
 */
export function readPriceTable({
  prices,
  verifiedModels,
}: Pick<Config, 'prices' | 'verifiedModels'>): PriceScheduleJson {
  const table = readWholeTable(prices);
  const restricted = table.models.filter(({ verified_only: only }) => only === true);
  const wrong = verifiedModels.filter((id) => !restricted.some((model) => model.id === id));
  if (wrong.length > 0) {
    const ids = restricted.map(({ id }) => id).join(', ');
    throw new ConfigError([
      `VERIFIED_MODELS: ${wrong.join(', ')}: must be models of the price table that are for verified organizations only (${ids})`,
    ]);
  }
  return offered(table, { verifiedModels, variable: 'PRICES' });
}

/** @throws {ConfigError} */
function offered(
  table: PriceScheduleJson,
  { verifiedModels, variable }: Pick<Config, 'verifiedModels'> & { readonly variable: string },
): PriceScheduleJson {
  const models = table.models.filter(
    ({ id, verified_only: only }) => only !== true || verifiedModels.includes(id),
  );
  if (models.length === 0) {
    throw new ConfigError([`${variable}: has only models that VERIFIED_MODELS does not name`]);
  }
  return { ...table, models };
}

/**
 * @returns the tables that customers pay by. They were checked.
 * @throws {ConfigError} with every problem of all tables
 */
export function readPriceTables(
  config: Pick<Config, 'prices' | 'verifiedModels' | 'customerPrices'>,
): Pick<Settings, 'priceTable' | 'customerTables'> {
  const priceTable = readPriceTable(config);
  const { customerPrices, verifiedModels } = config;
  if (customerPrices === undefined) return { priceTable, customerTables: {} };
  const bases = { ...NAMED_TABLES, prices: priceTable };
  const problems: string[] = [];
  const tables = Object.entries(readCustomerFile(customerPrices)).flatMap(([name, json]) => {
    const variable = `${CUSTOMER_PRICES}: ${name}`;
    try {
      const table = offered(wholePriceTable(json, bases), { verifiedModels, variable });
      return [[name, table] as const];
    } catch (error) {
      if (error instanceof ConfigError) problems.push(...error.problems);
      else if (error instanceof PriceTableError) {
        problems.push(...error.problems.map((problem) => `${variable}.${problem}`));
      } else throw error;
      return [];
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return { priceTable, customerTables: Object.fromEntries(tables) };
}

const CUSTOMER_PRICES = 'CUSTOMER_PRICES';

/**
 * @param text - The JSON itself, or the file that has it.
 * @throws {ConfigError}
 */
export function readJson(text: string, variable: string): unknown {
  try {
    return JSON.parse(isJsonText(text) ? text : readFileSync(text, 'utf8'));
  } catch (error) {
    throw new ConfigError([`${variable}: ${reasonOf(error)}`]);
  }
}

/** Whether the text of a variable is JSON itself, and not the name of a file. */
export function isJsonText(text: string): boolean {
  return text.startsWith('{');
}

/** Whether the text of a variable is the name of a table that comes with the product. */
export function isNamedTable(text: string): text is NamedTable {
  // Not `in`, which also finds what objects inherit, such as `constructor`.
  return Object.hasOwn(NAMED_TABLES, text);
}

/** @throws {ConfigError} */
function readCustomerFile(path: string): Readonly<Record<string, unknown>> {
  const json = readJson(path, CUSTOMER_PRICES);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ConfigError([`${CUSTOMER_PRICES}: must have an object of price tables by name`]);
  }
  const wrong = Object.keys(json).find((name) => !PRICES_NAME.test(name));
  if (wrong !== undefined) {
    throw new ConfigError([
      `${CUSTOMER_PRICES}: ${JSON.stringify(wrong)}: a name must be a small letter and up to 39 small letters, digits, - and _`,
    ]);
  }
  return json as Readonly<Record<string, unknown>>;
}

/** Begins with a letter, as a factor with a digit. `none` removes an account's own prices. */
const PRICES_NAME = /^(?!none$)[a-z][a-z0-9_-]{0,39}$/;

/** @throws {ConfigError} */
export function readCostTable({ costs }: Pick<Config, 'costs'>): PriceScheduleJson | undefined {
  return costs === 'none' ? undefined : readWholeTable(costs, 'COSTS');
}

/**
 * @param prices - The name of a table, its JSON, or a file.
 * @returns all models of the table, also those that VERIFIED_MODELS does not name
 */
export function readWholeTable(prices: string, variable = 'PRICES'): PriceScheduleJson {
  if (isNamedTable(prices)) return NAMED_TABLES[prices];
  const json = readJson(prices, variable);
  try {
    return wholePriceTable(json);
  } catch (error) {
    throw new ConfigError([`${variable}: ${reasonOf(error)}`]);
  }
}
