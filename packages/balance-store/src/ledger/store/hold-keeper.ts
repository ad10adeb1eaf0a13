/**
 * The holds of this process. Places many of them per query, renews them while their requests run,
 * and releases those of requests that are not charged.
 */

import type { Hold } from '../../hold.js';
import type { BalanceStore } from '../../store.js';
import type { HoldTable } from '../database/ledger-database.js';
import { createQueryBatcher } from '../base/query-batcher.js';

/** How long a hold lives after its last renewal, if its process died or lost the database. */
const LIFETIME_MS = 300_000;
/**
 * A hold survives two failed renewals in a row. After a third one, it may expire before the next
 * renewal.
 */
const RENEWALS_PER_LIFETIME = 4;

export interface HoldKeeper extends Pick<
  BalanceStore,
  'placeHold' | 'releaseHold' | 'abandonHold' | 'listHolds' | 'countHolds'
> {
  /** Renews the holds of this process, and marks the expired ones of any process as orphaned. */
  readonly sweep: () => Promise<void>;
  /** Stops renewing, and tries once more to release the holds that are still to be released. */
  readonly close: () => Promise<void>;
}

export function createHoldKeeper(table: HoldTable, lifetimeMs = LIFETIME_MS): HoldKeeper {
  const live = new Set<string>();
  const released = new Set<string>();
  let releasing: Promise<unknown> | undefined;
  let renewal: NodeJS.Timeout | undefined;

  const place = createQueryBatcher((holds: readonly Hold[]) => table.place(holds, lifetimeMs));

  async function release(): Promise<void> {
    while (released.size > 0) {
      const ids = [...released];
      await table.release(ids);
      for (const id of ids) released.delete(id);
    }
  }

  /** Holds that cannot be released now are tried again at the next renewal. */
  function releaseSoon(): void {
    releasing ??= new Promise((resolve) => setImmediate(resolve))
      .then(release)
      .catch(() => undefined)
      .finally(() => {
        releasing = undefined;
      });
  }

  const sweep = () => table.renew([...live], lifetimeMs);

  function keepAlive(): void {
    renewal ??= setInterval(() => {
      releaseSoon();
      // If a renewal fails, the next ones are early enough.
      sweep().catch(() => undefined);
    }, lifetimeMs / RENEWALS_PER_LIFETIME).unref();
  }

  return {
    async placeHold(hold) {
      if (hold.amount < 0n) throw new RangeError('a hold must not be negative');
      keepAlive();
      const outcome = await place(hold);
      if (outcome.outcome === 'held') live.add(hold.requestId);
      return outcome;
    },
    releaseHold(requestId) {
      live.delete(requestId);
      released.add(requestId);
      releaseSoon();
    },
    abandonHold(requestId) {
      live.delete(requestId);
    },
    listHolds: (filter) => table.list(filter),
    countHolds: (state) => table.count(state),
    sweep,
    async close() {
      clearInterval(renewal);
      await releasing;
      await release().catch(() => undefined);
    },
  };
}
