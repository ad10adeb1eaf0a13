/**
 * Shares the embedded ledger with the workers. They read keys and standings themselves. All other
 * calls, and every charge, go to the primary, which owns the ledger: the charges of all workers are
 * then committed together.
 */

import { StoreUnavailableError } from '@gateway/balance-store';
import type { BalanceStore } from '@gateway/balance-store';
import type { EmbeddedReader } from '@gateway/balance-store/embedded';
import { FORWARDED } from '../../ledger/open-store.js';
import type { RequestLedger } from '../../ledger/open-store.js';
import { reach } from './rpc.js';
import type { RpcTo } from './rpc.js';

type Forwarded = Pick<BalanceStore, (typeof FORWARDED)[number]>;
type AnyCall = (...args: readonly unknown[]) => Promise<never>;

/** The methods that a worker calls in the primary as they are. */
function forwarding(callFor: (name: keyof Forwarded) => AnyCall): Forwarded {
  return Object.fromEntries(FORWARDED.map((name) => [name, callFor(name)])) as unknown as Forwarded;
}

function callOf(from: Forwarded, name: keyof Forwarded): AnyCall {
  return from[name].bind(from) as unknown as AnyCall;
}

export type LedgerCalls = ReturnType<typeof shareLedger>['calls'];

/** The primary's side of the ledger that it shares with one worker. */
export function shareLedger(store: BalanceStore) {
  /** Holds that the worker has placed and neither settled, released nor abandoned. */
  const holds = new Set<string>();
  let isGone = false;

  return {
    calls: {
      ...forwarding(
        (name) =>
          (...args: readonly unknown[]) =>
            callOf(store, name)(...args),
      ),
      /** @returns why charges cannot be recorded; `undefined` while they can */
      chargingFault: () => store.charging().fault?.message,
      /** Finding a key that is stored under the previous pepper stores it under the current one. */
      async renewHash(credential: string) {
        await store.findKeyByCredential(credential);
      },
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
      abandonHold(requestId: string) {
        holds.delete(requestId);
        store.abandonHold(requestId);
      },
      settleTogether(...[settlements, options]: Parameters<BalanceStore['settleTogether']>) {
        return store.settleTogether(settlements, options).finally(() => {
          for (const { requestId } of settlements) holds.delete(requestId);
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

/** A worker refuses new requests once a charge of its own has waited for this long. */
const SETTLE_PATIENCE_MS = 4_000;

/** How often a worker asks the primary whether charges can be recorded. */
const ASK_MS = 250;

/** The worker's side of the shared ledger. */
export function remoteLedger(
  rpc: RpcTo<LedgerCalls>,
  reader: EmbeddedReader,
): RequestLedger & { readonly close: () => void } {
  /** When each charge that is not durable yet was sent, the oldest first. */
  const pending = new Map<string, number>();
  let reported: StoreUnavailableError | undefined;
  let isAsking = false;

  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    try {
      const reason = await reach(rpc, () => rpc.chargingFault());
      reported = reason === undefined ? undefined : new StoreUnavailableError(reason);
    } catch (error) {
      reported = new StoreUnavailableError('the process that owns the ledger has ended', {
        cause: error,
      });
    }
    isAsking = false;
  }
  const asking = setInterval(() => void ask(), ASK_MS).unref();

  function fault(): StoreUnavailableError | undefined {
    const [oldest] = pending.values();
    if (oldest === undefined || performance.now() - oldest <= SETTLE_PATIENCE_MS) return reported;
    return new StoreUnavailableError('the ledger cannot record charges at the moment');
  }

  function assertSettling(): void {
    const known = fault();
    if (known !== undefined) throw known;
  }

  return {
    charging: () => ({ fault: fault() }),
    close() {
      clearInterval(asking);
      reader.close();
    },
    findKeyByCredential: (...args) => reader.findKeyByCredential(...args),
    recallKey: (credential) => reader.recallKey(credential),
    getKey: (keyId) => reader.getKey(keyId),
    async readStanding(keyId) {
      assertSettling();
      // Without the primary the file can still be read, but nothing can be charged.
      return reach(rpc, () => reader.readStanding(keyId));
    },
    ...forwarding(
      (name) =>
        (...args: readonly unknown[]) =>
          reach(rpc, () => callOf(rpc, name)(...args)),
    ),
    async placeHold(hold) {
      assertSettling();
      return reach(rpc, () => rpc.placeHold(hold));
    },
    releaseHold(requestId) {
      // If the primary has ended, nothing renews the hold, so it expires.
      reach(rpc, () => rpc.releaseHold(requestId)).catch(() => undefined);
    },
    abandonHold(requestId) {
      reach(rpc, () => rpc.abandonHold(requestId)).catch(() => undefined);
    },
    async settleTogether(settlements, options) {
      for (const { requestId } of settlements) pending.set(requestId, performance.now());
      try {
        return await reach(rpc, () => rpc.settleTogether(settlements, options));
      } finally {
        for (const { requestId } of settlements) pending.delete(requestId);
      }
    },
    pendingSettlements: () => pending.size,
  };
}
