/** Forgets the responses of keys that are revoked, and of accounts that are closed or erased. */

import type { BalanceStore } from '@gateway/balance-store';
import type { ResponseMemory } from './response-memory.js';

type Ending = Pick<BalanceStore, 'revokeKey'> &
  Partial<Pick<BalanceStore, 'closeAccount' | 'eraseAccount'>>;

/**
 * Every way to revoke a key leads through the ledger, so this is the place where none is missed.
 * Responses that cannot be reached now are gone when their time is over; nobody can read them,
 * because a revoked key is refused.
 *
 * @returns a ledger that does so; all other methods are those of `store`
 */
export function forgettingWithKeys<Store extends Ending>(
  store: Store,
  memory: ResponseMemory | undefined,
): Store {
  if (memory === undefined) return store;
  const { closeAccount, eraseAccount } = store;
  const forgetting: Ending = {
    async revokeKey(...args) {
      const key = await store.revokeKey(...args);
      if (key !== undefined) {
        await forgotten(memory.forgetAll({ accountId: key.accountId, keyId: key.id }));
      }
      return key;
    },
    ...(closeAccount && {
      async closeAccount(...args: Parameters<typeof closeAccount>) {
        const closed = await closeAccount.apply(store, args);
        if ('account' in closed) {
          await forgotten(memory.forgetAll({ accountId: closed.account.id }));
        }
        return closed;
      },
    }),
    ...(eraseAccount && {
      async eraseAccount(...args: Parameters<typeof eraseAccount>) {
        const account = await eraseAccount.apply(store, args);
        if (account !== undefined) await forgotten(memory.forgetAll({ accountId: account.id }));
        return account;
      },
    }),
  };
  return Object.assign(Object.create(store) as Store, forgetting);
}

function forgotten(forgetting: Promise<void>): Promise<void> {
  return forgetting.catch(() => undefined);
}
