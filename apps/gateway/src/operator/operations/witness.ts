/**
 * Compares the ledger with usage objects that clients received. Correct sums cannot show that an
 * entry is missing; a witness can.
 */

import { z } from 'zod';
import type { BalanceStore, LedgerEntry, SettledUsage } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { line } from '../../endpoints/storable.js';

const count = z.int().min(0);

const counts = {
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
};

export const witnessedUsage = z.strictObject({
  request_id: line.min(1).max(200),
  ...counts,
  /**
   * The counts with those that the usage names in `iterations` only. They are compared with all
   * charges of the request, unless the first one already has the counts.
   */
  whole: z.strictObject(counts).optional(),
  /** Compared if it is given. */
  charge_usd: z.string().max(50).optional(),
});
export type WitnessedUsage = z.output<typeof witnessedUsage>;

export interface WitnessDifference {
  readonly request_id: string;
  readonly expected: string;
  readonly found: string;
}

/** Charges of one request besides the first: at most this many are looked for. */
const MOST_PARTS = 50;

/** Begins the `found` of a usage without a charge. */
export const NO_CHARGE = 'no charge';

/** Each usage must be charged once, with these counts. The parts of a request are added up. */
export async function compareWithWitness(usages: readonly WitnessedUsage[], store: BalanceStore) {
  const entries = await store.findEntries([...new Set(usages.map((usage) => usage.request_id))]);
  const found = new Map(entries.map((entry) => [entry.id, entry]));
  const archived = (await store.listArchives()).at(-1)?.until;
  const differences: WitnessDifference[] = [];
  for (const usage of usages) {
    const { request_id, whole, charge_usd } = usage;
    const isWithCharge = charge_usd !== undefined;
    const entry = found.get(request_id);
    const ledger =
      entry === undefined && archived !== undefined
        ? `${NO_CHARGE}; those before ${archived.toISOString()} are archived`
        : ledgerText(entry === undefined ? [] : [entry], isWithCharge);
    const expected = textOf(usage);
    if (ledger === expected) continue;
    if (entry === undefined || whole === undefined) {
      differences.push({ request_id, expected, found: ledger });
      continue;
    }
    const parts = Array.from(
      { length: MOST_PARTS },
      (_, index) => `${request_id}.${String(index + 2)}`,
    );
    const all = ledgerText([entry, ...(await store.findEntries(parts))], isWithCharge);
    const inAll = textOf({ ...whole, charge_usd });
    if (all !== inAll) differences.push({ request_id, expected: inAll, found: all });
  }
  return {
    object: 'witness_comparison' as const,
    compared: usages.length,
    archived_until: archived?.toISOString() ?? null,
    differences,
  };
}

function textOf(usage: Omit<WitnessedUsage, 'request_id' | 'whole'>): string {
  const counts = [
    `input ${String(usage.input_tokens)}`,
    `output ${String(usage.output_tokens)}`,
    `cache read ${String(usage.cache_read_input_tokens)}`,
    `cache creation ${String(usage.cache_creation_input_tokens)}`,
  ].join(', ');
  return usage.charge_usd === undefined ? counts : `${counts}, charge ${usage.charge_usd}`;
}

function ledgerText(entries: readonly LedgerEntry[], isWithCharge: boolean): string {
  const charges = entries.flatMap((entry) => (entry.kind === 'charge' ? [entry] : []));
  if (charges.length === 0) return NO_CHARGE;
  const sumOf = (count: keyof SettledUsage): number =>
    charges.reduce((sum, { usage }) => sum + usage[count], 0);
  const charged = charges.reduce((sum, { delta }) => sum - delta, 0n);
  return textOf({
    input_tokens: sumOf('inputTokens'),
    output_tokens: sumOf('outputTokens'),
    cache_read_input_tokens: sumOf('cacheReadInputTokens'),
    cache_creation_input_tokens: sumOf('cacheCreationInputTokens'),
    charge_usd: isWithCharge ? formatUsd(charged) : undefined,
  });
}
