/**
 * The holds of this process. Places many of them per query, renews them while their requests run,
 * and releases those of requests that are not charged.
 */

import type { Pool } from 'pg';
import type { Hold, HoldOutcome, HoldRecord, HoldState } from '../hold.js';
import { numericFromUnits, unitsFromNumeric } from '../numeric.js';
import type { BalanceStore } from '../store.js';
import { createQueryBatcher } from './query-batcher.js';
import {
  READ_TIMEOUT_MS,
  WRITE_TIMEOUT_MS,
  queryArrays,
  queryRows,
  reachingDatabase,
} from './query.js';

/** How long a hold lives after its last renewal: when its process died or lost the database. */
const LIFETIME_MS = 300_000;
/** Two renewals may fail before a hold is lost. */
const RENEWALS_PER_LIFETIME = 3;

export interface HoldKeeper extends Pick<
  BalanceStore,
  'placeHold' | 'releaseHold' | 'abandonHold' | 'listHolds' | 'countHolds'
> {
  /** Stops renewing, and tries once more to release the holds that are still to be released. */
  readonly close: () => Promise<void>;
}

export interface HoldKeeperOptions {
  readonly hot: Pool;
  readonly admin: Pool;
  readonly lifetimeMs?: number | undefined;
}

type HoldRow = [
  ordinal: number,
  outcome: 'held' | 'short' | 'inactive',
  standing: 'active' | 'exhausted' | 'suspended' | 'revoked' | 'expired' | 'unknown',
  balance: string | null,
  held: string,
];

export function createHoldKeeper(options: HoldKeeperOptions): HoldKeeper {
  const { hot, admin, lifetimeMs = LIFETIME_MS } = options;
  const lifetime = `${String(lifetimeMs)} milliseconds`;
  const live = new Set<string>();
  const released = new Set<string>();
  let releasing: Promise<unknown> | undefined;
  let renewal: NodeJS.Timeout | undefined;

  const place = createQueryBatcher(async (holds: readonly Hold[]) => {
    const rows = await reachingDatabase(() =>
      queryArrays<HoldRow>(hot, {
        name: 'place_holds',
        text:
          'SELECT ordinal, outcome, standing, balance::text, held::text ' +
          'FROM place_holds($1, $2, $3::numeric[], $4::interval)',
        values: [
          holds.map(({ requestId }) => requestId),
          holds.map(({ keyId }) => keyId),
          holds.map(({ amount }) => numericFromUnits(amount)),
          lifetime,
        ],
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
    const outcomes: HoldOutcome[] = [];
    for (const row of rows) {
      const hold = holds[row[0] - 1];
      if (hold !== undefined) outcomes[row[0] - 1] = outcomeOf(row, hold);
    }
    return outcomes;
  });

  async function renew(): Promise<void> {
    await queryRows(hot, {
      text: 'SELECT renew_holds($1, $2::interval)',
      values: [[...live], lifetime],
      timeoutMs: WRITE_TIMEOUT_MS,
    });
  }

  async function release(): Promise<void> {
    while (released.size > 0) {
      const ids = [...released];
      await queryRows(hot, {
        name: 'release_holds',
        text:
          'DELETE FROM hold WHERE request_id IN (SELECT request_id FROM hold ' +
          'WHERE request_id = ANY ($1) ORDER BY request_id FOR UPDATE)',
        values: [ids],
        timeoutMs: WRITE_TIMEOUT_MS,
      });
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

  function keepAlive(): void {
    renewal ??= setInterval(() => {
      releaseSoon();
      // The next renewal makes up for one that fails.
      renew().catch(() => undefined);
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
    listHolds: (filter) => reachingDatabase(() => listHolds(admin, filter)),
    countHolds: (state) => reachingDatabase(() => countHolds(admin, state)),
    async close() {
      clearInterval(renewal);
      await releasing;
      await release().catch(() => undefined);
    },
  };
}

function outcomeOf([, outcome, standing, balanceText, heldText]: HoldRow, hold: Hold): HoldOutcome {
  if (standing !== 'active') return { outcome: 'inactive', standing };
  const [balance, held] = [unitsFromNumeric(balanceText ?? '0'), unitsFromNumeric(heldText)];
  if (outcome !== 'short') return { outcome: 'held', balance, held };
  return { outcome, balance, held, shortfall: held + hold.amount - balance };
}

async function countHolds(pool: Pool, state: HoldState): Promise<number> {
  const [row] = await queryRows<{ count: number }>(pool, {
    text: 'SELECT count(*)::int4 AS count FROM hold WHERE (orphaned_at IS NULL) = $1',
    values: [state === 'live'],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  return row?.count ?? 0;
}

async function listHolds(
  pool: Pool,
  { state, limit }: { readonly state: HoldState; readonly limit: number },
): Promise<readonly HoldRecord[]> {
  const rows = await queryRows<Omit<HoldRecord, 'amount'> & { readonly amount: string }>(pool, {
    text:
      'SELECT request_id AS "requestId", key_id AS "keyId", amount::text, created_at AS "createdAt", ' +
      'orphaned_at AS "orphanedAt" FROM hold WHERE (orphaned_at IS NULL) = $1 ' +
      'ORDER BY created_at DESC, request_id DESC LIMIT $2',
    values: [state === 'live', limit],
    timeoutMs: WRITE_TIMEOUT_MS,
  });
  return rows.map((row) => ({ ...row, amount: unitsFromNumeric(row.amount) }));
}
