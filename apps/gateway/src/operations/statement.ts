/**
 * The statement of an account for a month: the opening balance, the bookings, the charges with
 * their tokens and rates, and the closing balance. The amounts are exact and add up.
 */

import type { BalanceStore, ChargeEntry, SettledRates, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { readEntries } from '../ledger-entries.js';
import type { Month } from './fields.js';
import { holderBookingView, ratesView } from './views.js';

type StatementStore = Pick<BalanceStore, 'readBalanceAt' | 'readUsage' | 'listEntries'>;

/** As the gateway sends it: amounts in USD, as decimal texts. */
export type Statement = Awaited<ReturnType<typeof readStatement>>;

export async function readStatement(store: StatementStore, accountId: string, month: Month) {
  const { from, until } = month;
  const [opening, entries, charges] = await Promise.all([
    store.readBalanceAt(accountId, from),
    readEntries(store, { accountId, withoutCharges: true, from, until }),
    store.readUsage({ by: ['day', 'model'], byRates: true, from, until, accountId }),
  ]);
  const bookings = entries.filter((entry) => entry.kind !== 'charge').toReversed();
  const booked = bookings.reduce((sum, { delta }) => sum + delta, 0n);
  const charged = charges.reduce(
    (sum, { listPrice, writtenOff }) => sum + listPrice - writtenOff,
    0n,
  );
  return {
    object: 'statement' as const,
    account_id: accountId,
    month: month.month,
    from: from.toISOString(),
    until: until.toISOString(),
    opening_balance_usd: formatUsd(opening),
    /** Oldest first. */
    bookings: bookings.map(holderBookingView),
    charges: charges.map((sum) => ({
      day: dayOf(sum),
      model: sum.model ?? '',
      requests: sum.requests,
      lines: linesOf(sum),
      written_off_usd: formatUsd(sum.writtenOff),
      amount_usd: formatUsd(sum.writtenOff - sum.listPrice),
    })),
    charged_usd: formatUsd(charged),
    closing_balance_usd: formatUsd(opening + booked - charged),
  };
}

function dayOf({ start }: UsageSum): string {
  return start?.toISOString().slice(0, 10) ?? '';
}

function linesOf({ usage, rates }: UsageSum) {
  if (rates === undefined) throw new Error('a statement needs sums by rates');
  return tokenLines(usage, rates);
}

/** The lines add up to the list price of the charge. */
export function chargeLines({ usage, rates }: ChargeEntry) {
  return tokenLines(
    {
      inputTokens: BigInt(usage.inputTokens),
      outputTokens: BigInt(usage.outputTokens),
      cacheReadInputTokens: BigInt(usage.cacheReadInputTokens),
      cacheCreationInputTokens: BigInt(usage.cacheCreationInputTokens),
      cacheCreation1hInputTokens: BigInt(usage.cacheCreation1hInputTokens),
    },
    rates,
  );
}

/** Tokens x rate = amount, for each class with tokens. */
function tokenLines(usage: UsageSum['usage'], rates: SettledRates) {
  const perMillion = ratesView(rates);
  const of5m = usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens;
  const classes: readonly [keyof typeof perMillion, bigint, keyof SettledRates][] = [
    ['input', usage.inputTokens, 'inputPerToken'],
    ['output', usage.outputTokens, 'outputPerToken'],
    ['cache_read', usage.cacheReadInputTokens, 'cacheReadPerToken'],
    ['cache_write_5m', of5m, 'cacheWrite5mPerToken'],
    ['cache_write_1h', usage.cacheCreation1hInputTokens, 'cacheWrite1hPerToken'],
  ];
  return classes
    .filter(([, tokens]) => tokens > 0n)
    .map(([name, tokens, rate]) => ({
      class: name,
      tokens: Number(tokens),
      rate_usd_per_million: perMillion[name],
      amount_usd: formatUsd(tokens * rates[rate]),
    }));
}
