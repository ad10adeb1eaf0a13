/** What a key may still spend under its own caps. */

import { CAP_PERIODS, renewalOf } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';

/** The caps that are set, the one with the least left first: it is the one that stops the key. */
export function capsView({ caps, used }: Pick<KeyRecord, 'caps' | 'used'>, now: Date) {
  return CAP_PERIODS.flatMap((period) => {
    const [cap, ofCap] = [caps[period], used[period] ?? 0n];
    return cap === null ? [] : [{ period, cap, used: ofCap, left: leftOf(cap, ofCap) }];
  })
    .sort((a, b) => (a.left < b.left ? -1 : Number(a.left > b.left)))
    .map(({ period, cap, used, left }) => ({
      period,
      cap_usd: formatUsd(cap),
      used_usd: formatUsd(used),
      left_usd: formatUsd(left),
      renews_at: renewalOf(period, now)?.toISOString() ?? null,
    }));
}

/** A charge may exceed a cap; then nothing is left, rather than less. */
function leftOf(cap: bigint, used: bigint): bigint {
  return used < cap ? cap - used : 0n;
}
