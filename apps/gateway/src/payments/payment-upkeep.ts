/**
 * Regular work for payments while the gateway serves: compares the provider with the ledger at the
 * start and every hour, books what the ledger lacks, and runs auto top-ups. It runs in the process
 * that owns the ledger; with PostgreSQL it runs in each replica, and nothing is booked or charged
 * twice.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonOf } from '../base/error-code.js';
import { DAY_MS, HOUR_MS } from '../base/times.js';
import type { Payments } from './payments.js';

const AUTO_TOP_UP_PERIOD_MS = 10_000;
const RECONCILE_PERIOD_MS = HOUR_MS;
const STOP_PATIENCE_MS = 5_000;
/** The longest range, which is that at the start: as far back as the provider lists changes. */
const FIRST_RANGE_MS = 30 * DAY_MS;
/**
 * The range of each later comparison starts this long before the last successful comparison. This
 * is longer than the three days for which a provider repeats a notification that was not accepted.
 */
const RANGE_MS = 4 * DAY_MS;

export interface PaymentUpkeep {
  /** Waits some seconds for work in progress. */
  stop(): Promise<void>;
}

export function startPaymentUpkeep(payments: Payments, log: Logger): PaymentUpkeep {
  const stopping = new AbortController();

  let lastSuccess: Date | undefined;

  async function reconcile(): Promise<void> {
    const until = new Date();
    const from = startOfRange(lastSuccess, until);
    const { compared, missing } = await payments.reconcile({ from, until }, 'apply');
    lastSuccess = until;
    if (missing.length > 0)
      log.warn({ compared, missing }, 'the ledger lacked payments, refunds or disputes');
  }

  async function attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // The provider or the ledger may be unavailable for a while; the next run tries again.
      const reason = reasonOf(error);
      log.warn({ reason }, `${what} failed`);
    }
  }

  async function repeat(periodMs: number, work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      await work();
      const wait = sleep(periodMs, undefined, { signal: stopping.signal, ref: false });
      await wait.catch(() => undefined);
    }
  }

  const loops = [
    repeat(RECONCILE_PERIOD_MS, () => attempt('comparing payments', reconcile)),
    repeat(AUTO_TOP_UP_PERIOD_MS, () => attempt('auto top-up', () => payments.autoTopUp.runDue())),
  ];

  return {
    async stop() {
      stopping.abort();
      // Work that takes longer is repeated later, with the same ids.
      await Promise.race([Promise.all(loops), sleep(STOP_PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}

/** @param lastSuccess - When the last successful comparison began. */
export function startOfRange(lastSuccess: Date | undefined, until: Date): Date {
  const earliest = until.getTime() - FIRST_RANGE_MS;
  if (lastSuccess === undefined) return new Date(earliest);
  return new Date(Math.max(lastSuccess.getTime() - RANGE_MS, earliest));
}
