/** Closes months by itself, some days after their end: each once, with any number of replicas. */

import type { BalanceStore } from '@gateway/balance-store';
import type { Logger } from 'pino';
import { reasonOf } from '../base/error-code.js';
import { startHourly } from '../base/hourly.js';
import { DAY_MS } from '../base/times.js';
import { monthIn } from '../endpoints/fields.js';
import { closeMonth } from './operations/close-month.js';
import type { OperationContext } from './operations/operation.js';

interface CloserParts extends Pick<OperationContext, 'booksZone' | 'operator' | 'now'> {
  readonly store: BalanceStore;
  readonly log: Logger;
  /** `undefined`: never. */
  readonly afterDays: number | undefined;
}

export interface MonthCloser {
  /** Looks now. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

const BY = { name: 'gateway' };

/** Looks every hour. */
export function startMonthCloser(parts: CloserParts): MonthCloser {
  const { store, log, afterDays } = parts;

  /** The first month that is not closed; without any closed one, the last that is over. */
  async function nextMonth(now: number): Promise<string> {
    const last = (await store.listClosedMonths()).at(-1);
    return last === undefined ? monthOf(now, -1) : monthOf(Date.parse(`${last.month}-15`), 1);
  }

  /** The last closed month, if this process has seen that all of its statements are issued. */
  let finished: string | undefined;

  async function finishLast(): Promise<void> {
    const last = (await store.listClosedMonths()).at(-1)?.month;
    if (last === undefined || last === finished) return;
    await closeMonth(last, { ...parts, by: BY });
    finished = last;
  }

  async function look(): Promise<void> {
    if (afterDays === undefined) return;
    try {
      for (;;) {
        await finishLast();
        const now = parts.now();
        const month = await nextMonth(now);
        const { until } = monthIn(parts.booksZone, { month });
        if (until.getTime() + afterDays * DAY_MS > now) return;
        const { closed, statements } = await closeMonth(month, { ...parts, by: BY });
        log.info({ month, hash: closed.hash, statements }, 'a month was closed');
      }
    } catch (error) {
      // The next look tries again.
      log.error({ reason: reasonOf(error) }, 'a month cannot be closed');
    }
  }

  return { look, stop: startHourly(look, afterDays !== undefined) };
}

/** The month of a time, or some months later, in UTC. */
function monthOf(time: number, later: number): string {
  const date = new Date(time);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later))
    .toISOString()
    .slice(0, 7);
}
