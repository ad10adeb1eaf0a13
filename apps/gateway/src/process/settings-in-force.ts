/** The members of the app for clients that settings decide, and how a reload replaces them. */

import { isDeepStrictEqual } from 'node:util';
import type { PriceTable } from '@gateway/billing';
import type { Logger } from 'pino';
import { admittedFeatures } from '../config/admitted-features.js';
import type { Config } from '../config/config.js';
import { createHomeCosts } from '../config/home-tables.js';
import { createLivePrices } from '../config/live-prices.js';
import { readSchedules } from '../config/price-schedules.js';
import type { PriceSchedules } from '../config/price-schedules.js';
import { offeredIds } from '../config/settings.js';
import type { Settings } from '../config/settings.js';
import { isSimulated } from '../config/upstream-target.js';
import type { UpstreamTarget } from '../config/upstream-target.js';
import {
  createPreparationThread,
  createRequestPreparer,
} from '../exchange/preparation/preparer.js';
import type { PreparationThread } from '../exchange/preparation/preparer.js';
import type { PriceBook, PriceBookReading } from '../exchange/price-book.js';
import type { PricesAtHomes } from '../ledger/cost-at-home.js';
import type { AccountMetrics } from '../observe/account-metrics.js';
import type { Metrics } from '../observe/metrics.js';
import type { AccountState } from '../upstream/accounts/account-standing.js';
import type { UpstreamClient } from '../upstream/client.js';
import { openUpstream } from '../upstream/open-upstream.js';
import type { AppParts } from './app.js';

export type SettingsParts = Pick<
  AppParts,
  'accountLimits' | 'bookOf' | 'costs' | 'homeCosts' | 'isSimulated' | 'upstream'
>;

export interface SettingsInForceOptions {
  readonly accountMetrics: AccountMetrics;
  readonly metrics: Pick<Metrics, 'offer'>;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export class SettingsInForce {
  readonly #config: Config;
  readonly #options: SettingsInForceOptions;
  #settings: Settings;
  readonly #thread: PreparationThread;
  #schedules: PriceSchedules;
  /** By what accounts have as their prices. */
  #books = new Map<string | null, KeptBook>();
  #target: UpstreamTarget;
  /**
   * A reload replaces members of this object. The earlier ones are not closed, because requests
   * that began with them still use them. Without requests, a pool closes its connections, so that
   * it is freed.
   */
  readonly parts: { -readonly [Name in keyof SettingsParts]: SettingsParts[Name] };

  constructor(config: Config, settings: Settings, options: SettingsInForceOptions) {
    this.#config = config;
    this.#options = options;
    this.#settings = settings;
    this.#thread = createPreparationThread({ maxBodyBytes: config.maxBodyBytes });
    this.#schedules = readSchedules(settings);
    this.#target = settings.upstream;
    this.#offer();
    this.parts = {
      accountLimits: settings.accountLimits,
      bookOf: (prices, atMs) => this.#bookOf(prices, atMs),
      costs: costsOf(settings),
      homeCosts: createHomeCosts(settings.upstream, settings.costTable),
      isSimulated: isSimulated(settings.upstream),
      upstream: this.#open(settings.upstream),
    };
  }

  get version(): string {
    return this.#settings.version;
  }

  /** Requests that begin after this call use these settings. Requests in progress keep theirs. */
  apply(next: Settings): void {
    const isOtherUpstream = !isDeepStrictEqual(next.upstream, this.#settings.upstream);
    if (isOtherUpstream) {
      this.parts.upstream = this.#open(next.upstream);
      this.parts.isSimulated = isSimulated(next.upstream);
    }
    const { priceTable, customerTables } = this.#settings;
    if (
      isOtherUpstream ||
      !isDeepStrictEqual(next.priceTable, priceTable) ||
      !isDeepStrictEqual(next.customerTables, customerTables)
    ) {
      this.#schedules = readSchedules(next);
      this.#books = new Map();
    }
    if (isOtherUpstream || !isDeepStrictEqual(next.costTable, this.#settings.costTable)) {
      this.parts.costs = costsOf(next);
      this.parts.homeCosts = createHomeCosts(next.upstream, next.costTable);
    }
    this.parts.accountLimits = next.accountLimits;
    this.#settings = next;
    this.#offer();
  }

  async close(): Promise<void> {
    await this.parts.upstream.close();
    await this.#thread.close();
  }

  #offer(): void {
    this.#options.metrics.offer(offeredIds(this.#settings));
  }

  #bookOf(prices: string | null, atMs: number): PriceBookReading {
    const kept = this.#books.get(prices);
    if (kept !== undefined && atMs < kept.until) return kept.reading;
    const reading = this.#schedules.of(prices);
    if ('problem' in reading) return reading;
    const { schedule, homes } = reading;
    const ofHomes = [...homes].map(([home, own]) => [home, own.at(atMs)] as const);
    const homePrices = ofHomes.length === 0 ? undefined : new Map(ofHomes);
    const made = { book: this.#bookFor(schedule.at(atMs), homePrices) };
    const changes = [schedule, ...homes.values()].map((each) => each.nextChange(atMs));
    this.#books.set(prices, { reading: made, until: Math.min(...changes) });
    return made;
  }

  #bookFor(table: PriceTable, homePrices: PricesAtHomes | undefined): PriceBook {
    const { chat, tagMember } = this.#config;
    const { overdraft } = this.#config.exchange;
    const allow = admittedFeatures(this.#config, table);
    const homes = [...(homePrices ?? [])].map(([home, own]) => ({
      home,
      models: own.list(),
      fees: own.fees,
    }));
    const priced = { models: table.list(), fees: table.fees, homes };
    const rules = { ...priced, allow, overdraft, chat, tagMember };
    const preparer = createRequestPreparer(rules, this.#thread);
    return { prices: table, homePrices, allowedFeatures: allow, overdraft, preparer };
  }

  #open(target: UpstreamTarget): UpstreamClient {
    const { accountMetrics } = this.#options;
    this.#target = target;
    accountMetrics.keepStates('accounts' in target ? target.accounts.map(({ name }) => name) : []);
    return openUpstream(target, {
      proxies: this.#config.proxies,
      processes: this.#config.replicas * this.#config.workers,
      onAnswer: accountMetrics.onAnswer,
      onCredentialProblem: (account, reason) => {
        this.#options.log.error(
          { account, reason },
          'the credential of an upstream account cannot be renewed',
        );
      },
      onState: (account, state) => {
        // Requests that began before a reload still use the accounts of then.
        if (this.#target === target) this.#reportState(account, state);
      },
    });
  }

  #reportState(account: string, state: AccountState): void {
    const before = this.#options.accountMetrics.onState(account, state);
    if (before === state || (before === undefined && state === 'available')) return;
    const level = state === 'refused' ? 'error' : 'warn';
    this.#options.log[level]({ account, state }, 'upstream account');
  }
}

interface KeptBook {
  readonly reading: { readonly book: PriceBook };
  /** When its prices change, in milliseconds since the epoch. */
  readonly until: number;
}

function costsOf({ costTable }: Settings): PriceTable | undefined {
  if (costTable === undefined) return undefined;
  return createLivePrices({ priceTable: costTable, customerTables: {} });
}
