/** The books by kind of money: what is paid and what is given, and from where to where it went. */

import { formatUsd } from '@gateway/billing';

/** Amounts in units of 10^-14 USD, by side of the books: see `SideSum` of the store. */
export interface MoneyByKind {
  readonly before: Map<string, bigint>;
  readonly within: Map<string, bigint>;
  /** All that was charged before the range. */
  chargedBefore: bigint;
  /** When an account's sides are not known. */
  unknown: 'never' | 'at first' | 'throughout';
}

export function noMoney(): MoneyByKind {
  return { before: new Map(), within: new Map(), chargedBefore: 0n, unknown: 'never' };
}

/** Of the range; none is below zero. */
interface Taken {
  readonly charged: bigint;
  readonly expired: bigint;
  readonly cost: bigint;
  readonly costed: number;
  readonly requests: number;
}

export function moneyView(
  { before, within, chargedBefore, unknown }: MoneyByKind,
  { charged, expired, cost, costed, requests }: Taken,
) {
  const at = (side: string) => within.get(side) ?? 0n;
  const until = (side: string) => (before.get(side) ?? 0n) + at(side);
  // Charges leave the paid money with what given money did not pay of them.
  const paidAt = (of: (side: string) => bigint, chargedUntil: bigint) =>
    of('balance:paid') - chargedUntil + of('redeemed');
  const held = (of: (side: string) => bigint, chargedUntil: bigint) => ({
    paid_usd: formatUsd(paidAt(of, chargedUntil)),
    given_usd: formatUsd(of('balance:given')),
  });
  const known = (amount: bigint) => (unknown === 'never' ? formatUsd(amount) : null);
  const [breakage, used, fees] = [at('breakage'), at('redeemed'), -at('fees')];
  const giftsExpired = expired - breakage;
  const result = charged - used + breakage - fees - cost;
  const isCosted = costed === requests && requests > 0 && unknown === 'never';
  return {
    opening: unknown === 'never' ? held((side) => before.get(side) ?? 0n, chargedBefore) : null,
    closing: unknown === 'throughout' ? null : held(until, chargedBefore + charged),
    revenue_usd: known(charged - used),
    gifts_given_usd: formatUsd(giftsExpired - at('given')),
    gifts_used_usd: known(used),
    gifts_expired_usd: formatUsd(giftsExpired),
    breakage_usd: formatUsd(breakage),
    received_usd: formatUsd(-sumOf(within, (side) => side.startsWith('cash:'))),
    refunded_usd: formatUsd(at('refunds')),
    corrected_usd: formatUsd(at('corrections')),
    bad_debt_usd: formatUsd(at('bad_debt')),
    transferred_usd: formatUsd(at('transfers')),
    tax_usd: formatUsd(at('tax')),
    fees_usd: formatUsd(fees),
    unknown_usd: formatUsd(at('unknown')),
    ...(isCosted ? { result_usd: formatUsd(result) } : {}),
  };
}

function sumOf(sums: ReadonlyMap<string, bigint>, isOf: (side: string) => boolean): bigint {
  return [...sums].reduce((total, [side, amount]) => (isOf(side) ? total + amount : total), 0n);
}
