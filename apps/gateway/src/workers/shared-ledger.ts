/** Shares the embedded ledger, which only one process can open, with the workers. */

import type { BalanceStore } from '@gateway/balance-store';
import type { RequestLedger } from '../open-store.js';
import { reach } from './rpc.js';
import type { RpcTo } from './rpc.js';

export type LedgerCalls = ReturnType<typeof shareLedger>['calls'];

/** The primary's side, for one worker. */
export function shareLedger(store: BalanceStore) {
  /** Holds that the worker has placed and neither settled nor released. */
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
    /** Call it when the worker has ended, normally or not. */
    leave(): void {
      isGone = true;
      for (const requestId of holds) store.abandonHold(requestId);
    },
  };
}

/** The worker's side. */
export function remoteLedger(rpc: RpcTo<LedgerCalls>): RequestLedger {
  let pending = 0;
  return {
    findKeyByCredential: (credential) => reach(rpc, () => rpc.findKeyByCredential(credential)),
    getKey: (keyId) => reach(rpc, () => rpc.getKey(keyId)),
    readStanding: (keyId) => reach(rpc, () => rpc.readStanding(keyId)),
    findEntry: (keyId, requestId) => reach(rpc, () => rpc.findEntry(keyId, requestId)),
    listEntries: (filter) => reach(rpc, () => rpc.listEntries(filter)),
    quarantine: (usage) => reach(rpc, () => rpc.quarantine(usage)),
    ping: () => reach(rpc, () => rpc.ping()),
    placeHold: (hold) => reach(rpc, () => rpc.placeHold(hold)),
    releaseHold(requestId) {
      // If the primary has ended, nothing renews the hold, so it expires.
      reach(rpc, () => rpc.releaseHold(requestId)).catch(() => undefined);
    },
    async settle(settlement, options) {
      pending += 1;
      try {
        return await reach(rpc, () => rpc.settle(settlement, options));
      } finally {
        pending -= 1;
      }
    },
    pendingSettlements: () => pending,
  };
}
