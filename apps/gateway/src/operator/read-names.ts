/** The names of accounts and keys, for lists that have their ids. */

import type { BalanceStore } from '@gateway/balance-store';

export type NameStore = Pick<BalanceStore, 'getAccount' | 'getKey'>;

/** So many are read at the same time. */
const TOGETHER = 50;

/** @returns the names by ids; one of an account or a key that does not exist is absent */
export async function readNames(
  ids: Iterable<string | null | undefined>,
  store: NameStore,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter((id) => id != null && id !== '') as string[];
  const names = new Map<string, string>();
  for (let start = 0; start < wanted.length; start += TOGETHER) {
    await Promise.all(
      wanted.slice(start, start + TOGETHER).map(async (id) => {
        const found = id.startsWith('key_') ? await store.getKey(id) : await store.getAccount(id);
        if (found !== undefined) names.set(id, found.name);
      }),
    );
  }
  return names;
}

interface Owned {
  readonly account_id?: string | null | undefined;
  readonly key_id?: string | null | undefined;
}

/** Adds the names of the account and the key to each row that has their ids. */
export async function withNames<Row extends object>(rows: readonly Row[], store: NameStore) {
  const ownerOf = (row: Row): Owned => row;
  const names = await readNames(
    rows.map(ownerOf).flatMap(({ account_id, key_id }) => [account_id, key_id]),
    store,
  );
  const nameOf = (id: string | null | undefined) => (id == null ? null : (names.get(id) ?? null));
  return rows.map((row) => {
    const { account_id, key_id } = ownerOf(row);
    return {
      ...row,
      ...(account_id === undefined ? {} : { account_name: nameOf(account_id) }),
      ...(key_id === undefined ? {} : { key_name: nameOf(key_id) }),
    };
  });
}
