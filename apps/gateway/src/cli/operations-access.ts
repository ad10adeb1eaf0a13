/**
 * Connects the command line with the ledger. If `ADMIN_URL` is set, it uses the admin API there.
 * Otherwise it opens the ledger itself, whether or not a gateway is running.
 */

import { pino } from 'pino';
import { Registry } from 'prom-client';
import { SchemaTooOldError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import { newRefusal } from '../base/errors/refusal.js';
import { readChangedVariables, writeChange } from '../config/changed-variables.js';
import { readConfig, readEnvironment } from '../config/config.js';
import { openDataDir } from '../config/data-dir.js';
import { describeVariables } from '../config/describe-variables.js';
import { changeVariable, needsRestart } from '../config/reloader.js';
import type { SettingsReport } from '../config/reloader.js';
import { createLiveCosts, createLivePrices } from '../config/live-prices.js';
import { readCostTable, readFiles, readPriceTables } from '../config/settings.js';
import { readBookkeeping } from '../config/bookkeeping.js';
import { upstreamTarget } from '../config/upstreams-file.js';
import { openStore, peppersOf } from '../ledger/open-store.js';
import { createKeyLinks } from '../ledger/key-links.js';
import { createReadLinks } from '../ledger/read-links.js';
import { OperationError } from '../endpoints/operation-error.js';
import { createLocalCaller, createRemoteCaller } from '../operator/operations/callers.js';
import type { OperationContext } from '../operator/operations/operation.js';
import type { CallOperation } from '../operator/operations/operations.js';
import { openPayments } from '../payments/open-payments.js';
import { keyLinkMailer } from '../process/mail-key-link.js';
import { listUpstreamModels } from '../upstream/list-models.js';
import { openProviderReports } from '../upstream/provider-reports/open-provider-reports.js';
import { showEntries, timed } from './progress.js';

/** With a stopwatch on a terminal, if it takes long. */
export function withOperations<Result>(
  operate: (call: CallOperation) => Promise<Result>,
): Promise<Result> {
  return timed(() => connected(operate));
}

async function connected<Result>(
  operate: (call: CallOperation) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(process.env);
  if (config.adminUrl !== undefined) {
    return operate(createRemoteCaller({ url: config.adminUrl, token: config.adminToken ?? '' }));
  }
  const dataDir = config.databaseUrl === undefined ? openDataDir(config.dataDir) : undefined;
  const target = upstreamTarget(config);
  const store = await openStore(config, dataDir, 'command').catch((error: unknown) => {
    if (!(error instanceof SchemaTooOldError)) throw error;
    throw new SchemaTooOldError(
      `${error.message}. Run "farthing migrate", or start this version of the gateway`,
      { cause: error },
    );
  });
  try {
    const payments = await openPayments(config, {
      ledger: store,
      registry: new Registry(),
      log: pino({ level: config.logLevel }, pino.destination(2)),
    });
    const changed = await readChangedVariables(store);
    const inForce = once(() => readConfig(process.env, changed.texts));
    const homes = target && { upstream: target };
    const prices = once(() => createLivePrices({ ...readPriceTables(inForce()), ...homes }));
    const costTable = once(() => ({ costTable: readCostTable(inForce()), ...homes }));
    const costs = createLiveCosts(costTable);
    return await operate(
      createLocalCaller({
        store,
        get prices() {
          return prices();
        },
        costsAt: costs.at,
        costsAtHome: costs.atHome,
        upstreamModels:
          target === undefined ? undefined : () => listUpstreamModels(target, config.proxies),
        get defaultLimits() {
          return inForce().keyLimits;
        },
        get lowBalance() {
          return inForce().lowBalance;
        },
        payments,
        reports: openProviderReports(config, target),
        overdraft: config.exchange.overdraft,
        operator: config.customer.operator,
        booksZone: config.customer.booksZone,
        bookkeeping: readBookkeeping(config),
        sendsEvents: config.webhook !== undefined,
        sendsMail: config.customer.sendsMail,
        readLinks: createReadLinks(peppersOf(config)),
        keyLinks: createKeyLinks(peppersOf(config)),
        publicUrl: config.publicUrl,
        mailKeyLink: keyLinkMailer(config),
        live: undefined,
        settingsDesk: settingsBesideGateway(store),
        now: Date.now,
        onProgress: showEntries,
        by: { name: 'cli' },
      }),
    );
  } finally {
    await store.close();
  }
}

/**
 * Reads a value when it is first needed. A change of the settings that cannot be used must not
 * keep the command from running that takes it back.
 */
function once<Value>(read: () => Value): () => Value {
  let known: { readonly value: Value } | undefined;
  return () => (known ??= { value: read() }).value;
}

/** The settings as this command's environment and the ledger have them. */
function settingsBesideGateway(store: BalanceStore): OperationContext['settingsDesk'] {
  async function report(): Promise<SettingsReport> {
    const { texts } = await readChangedVariables(store);
    const environment = readEnvironment(process.env);
    return {
      object: 'settings',
      version: null,
      loaded_at: null,
      workers: [],
      needs_restart: [],
      variables: describeVariables({
        env: process.env,
        started: environment,
        loaded: environment,
        changed: texts,
        needsStart: needsRestart,
      }),
    };
  }
  return {
    report,
    reload: () => {
      throw new OperationError(newRefusal('reload_needs_gateway'));
    },
    async change(change, by) {
      await changeVariable(change, by, {
        readChanged: () => readChangedVariables(store),
        writeChange: (before, written) => writeChange(store, before, written),
        check: (texts) => readFiles(readConfig(process.env, texts)),
      });
      // A running gateway follows within seconds.
      return report();
    },
  };
}
