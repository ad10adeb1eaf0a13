/**
 * Composes a gateway: the parts that exist once, the processes that serve clients, and the admin
 * API. The processes are this one (`single-process.ts`) or workers (`workers/primary.ts`).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { BalanceStore } from '@gateway/balance-store';
import type { PriceTable } from '@gateway/billing';
import { openLog } from '../base/log.js';
import type { OpenLog } from '../base/log.js';
import type { Config } from '../config/config.js';
import type { DataDir } from '../config/data-dir.js';
import type { Settings } from '../config/settings.js';
import { openResponseMemory } from '../exchange/response-memory/open-response-memory.js';
import type { ResponseMemory } from '../exchange/response-memory/response-memory.js';
import { createRegistry } from '../observe/registry.js';
import type { Payments } from '../payments/payments.js';
import type { OpenAdmin } from './admin-server.js';
import { openSharedParts } from './shared-parts.js';
import type { ClientProcesses } from './client-processes.js';

export interface RunningGateway extends OpenAdmin {
  readonly url: string;
  readonly store: BalanceStore;
  readonly prices: PriceTable;
  readonly log: Logger;
  /** Present if the ledger is embedded, that is, without `DATABASE_URL`. */
  readonly dataDir: DataDir | undefined;
  readonly isSimulated: boolean;
  /** Asks in the background whether the upstream accepts the credentials, and logs the answer. */
  readonly checkCredentials: () => void;
  /**
   * Announces the stop for the configured time. Then stops accepting connections, waits for a
   * limited time until the requests on open ones are finished and charged, and closes everything.
   *
   * @returns `abandoned`, how many requests were still in progress then
   */
  stop(): Promise<{ readonly abandoned: number }>;
}

/** What the processes that serve clients get. */
export interface SharedWithClients {
  readonly log: Logger;
  readonly store: BalanceStore;
  readonly settings: Settings;
  readonly payments: Payments | undefined;
  /** `undefined`: no responses are kept. */
  readonly responses: ResponseMemory | undefined;
  readonly registry: Registry;
}

interface Composition<Clients extends ClientProcesses> {
  /** Of this process among others that have the same metrics and the same log. */
  readonly label?: string;
  readonly start: (shared: SharedWithClients) => Promise<Clients>;
}

export async function composeGateway<Clients extends ClientProcesses>(
  config: Config,
  composition: Composition<Clients>,
): Promise<RunningGateway & { readonly clients: Clients }> {
  const opened = openLog(config.logLevel, { isShared: composition.label !== undefined });
  try {
    return await composeWithLog(config, composition, opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function composeWithLog<Clients extends ClientProcesses>(
  config: Config,
  { label, start }: Composition<Clients>,
  { log, close: closeLog }: OpenLog,
): Promise<RunningGateway & { readonly clients: Clients }> {
  const registry = createRegistry(label);
  const responses = await openResponseMemory(config, log);
  const shared = await openSharedParts(config, { log, registry, responses }).catch(
    (error: unknown) => {
      responses?.close();
      throw error;
    },
  );
  const { store, prices, settings, payments, dataDir, isSimulated } = shared;
  let clients: Clients | undefined;

  async function close(): Promise<{ readonly abandoned: number }> {
    const drained = (await clients?.drain()) ?? { abandoned: 0 };
    await shared.admin.close();
    await shared.closeLedger();
    await clients?.close();
    responses?.close();
    await shared.closeSimulator();
    await closeLog();
    return drained;
  }

  try {
    const started = await start({ log, registry, store, settings, payments, responses });
    clients = started;
    const admin = await shared.admin.open(started);
    return {
      url: started.url,
      ...admin,
      store,
      prices,
      log,
      dataDir,
      isSimulated,
      checkCredentials() {
        shared.admin.checkCredentials();
      },
      clients: started,
      async stop() {
        if (config.drainDelayMs > 0) {
          started.announceStop();
          await sleep(config.drainDelayMs);
        }
        return close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
