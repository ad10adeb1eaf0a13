/**
 * Compares the ledger with usage objects that clients received. Correct sums cannot show that an
 * entry is missing; a witness can.
 */

import { z } from 'zod';
import type { BalanceStore, LedgerEntry } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { line } from '../../endpoints/storable.js';

const count = z.int().min(0);

export const witnessedUsage = z.strictObject({
  request_id: line.min(1).max(200),
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  /** Compared if it is given. */
  charge_usd: z.string().max(50).optional(),
});
export type WitnessedUsage = z.output<typeof witnessedUsage>;

export interface WitnessDifference {
  readonly request_id: string;
  readonly expected: string;
  readonly found: string;
}

/** Begins the `found` of a usage without a charge. */
export const NO_CHARGE = 'no charge';

/** Each usage must be charged once, with these counts. */
export async function compareWithWitness(usages: readonly WitnessedUsage[], store: BalanceStore) {
  const entries = await store.findEntries([...new Set(usages.map((usage) => usage.request_id))]);
  const found = new Map(entries.map((entry) => [entry.id, entry]));
  const archived = (await store.listArchives()).at(-1)?.until;
  const differences: WitnessDifference[] = [];
  for (const usage of usages) {
    const wanted = textOf(usage);
    const entry = found.get(usage.request_id);
    const ledger =
      entry === undefined && archived !== undefined
        ? `${NO_CHARGE}; those before ${archived.toISOString()} are archived`
        : ledgerText(entry, usage.charge_usd !== undefined);
    if (ledger !== wanted) {
      differences.push({ request_id: usage.request_id, expected: wanted, found: ledger });
    }
  }
  return {
    object: 'witness_comparison' as const,
    compared: usages.length,
    archived_until: archived?.toISOString() ?? null,
    differences,
  };
}

function textOf(usage: WitnessedUsage): string {
  const counts = [
    `input ${String(usage.input_tokens)}`,
    `output ${String(usage.output_tokens)}`,
    `cache read ${String(usage.cache_read_input_tokens)}`,
    `cache creation ${String(usage.cache_creation_input_tokens)}`,
  ].join(', ');
  return usage.charge_usd === undefined ? counts : `${counts}, charge ${usage.charge_usd}`;
}

function ledgerText(entry: LedgerEntry | undefined, withCharge: boolean): string {
  if (entry?.kind !== 'charge') return NO_CHARGE;
  return textOf({
    request_id: entry.id,
    input_tokens: entry.usage.inputTokens,
    output_tokens: entry.usage.outputTokens,
    cache_read_input_tokens: entry.usage.cacheReadInputTokens,
    cache_creation_input_tokens: entry.usage.cacheCreationInputTokens,
    charge_usd: withCharge ? formatUsd(-entry.delta) : undefined,
  });
}
