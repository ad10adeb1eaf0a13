/** The names of accounts, keys, members, groups and budgets, for lists that have their ids. */

import type { BalanceStore } from '@gateway/balance-store';

export type NameStore = Pick<
  BalanceStore,
  'getAccount' | 'getKey' | 'getMember' | 'getGroup' | 'getBudget'
>;

/** So many are read at the same time. */
const TOGETHER = 50;

/** @returns the names by ids; one that does not exist is absent */
export async function readNames(
  ids: Iterable<string | null | undefined>,
  store: NameStore,
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(ids)].filter((id) => id != null && id !== '') as string[];
  const names = new Map<string, string>();
  for (let start = 0; start < wanted.length; start += TOGETHER) {
    await Promise.all(
      wanted.slice(start, start + TOGETHER).map(async (id) => {
        const found = await recordOf(id, store);
        if (found !== undefined) names.set(id, found.name);
      }),
    );
  }
  return names;
}

function recordOf(id: string, store: NameStore): Promise<{ readonly name: string } | undefined> {
  if (id.startsWith('key_')) return store.getKey(id);
  if (id.startsWith('mem_')) return store.getMember(id);
  if (id.startsWith('grp_')) return store.getGroup(id);
  if (id.startsWith('bud_')) return store.getBudget(id);
  return store.getAccount(id);
}

interface Owned {
  readonly account_id?: string | null | undefined;
  readonly key_id?: string | null | undefined;
  readonly member_id?: string | null | undefined;
  readonly group_id?: string | null | undefined;
}

/** Adds the names of the account, the key, the member and the group to each row with their ids. */
export async function withNames<Row extends object>(rows: readonly Row[], store: NameStore) {
  const ownerOf = (row: Row): Owned => row;
  const names = await readNames(
    rows
      .map(ownerOf)
      .flatMap(({ account_id, key_id, member_id, group_id }) => [
        account_id,
        key_id,
        member_id,
        group_id,
      ]),
    store,
  );
  const nameOf = (id: string | null | undefined) => (id == null ? null : (names.get(id) ?? null));
  return rows.map((row) => {
    const { account_id, key_id, member_id, group_id } = ownerOf(row);
    return {
      ...row,
      ...(account_id === undefined ? {} : { account_name: nameOf(account_id) }),
      ...(key_id === undefined ? {} : { key_name: nameOf(key_id) }),
      ...(member_id === undefined ? {} : { member_name: nameOf(member_id) }),
      ...(group_id === undefined ? {} : { group_name: nameOf(group_id) }),
    };
  });
}
