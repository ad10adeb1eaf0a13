/** The members of the app for clients that settings decide, and how a reload replaces them. */

import { isDeepStrictEqual } from 'node:util';
import { parsePriceSchedule } from '@gateway/billing';
import type { PriceSchedule, PriceTable } from '@gateway/billing';
import type { Logger } from 'pino';
import { admittedFeatures } from '../config/admitted-features.js';
import type { Config } from '../config/config.js';
import { createLivePrices } from '../config/live-prices.js';
import type { Settings } from '../config/settings.js';
import { isSimulated } from '../config/upstream-target.js';
import type { UpstreamTarget } from '../config/upstream-target.js';
import { createRequestPreparer } from '../exchange/preparation/preparer.js';
import type { RequestPreparer } from '../exchange/preparation/preparer.js';
import type { AccountMetrics } from '../observe/account-metrics.js';
import type { Metrics } from '../observe/metrics.js';
import type { AccountState } from '../upstream/accounts/account-standing.js';
import type { UpstreamClient } from '../upstream/client.js';
import { openUpstream } from '../upstream/open-upstream.js';
import type { AppParts } from './app.js';

export type SettingsParts = Pick<
  AppParts,
  | 'accountLimits'
  | 'allowedFeatures'
  | 'changePrices'
  | 'costs'
  | 'isSimulated'
  | 'preparer'
  | 'prices'
  | 'pricesUntil'
  | 'upstream'
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
  #schedule: PriceSchedule;
  #target: UpstreamTarget;
  /**
   * A reload replaces members of this object. The earlier ones are not closed, because requests
   * that began with them still use them. Without requests, a preparer has no thread and a pool
   * closes its connections, so both are freed.
   */
  readonly parts: { -readonly [Name in keyof SettingsParts]: SettingsParts[Name] };

  constructor(config: Config, settings: Settings, options: SettingsInForceOptions) {
    this.#config = config;
    this.#options = options;
    this.#settings = settings;
    this.#schedule = parsePriceSchedule(settings.priceTable);
    this.#target = settings.upstream;
    const now = options.now();
    const prices = this.#schedule.at(now);
    this.parts = {
      accountLimits: settings.accountLimits,
      allowedFeatures: admittedFeatures(config, prices),
      changePrices: (at) => {
        this.#changePrices(at);
      },
      costs: costsOf(settings),
      isSimulated: isSimulated(settings.upstream),
      preparer: this.#preparerFor(prices),
      prices,
      pricesUntil: this.#schedule.nextChange(now),
      upstream: this.#open(settings.upstream),
    };
  }

  get version(): string {
    return this.#settings.version;
  }

  /** Requests that begin after this call use these settings. Requests in progress keep theirs. */
  apply(next: Settings): void {
    if (!isDeepStrictEqual(next.upstream, this.#settings.upstream)) {
      this.parts.upstream = this.#open(next.upstream);
      this.parts.isSimulated = isSimulated(next.upstream);
    }
    if (!isDeepStrictEqual(next.priceTable, this.#settings.priceTable)) {
      this.#schedule = parsePriceSchedule(next.priceTable);
      this.#changePrices(this.#options.now());
    }
    if (!isDeepStrictEqual(next.costTable, this.#settings.costTable)) {
      this.parts.costs = costsOf(next);
    }
    this.parts.accountLimits = next.accountLimits;
    this.#settings = next;
  }

  #changePrices(now: number): void {
    const table = this.#schedule.at(now);
    this.parts.prices = table;
    this.parts.pricesUntil = this.#schedule.nextChange(now);
    this.parts.allowedFeatures = admittedFeatures(this.#config, table);
    this.parts.preparer = this.#preparerFor(table);
    this.#options.metrics.offer(idsOf(table));
  }

  #preparerFor(table: PriceTable): RequestPreparer {
    const { overdraft, chat, maxBodyBytes } = this.#config;
    const allow = admittedFeatures(this.#config, table);
    return createRequestPreparer(
      { models: table.list(), fees: table.fees, allow, overdraft, chat },
      { maxBodyBytes },
    );
  }

  #open(target: UpstreamTarget): UpstreamClient {
    const { accountMetrics } = this.#options;
    this.#target = target;
    accountMetrics.keepStates('accounts' in target ? target.accounts.map(({ name }) => name) : []);
    return openUpstream(target, {
      proxies: this.#config.proxies,
      processes: this.#config.replicas * this.#config.workers,
      onAnswer: accountMetrics.onAnswer,
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

function costsOf({ costTable }: Settings): PriceTable | undefined {
  return costTable === undefined ? undefined : createLivePrices({ priceTable: costTable });
}

export function idsOf(prices: PriceTable): string[] {
  return prices.list().map(({ id }) => id);
}
