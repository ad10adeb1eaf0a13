/** What a serving gateway does for its ledger every minute. */

import type { Logger } from 'pino';
import type { BalanceStore, SealHead } from '@gateway/balance-store';

const PERIOD_MS = 60_000;

export interface Upkeep {
  /** Holds whose requests were never charged nor given up, as last counted. */
  readonly orphanedHolds: number;
  stop(): Promise<void>;
}

/**
 * Seals new entries and counts orphaned holds, once a minute from now on. The end of the chain is logged:
 * wherever logs are kept, it proves later that nothing before it was changed.
 */
export function startUpkeep(store: BalanceStore, log: Logger): Upkeep {
  let last: SealHead | undefined;
  let orphanedHolds = 0;
  let all = true;
  let running: Promise<void> = Promise.resolve();

  async function tidy(): Promise<void> {
    const head = await store.sealEntries({ all });
    all = false;
    if (head !== undefined && head.block !== last?.block) {
      log.info({ block: head.block.toString(), hash: head.hash }, 'ledger sealed');
    }
    last = head;
    const orphans = await store.countHolds('orphaned');
    if (orphans > orphanedHolds) log.error({ holds: orphans }, 'holds without a charge');
    orphanedHolds = orphans;
  }

  const timer = setInterval(() => {
    running = running.then(tidy).catch((error: unknown) => {
      // An outage passes; a ledger that cannot be sealed is for `ledger audit` to explain.
      const reason = error instanceof Error ? error.message : String(error);
      log.warn({ reason }, 'ledger upkeep failed');
    });
  }, PERIOD_MS).unref();

  return {
    get orphanedHolds() {
      return orphanedHolds;
    },
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
