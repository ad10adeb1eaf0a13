/** What keys have used in the periods of caps that they do not have: no budget counts it. */

import { CAP_PERIODS, capStartAt } from '@gateway/balance-store';
import type { BalanceStore, CapPeriod, KeyRecord } from '@gateway/balance-store';
import { DAY_MS } from '../base/times.js';

/** A key with what it used in the current period of each kind, whatever caps it has. */
export interface KeyWithUse extends KeyRecord {
  readonly used: Readonly<Record<CapPeriod, bigint>>;
}

/** Reads the sums of usage only if the key was charged in a period without a cap. */
export async function withUse(
  key: KeyRecord,
  store: Pick<BalanceStore, 'readUsage'>,
): Promise<KeyWithUse> {
  const now = Date.now();
  const last = key.lastChargedAt?.getTime() ?? -1;
  const starts = CAP_PERIODS.filter((period) => key.used[period] === null)
    .map((period) => capStartAt(period, now))
    .filter((start) => last >= start);
  const { accountId, id: keyId } = key;
  const until = new Date(capStartAt('day', now) + DAY_MS);
  const days =
    starts.length === 0
      ? []
      : await store.readUsage({
          by: ['day'],
          from: new Date(Math.min(...starts)),
          until,
          accountId,
          keyId,
        });
  const usedSince = (from: number) =>
    days
      .filter(({ start }) => start !== undefined && start.getTime() >= from)
      .reduce((sum, { listPrice }) => sum + listPrice, 0n);
  const used = CAP_PERIODS.map((period) => [
    period,
    key.used[period] ?? usedSince(capStartAt(period, now)),
  ]);
  return { ...key, used: Object.fromEntries(used) as KeyWithUse['used'] };
}
