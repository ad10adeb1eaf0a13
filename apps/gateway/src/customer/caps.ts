/** What a key may still spend under its own caps. */

import { CAP_PERIODS, renewalOf } from '@gateway/balance-store';
import type { KeyRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';

/** The caps that are set, the one with the least left first: it is the one that stops the key. */
export function capsView({ caps, used }: Pick<KeyRecord, 'caps' | 'used'>, now: Date) {
  return CAP_PERIODS.flatMap((period) => {
    const cap = caps[period];
    return cap === null ? [] : [{ period, cap, left: leftOf(cap, used[period]) }];
  })
    .sort((a, b) => (a.left < b.left ? -1 : Number(a.left > b.left)))
    .map(({ period, cap, left }) => ({
      period,
      cap_usd: formatUsd(cap),
      used_usd: formatUsd(used[period]),
      left_usd: formatUsd(left),
      renews_at: renewalOf(period, now)?.toISOString() ?? null,
    }));
}

/** A charge may exceed a cap; then nothing is left, rather than less. */
function leftOf(cap: bigint, used: bigint): bigint {
  return used < cap ? cap - used : 0n;
}
