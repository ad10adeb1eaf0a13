/** Compares the daily totals of usage with the hourly totals that are rolled up. */

import type { AuditDifference } from '../audit.js';
import type { AuditSource, UsageDay } from './audit-source.js';
import { storedDifference } from './audit-usage.js';
import { rateTextsOf } from './rate-texts.js';
import type { StoredSum } from './stored-usage.js';

const DAY_MS = 86_400_000;

interface Residue {
  readonly of: StoredSum;
  readonly accountId: string;
  readonly keyId: string;
  /**
   * Requests, the five token counts, and the amount written off: the sum of each over the hours
   * minus the stored one.
   */
  readonly figures: readonly bigint[];
}

/**
 * Reads day by day. The totals of a day are read in one snapshot, because hours may be rolled up
 * during the audit.
 */
export async function auditUsageDays(
  source: AuditSource,
  complain: (found: AuditDifference) => void,
): Promise<void> {
  let day = await source.usageDayAfter(-1);
  for (; day !== undefined; day = await source.usageDayAfter(day.day)) compareDay(day, complain);
}

function compareDay(
  { day, hours, sums }: UsageDay,
  complain: (found: AuditDifference) => void,
): void {
  const residues = new Map<string, Residue>();
  function add(of: StoredSum, accountId: string, keyId: string, sign: 1n | -1n): void {
    const rates = rateTextsOf(of.rates).units;
    const id = JSON.stringify([accountId, keyId, of.model, of.endpoint, of.upstreamAccount, rates]);
    const before = residues.get(id)?.figures;
    const figures = figuresOf(of).map((figure, index) => (before?.[index] ?? 0n) + sign * figure);
    residues.set(id, { of, accountId, keyId, figures });
  }
  for (const hour of hours) {
    const { accountId = '', keyId = '' } = hour;
    add(hour, accountId, keyId, 1n);
    add(hour, accountId, '', 1n);
    add(hour, '', '', 1n);
  }
  for (const sum of sums) add(sum, sum.accountId ?? '', sum.keyId ?? '', -1n);
  for (const { of, accountId, keyId, figures } of residues.values()) {
    if (figures.every((figure) => figure === 0n)) continue;
    const name = new Date(day * DAY_MS).toISOString().slice(0, 10);
    const { model = '', endpoint = '' } = of;
    complain({
      check: 'usage',
      accountId: accountId === '' ? undefined : accountId,
      keyId: keyId === '' ? undefined : keyId,
      entryId: undefined,
      expected: `the day ${name}, model ${model}, endpoint ${endpoint}: the sum of its hours`,
      found: storedDifference(figures),
    });
  }
}

function figuresOf({ requests, usage, writtenOff }: StoredSum): readonly bigint[] {
  return [
    BigInt(requests),
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
    usage.cacheCreation1hInputTokens,
    writtenOff,
  ];
}
