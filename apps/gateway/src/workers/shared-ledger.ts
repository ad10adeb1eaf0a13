/** One ledger for several processes: the embedded one, which a single process can have open. */

import type { BalanceStore } from '@gateway/balance-store';
import type { RequestLedger } from '../ledger.js';
import { reach } from './link.js';
import type { LinkTo } from './link.js';

export type LedgerCalls = ReturnType<typeof shareLedger>['calls'];

/** The primary's side, for one worker. */
export function shareLedger(store: BalanceStore) {
  /** Placed by the worker, neither settled nor given back. */
  const holds = new Set<string>();
  let isGone = false;

  return {
    calls: {
      findKeyByCredential: (...args: Parameters<BalanceStore['findKeyByCredential']>) =>
        store.findKeyByCredential(...args),
      getKey: (...args: Parameters<BalanceStore['getKey']>) => store.getKey(...args),
      readStanding: (...args: Parameters<BalanceStore['readStanding']>) =>
        store.readStanding(...args),
      findEntry: (...args: Parameters<BalanceStore['findEntry']>) => store.findEntry(...args),
      listEntries: (...args: Parameters<BalanceStore['listEntries']>) => store.listEntries(...args),
      quarantine: (...args: Parameters<BalanceStore['quarantine']>) => store.quarantine(...args),
      ping: () => store.ping(),
      async placeHold(...[hold]: Parameters<BalanceStore['placeHold']>) {
        const placed = await store.placeHold(hold);
        if (placed.outcome === 'held') holds.add(hold.requestId);
        if (isGone) store.abandonHold(hold.requestId);
        return placed;
      },
      releaseHold(requestId: string) {
        holds.delete(requestId);
        store.releaseHold(requestId);
      },
      settle(...[settlement, options]: Parameters<BalanceStore['settle']>) {
        return store.settle(settlement, options).finally(() => {
          holds.delete(settlement.requestId);
        });
      },
    },
    /** To be called when the worker has ended, however it did. */
    leave(): void {
      isGone = true;
      for (const requestId of holds) store.abandonHold(requestId);
    },
  };
}

/** The worker's side. */
export function linkedLedger(link: LinkTo<LedgerCalls>): RequestLedger {
  let pending = 0;
  return {
    findKeyByCredential: (credential) => reach(link, () => link.findKeyByCredential(credential)),
    getKey: (keyId) => reach(link, () => link.getKey(keyId)),
    readStanding: (keyId) => reach(link, () => link.readStanding(keyId)),
    findEntry: (keyId, requestId) => reach(link, () => link.findEntry(keyId, requestId)),
    listEntries: (filter) => reach(link, () => link.listEntries(filter)),
    quarantine: (usage) => reach(link, () => link.quarantine(usage)),
    ping: () => reach(link, () => link.ping()),
    placeHold: (hold) => reach(link, () => link.placeHold(hold)),
    releaseHold(requestId) {
      // Without a primary nothing keeps the hold alive any more.
      reach(link, () => link.releaseHold(requestId)).catch(() => undefined);
    },
    async settle(settlement, options) {
      pending += 1;
      try {
        return await reach(link, () => link.settle(settlement, options));
      } finally {
        pending -= 1;
      }
    },
    pendingSettlements: () => pending,
  };
}
