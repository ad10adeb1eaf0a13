/** Reports a clock of the ledger that was set back: in the log, and by `ledger.clock_behind`. */

import type { Logger } from 'pino';
import type { BalanceStore, LedgerSummary } from '@gateway/balance-store';

/** Clocks are set back by less than this now and then, which nobody notices. */
const TOLERANCE_MS = 1_000;

/**
 * @returns a function that compares the clock with the last entry. While the clock is behind, the
 * last entry keeps its time, so each setting back is logged once by a process, and is one event.
 */
export function createClockWatch(store: Pick<BalanceStore, 'recordEvent'>, log: Logger) {
  let reported: number | undefined;
  return async ({ lastEntryAt, clockBehindMs }: LedgerSummary): Promise<void> => {
    if (lastEntryAt === undefined || clockBehindMs <= TOLERANCE_MS) return;
    if (reported === lastEntryAt.getTime()) return;
    const figures = {
      behind_seconds: String(Math.round(clockBehindMs / 1000)),
      last_entry_at: lastEntryAt.toISOString(),
    };
    await store.recordEvent({
      id: `evt_ledger.clock_behind:${figures.last_entry_at}`,
      type: 'ledger.clock_behind',
      accountId: '',
      keyId: undefined,
      data: figures,
    });
    log.error(figures, 'clock behind the ledger');
    reported = lastEntryAt.getTime();
  };
}
