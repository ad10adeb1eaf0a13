/** Adds up stored sums, each with one set of rates, into the requested sums. */

import type { SettledRates, SettledUsage } from '../ledger-entry.js';
import type { UsageDimension, UsageQuery, UsageSum } from '../usage.js';
import { rateTextsOf } from './rate-texts.js';
import { HOURS_PER_DAY } from './usage-source.js';

const HOUR_MS = 3_600_000;

/** The sum of charges that have the same rates and are equal in all requested dimensions. */
export interface StoredSum {
  /** Hours since 1970-01-01, of the hour or of the start of the day. */
  readonly hour?: number;
  readonly model?: string;
  readonly accountId?: string;
  readonly keyId?: string;
  readonly endpoint?: string;
  readonly upstreamAccount?: string;
  readonly rates: SettledRates;
  readonly requests: number;
  readonly usage: UsageSum['usage'];
  readonly writtenOff: bigint;
}

/**
 * For each dimension, its expression over the columns that a `UsageSource` selects, and its name in
 * {@link StoredSum}.
 */
export const DIMENSION_COLUMNS: Readonly<
  Record<UsageDimension, readonly [sql: string, name: keyof StoredSum]>
> = {
  day: [`hour / ${String(HOURS_PER_DAY)} * ${String(HOURS_PER_DAY)}`, 'hour'],
  hour: ['hour', 'hour'],
  model: ['model', 'model'],
  account: ['account_id', 'accountId'],
  key: ['key_id', 'keyId'],
  endpoint: ['endpoint', 'endpoint'],
  upstream: ['upstream_account', 'upstreamAccount'],
};

/**
 * SQL that limits a query for stored sums. It reads one row more than `maxSums`, so that
 * {@link assertNotTooMany} can tell that there are more.
 */
export function limitOf({ maxSums }: Pick<UsageQuery, 'maxSums'>): string {
  return maxSums === undefined ? '' : ` LIMIT ${String(maxSums + 1)}`;
}

/** @throws {RangeError} */
export function assertNotTooMany(
  rows: readonly unknown[],
  { maxSums }: Pick<UsageQuery, 'maxSums'>,
): void {
  if (maxSums === undefined || rows.length <= maxSums) return;
  throw new RangeError(
    `covers more than ${String(maxSums)} sums: ask for a shorter time or for fewer dimensions`,
  );
}

export function usageSumsOf(
  rows: Iterable<StoredSum>,
  { by, byRates = false }: UsageQuery,
): readonly UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const row of rows) {
    const names = by.map((dimension) => row[DIMENSION_COLUMNS[dimension][1]] as string | number);
    const id = JSON.stringify([...names, byRates ? rateTextsOf(row.rates).units : []]);
    sums.set(id, added(sums.get(id), row, { by, byRates }));
  }
  return [...sums.values()].sort((a, b) => compareSums(a, b, by));
}

function added(
  sum: UsageSum | undefined,
  row: StoredSum,
  { by, byRates }: { readonly by: readonly UsageDimension[]; readonly byRates: boolean },
): UsageSum {
  const { rates, usage } = row;
  const total = sum?.usage;
  return {
    ...(by.includes('day') || by.includes('hour')
      ? { start: new Date((row.hour ?? 0) * HOUR_MS) }
      : {}),
    ...(row.model === undefined ? {} : { model: row.model }),
    ...(row.accountId === undefined ? {} : { accountId: row.accountId }),
    ...(row.keyId === undefined ? {} : { keyId: row.keyId }),
    ...(row.endpoint === undefined ? {} : { endpoint: row.endpoint }),
    ...(row.upstreamAccount === undefined ? {} : { upstreamAccount: row.upstreamAccount }),
    ...(byRates ? { rates } : {}),
    requests: (sum?.requests ?? 0) + row.requests,
    usage: {
      inputTokens: (total?.inputTokens ?? 0n) + usage.inputTokens,
      outputTokens: (total?.outputTokens ?? 0n) + usage.outputTokens,
      cacheReadInputTokens: (total?.cacheReadInputTokens ?? 0n) + usage.cacheReadInputTokens,
      cacheCreationInputTokens:
        (total?.cacheCreationInputTokens ?? 0n) + usage.cacheCreationInputTokens,
      cacheCreation1hInputTokens:
        (total?.cacheCreation1hInputTokens ?? 0n) + usage.cacheCreation1hInputTokens,
    },
    listPrice: (sum?.listPrice ?? 0n) + listPriceOf(usage, rates),
    writtenOff: (sum?.writtenOff ?? 0n) + row.writtenOff,
  };
}

function listPriceOf(usage: Readonly<Record<keyof SettledUsage, bigint>>, rates: SettledRates) {
  return (
    usage.inputTokens * rates.inputPerToken +
    usage.outputTokens * rates.outputPerToken +
    usage.cacheReadInputTokens * rates.cacheReadPerToken +
    (usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens) *
      rates.cacheWrite5mPerToken +
    usage.cacheCreation1hInputTokens * rates.cacheWrite1hPerToken
  );
}

function compareSums(a: UsageSum, b: UsageSum, by: readonly UsageDimension[]): number {
  for (const dimension of by) {
    const [left, right] = [valueOf(a, dimension), valueOf(b, dimension)];
    if (left < right) return -1;
    if (left > right) return 1;
  }
  return 0;
}

function valueOf(sum: UsageSum, dimension: UsageDimension): string | number {
  switch (dimension) {
    case 'day':
    case 'hour':
      return sum.start?.getTime() ?? 0;
    case 'model':
      return sum.model ?? '';
    case 'account':
      return sum.accountId ?? '';
    case 'key':
      return sum.keyId ?? '';
    case 'endpoint':
      return sum.endpoint ?? '';
    case 'upstream':
      return sum.upstreamAccount ?? '';
  }
}
