/**
 * The parts that a gateway has once, for all of its processes: ledger, upkeep, admin API,
 * simulator.
 */

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BalanceStore } from '@gateway/balance-store';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';
import { memoryLimit, memoryProblem } from '../config/body-memory.js';
import { readChangedVariables } from '../config/changed-variables.js';
import type { ChangedVariables } from '../config/changed-variables.js';
import { ConfigError, readConfig, readEnvironment } from '../config/config.js';
import type { Config } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import type { DataDir } from '../config/data-dir.js';
import { unknownVariables } from '../config/describe-variables.js';
import { createLivePrices } from '../config/live-prices.js';
import type { LivePrices } from '../config/live-prices.js';
import { readFiles, readSettings } from '../config/settings.js';
import type { Settings, SettingsDefaults } from '../config/settings.js';
import { isSimulated } from '../config/upstream-target.js';
import { forgettingWithKeys } from '../exchange/response-memory/forget-with-keys.js';
import type { ResponseMemory } from '../exchange/response-memory/response-memory.js';
import { chargebackPlaces, startChargebackWriter } from '../operator/chargeback-writer.js';
import { startMonthCloser } from '../operator/month-closer.js';
import { startLedgerUpkeep } from '../ledger/ledger-upkeep.js';
import { openStoreWhenReachable, peppersOf } from '../ledger/open-store.js';
import { addLedgerMetrics } from '../observe/ledger-metrics.js';
import { startLeakWatch } from '../observe/leaks/leak-watch.js';
import { startMarginWatch } from '../observe/notifications/margin-watch.js';
import { startRetirementWatch } from '../observe/notifications/model-retirement.js';
import { startNotifications } from '../observe/notifications/notifications.js';
import { openPayments } from '../payments/open-payments.js';
import { startPaymentUpkeep } from '../payments/payment-upkeep.js';
import type { Payments } from '../payments/payments.js';
import { AdminServer } from './admin-server.js';

export interface SharedParts {
  readonly store: BalanceStore;
  readonly prices: LivePrices;
  /** Only with the embedded ledger. */
  readonly dataDir: DataDir | undefined;
  /** The settings that were read at the start. */
  readonly settings: Settings;
  readonly payments: Payments | undefined;
  readonly isSimulated: boolean;
  readonly admin: AdminServer;
  /** Completes pending writes, then closes the ledger. */
  closeLedger(): Promise<void>;
  closeSimulator(): Promise<void>;
}

const SIMULATOR_KEY = 'simulator';

export async function openSharedParts(
  config: Config,
  {
    log,
    registry,
    responses,
  }: {
    readonly log: Logger;
    readonly registry: Registry;
    readonly responses: ResponseMemory | undefined;
  },
): Promise<SharedParts> {
  const memory = memoryProblem(config, memoryLimit());
  if (memory !== undefined) log.warn(memory);
  for (const problem of unknownVariables(readEnvironment(process.env))) log.warn(problem);
  // Checks the files before the ledger is opened. All settings are read below, once the simulator's
  // address is known.
  readFiles(config);
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const store = forgettingWithKeys(await openStoreWhenReachable(config, dataDir, log), responses);
  try {
    return await openPartsOf({ store, dataDir }, config, log, registry);
  } catch (error) {
    // Otherwise its connections would keep this process alive.
    await store.close();
    throw error;
  }
}

async function openPartsOf(
  { store, dataDir }: Pick<SharedParts, 'store' | 'dataDir'>,
  config: Config,
  log: Logger,
  registry: Registry,
): Promise<SharedParts> {
  const simulator =
    config.upstream === undefined && config.upstreamsPath === undefined
      ? await startUpstreamSimulator({ apiKey: SIMULATOR_KEY })
      : undefined;
  const defaults: SettingsDefaults = {
    adminToken: dataDir?.secret('admin-token'),
    upstream:
      simulator === undefined
        ? undefined
        : { url: simulator.url, apiKey: SIMULATOR_KEY, isLocal: true },
    pepper: peppersOf(config).pepper,
  };
  const initiallyChanged = await readChangedVariables(store);
  const settings = readInitialSettings(config, initiallyChanged, defaults);
  const prices = createLivePrices(settings);
  const upkeep = startLedgerUpkeep(store, log, config.requestRecord);
  const summary = () => upkeep.summary;
  addLedgerMetrics(registry, {
    summary,
    isReachable: () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    charging: () => store.charging(),
    dataDir,
  });
  const retirements = startRetirementWatch({ prices, store, log, now: Date.now });
  const margins = startMarginWatch({ store, log, now: Date.now });
  const leaks = startLeakWatch({ store, mode: config.leakEvents, log, now: Date.now });
  const months = startMonthCloser({
    store,
    log,
    booksZone: config.customer.booksZone,
    operator: config.customer.operator,
    afterDays: config.books.closeAfterDays,
    now: Date.now,
  });
  const chargebacks = startChargebackWriter({
    store,
    log,
    places: await chargebackPlaces(config.books),
    operator: config.customer.operator,
    now: Date.now,
  });
  const notifications = await startNotifications(config, { store, registry, log, summary });
  const payments = await openPayments(config, { ledger: store, registry, log });
  const paymentUpkeep = payments === undefined ? undefined : startPaymentUpkeep(payments, log);
  const admin = new AdminServer(
    config,
    { initial: settings, initiallyChanged, defaults },
    { store, prices, upkeep, payments, registry, log },
  );

  return {
    store,
    prices,
    dataDir,
    settings,
    payments,
    isSimulated: isSimulated(settings.upstream),
    admin,
    async closeLedger() {
      await paymentUpkeep?.stop();
      await notifications.stop();
      await retirements.stop();
      await margins.stop();
      await leaks.stop();
      await months.stop();
      await chargebacks.stop();
      await upkeep.stop();
      await store.close();
    },
    async closeSimulator() {
      await simulator?.close();
    },
  };
}

/** @throws {ConfigError} that also says how to take back what operators changed */
function readInitialSettings(
  config: Config,
  { texts }: ChangedVariables,
  defaults: SettingsDefaults,
): Settings {
  const names = Object.keys(texts);
  if (names.length === 0) return readSettings(config, defaults);
  try {
    return readSettings(readConfig(config.env, texts), defaults);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError([
      ...error.problems,
      `operators changed ${names.join(', ')}: "farthing change-setting <name> --value none" takes a change back`,
    ]);
  }
}
