/**
 * Costs and prices of one upstream account: a factor of what holds elsewhere, or a table of its
 * own, which may extend it.
 */

import { z } from 'zod';
import {
  NAMED_TABLES,
  PriceTableError,
  parsePriceSchedule,
  wholePriceTable,
} from '@gateway/billing';
import type { PriceSchedule, PriceScheduleJson, PriceTable } from '@gateway/billing';
import type { AccountTarget, OwnTable, UpstreamTarget } from './upstream-target.js';

const OWN_TABLE = 'must be a factor such as "1.1", or a table as in a file of prices';
export const ownTable = z.union(
  [z.string().regex(/^\d{1,6}(?:\.\d{1,6})?$/, OWN_TABLE), z.record(z.string(), z.unknown())],
  OWN_TABLE,
);

interface Base {
  /** As which the table may be extended. */
  readonly name: 'costs' | 'prices';
  /** `undefined`: there is none, because `COSTS` is `none`. */
  readonly table: PriceScheduleJson | undefined;
}

/** @throws {PriceTableError} */
export function tableAtHome(own: OwnTable, { name, table }: Base): PriceScheduleJson {
  const json = typeof own === 'string' ? { extends: name, factor: own } : own;
  return wholePriceTable(json, { ...NAMED_TABLES, ...(table && { [name]: table }) });
}

interface HomeTables {
  readonly costTable: PriceScheduleJson | undefined;
  readonly priceTable: PriceScheduleJson;
  readonly customerTables: Readonly<Record<string, PriceScheduleJson>>;
  /** Whether `PRICES` names the table of the specification, which knows no homes. */
  readonly isSpecification: boolean;
}

/** @returns problems of the costs and prices of accounts, and models for which they have none */
export function problemsAtHomes(
  accounts: readonly AccountTarget[],
  { costTable, priceTable, customerTables, isSpecification }: HomeTables,
): readonly string[] {
  const offered = [priceTable, ...Object.values(customerTables)];
  return accounts.flatMap((account, index) => {
    const at = `UPSTREAMS: accounts.${String(index)}`;
    const { costs, prices } = account;
    if (prices !== undefined && isSpecification) {
      return [
        `${at}.prices: needs another table in PRICES: specification has the same rates everywhere`,
      ];
    }
    return [
      ...(costs === undefined
        ? []
        : problemsOf(
            costs,
            { name: 'costs', table: costTable },
            `${at}.costs`,
            servedIds(account, offered),
          )),
      ...(prices === undefined
        ? []
        : offered.flatMap((table) =>
            problemsOf(
              prices,
              { name: 'prices', table },
              `${at}.prices`,
              servedIds(account, [table]),
            ),
          )),
    ];
  });
}

/** The models of these tables that the account serves. */
function servedIds(
  { models }: AccountTarget,
  tables: readonly PriceScheduleJson[],
): readonly string[] {
  const ids = new Set(tables.flatMap((table) => table.models.map(({ id }) => id)));
  return [...ids].filter((id) => models === undefined || Object.hasOwn(models, id));
}

function problemsOf(
  own: OwnTable,
  base: Base,
  at: string,
  served: readonly string[],
): readonly string[] {
  try {
    const table = parsePriceSchedule(tableAtHome(own, base)).at(Date.now());
    const missing = served.filter((id) => table.find(id) === undefined);
    return missing.map((id) => `${at}: has no rates of ${id}, which the account serves`);
  } catch (error) {
    if (!(error instanceof PriceTableError)) throw error;
    return typeof own === 'string' && base.table === undefined
      ? [`${at}: a factor needs COSTS`]
      : error.problems.map((problem) => `${at}: ${problem}`);
  }
}

/** What is known of the account that answered, for the cost of its answer. */
export interface CostsAtHome {
  /** What the account costs; `undefined`: unknown. */
  readonly costs: PriceTable | undefined;
  /**
   * Where the account runs a model, if the usage does not say it.
   *
   * @param model - Its id in the price table.
   */
  readonly placeOf: (model: string) => string | undefined;
}

/** By the name of an account. `undefined` if its costs are those of `COSTS`. */
export type HomeCosts = (account: string | undefined, atMs: number) => CostsAtHome | undefined;

/** @returns `undefined` if no account has costs or a place of its own */
export function createHomeCosts(
  target: UpstreamTarget,
  costTable: PriceScheduleJson | undefined,
): HomeCosts | undefined {
  if (!('accounts' in target)) return undefined;
  const usual = costTable === undefined ? undefined : parsePriceSchedule(costTable);
  const homes = new Map<string, { schedule: PriceSchedule | undefined; account: AccountTarget }>();
  for (const account of target.accounts) {
    const { name, costs, place } = account;
    if (costs === undefined && place === undefined && !hasProfiles(account)) continue;
    const base = { name: 'costs', table: costTable } as const;
    const schedule = costs === undefined ? usual : parsePriceSchedule(tableAtHome(costs, base));
    homes.set(name, { schedule, account });
  }
  if (homes.size === 0) return undefined;
  return (name = '', atMs) => {
    const home = homes.get(name);
    return (
      home && {
        costs: home.schedule?.at(atMs),
        placeOf: (model) => profileOf(home.account.models?.[model]) ?? home.account.place,
      }
    );
  };
}

function hasProfiles({ models = {} }: AccountTarget): boolean {
  return Object.values(models).some((name) => profileOf(name) !== undefined);
}

/**
 * The geography of an inference profile: `eu` of `eu.anthropic.claude-…`, also at the end of an
 * ARN. `global` is none.
 *
 * https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
 */
function profileOf(name: string | undefined): string | undefined {
  const [, geography] = /(?:^|\/)([a-z][a-z-]{1,9})\.anthropic\./.exec(name ?? '') ?? [];
  return geography === 'global' ? undefined : geography;
}
