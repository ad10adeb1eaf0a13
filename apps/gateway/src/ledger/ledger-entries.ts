/** Reads entries of the ledger, however many pages they take. */

import type { BalanceStore, EntryFilter, LedgerEntry } from '@gateway/balance-store';

const ENTRIES_PER_PAGE = 1_000;

/** The entries that match the filter, newest first. A page is read when its first entry is used. */
export async function* entriesOf(
  ledger: Pick<BalanceStore, 'listEntries'>,
  filter: Omit<EntryFilter, 'limit' | 'cursor'>,
): AsyncGenerator<LedgerEntry, undefined> {
  for (let cursor: string | undefined; ;) {
    const page = await ledger.listEntries({
      ...filter,
      limit: ENTRIES_PER_PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.entries;
    cursor = page.next;
    if (cursor === undefined) return undefined;
  }
}

/** All entries that match the filter, newest first. */
export async function readEntries(
  ...query: Parameters<typeof entriesOf>
): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of entriesOf(...query)) entries.push(entry);
  return entries;
}
