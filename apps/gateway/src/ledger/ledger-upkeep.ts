/**
 * Seals the ledger, rolls up sums of usage, lets credit expire, deletes old requests and reads the
 * ledger's summary, once a minute.
 */

import type { Logger } from 'pino';
import type { BalanceStore, LedgerSummary, SealHead } from '@gateway/balance-store';
import { reasonOf } from '../base/error-code.js';
import { DAY_MS, MINUTE_MS } from '../base/times.js';
import type { Config } from '../config/config.js';
import { createClockWatch } from './clock-watch.js';

const PERIOD_MS = MINUTE_MS;
/** Every hour, a pass looks for unsealed entries of all accounts, not only for new entries. */
const PASSES_OVER_NEW = 59;
/** Old requests are deleted once an hour. */
const PASSES_PER_PRUNING = 60;
/** The event about a key's expiry is written this long before the key expires. */
const EXPIRY_NOTICE_MS = 7 * 86_400_000;

export interface LedgerUpkeep {
  /** The figures of the last reading; `undefined` before the first one. */
  readonly summary: LedgerSummary | undefined;
  stop(): Promise<void>;
}

/**
 * Reads the ledger's summary at once. Then, every minute, it seals new entries, rolls up the sums
 * of past hours, lets credit expire and reads the summary again. It logs the end of the hash chain.
 * If that log is kept elsewhere, it proves later that no sealed entry was changed.
 *
 * A step that fails is logged, and the others run all the same. A minute is skipped while the steps
 * of an earlier one run.
 */
export function startLedgerUpkeep(
  store: BalanceStore,
  log: Logger,
  requests: Config['requestRecord'],
): LedgerUpkeep {
  let passesUntilPruned = 0;
  let last: SealHead | undefined;
  let summary: LedgerSummary | undefined;
  let passesUntilAll = 0;
  const reportClock = createClockWatch(store, log);
  let isStopped = false;
  let running: Promise<void> | undefined = run([['summarize', summarize]]);

  const everyMinute: readonly Step[] = [
    ['seal', seal],
    ['roll up', () => store.rollUpUsage()],
    ['expire', () => store.expire({ keysWithinMs: EXPIRY_NOTICE_MS })],
    ['prune requests', pruneRequests],
    ['summarize', summarize],
  ];

  async function seal(): Promise<void> {
    // A pass that fails may have sealed the entries of some accounts and left older ones of other
    // accounts unsealed. Passes over new entries would miss those. A clock that is set back hides
    // entries from passes that look only at new ones.
    const remaining = passesUntilAll;
    passesUntilAll = 0;
    const head = await store.sealEntries({ all: remaining === 0 });
    passesUntilAll = remaining === 0 ? PASSES_OVER_NEW : remaining - 1;
    if (head !== undefined && head.block !== last?.block) {
      log.info({ block: head.block.toString(), hash: head.hash }, 'ledger sealed');
    }
    last = head;
  }

  async function pruneRequests(): Promise<void> {
    passesUntilPruned -= 1;
    if (passesUntilPruned > 0) return;
    passesUntilPruned = PASSES_PER_PRUNING;
    const oldest = Date.now() - requests.days * DAY_MS;
    // Whole days, because sums are kept by day: otherwise those of the first day would have more
    // requests than the list.
    const before = requests.days === 0 ? oldest : Math.floor(oldest / DAY_MS) * DAY_MS;
    await store.pruneRequests({ before: new Date(before), maxKept: requests.maxRows });
  }

  async function summarize(): Promise<void> {
    const { orphanedHolds: known = 0 } = summary ?? {};
    summary = await store.summarize();
    const { orphanedHolds: holds } = summary;
    if (holds > known) log.error({ holds }, 'holds without a charge');
    await reportClock(summary);
  }

  async function run(steps: readonly Step[]): Promise<void> {
    for (const [step, work] of steps) {
      if (isStopped) break;
      try {
        await work();
      } catch (error) {
        // After an outage the next run succeeds. If the ledger cannot be sealed, `ledger audit`
        // reports the reason.
        const reason = reasonOf(error);
        log.warn({ step, reason }, 'ledger upkeep failed');
      }
    }
    running = undefined;
  }

  const timer = setInterval(() => {
    running ??= run(everyMinute);
  }, PERIOD_MS).unref();

  return {
    get summary() {
      return summary;
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

type Step = readonly [name: string, work: () => Promise<unknown>];
