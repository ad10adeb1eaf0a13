/** Types that the parts of the contract share: the store under test and shorthands for it. */

import type { Actor } from '../account.js';
import type { NewKey } from '../key.js';
import type { BalanceStore, SettleOutcome, Settlement, TopUpOutcome } from '../store.js';

export interface StoreUnderTest {
  /** The open store. `tamper` may replace it. */
  readonly store: BalanceStore;
  /**
   * Runs SQL statements outside of the store, and reopens the store if necessary. The statements
   * must be valid on every database.
   *
   * @param triggers - `disabled`: runs them without the triggers that refuse to rewrite the
   * ledger.
   */
  tamper(sql: string, triggers?: 'enabled' | 'disabled'): Promise<void>;
  /** The names of the columns of a table. */
  columnsOf(table: string): Promise<readonly string[]>;
  /** Writes values as this database writes them in SQL. */
  readonly literal: {
    readonly time: (time: Date) => string;
    readonly bytes: (bytes: Buffer) => string;
  };
  /** The pepper of `store`. */
  readonly pepper: string;
  /** Opens the same ledger once more, with other peppers, as another process would. */
  openBeside(peppers: {
    readonly pepper: string;
    readonly previousPepper?: string;
  }): Promise<BalanceStore>;
  /**
   * The digests of an account's entries as they are now, as a seal from entry 1 on would store
   * them.
   */
  digestsOf(accountId: string): Promise<Buffer>;
  close(): Promise<void>;
}

export interface ContractRunner {
  readonly describe: (name: string, body: () => void) => void;
  readonly it: (name: string, body: () => Promise<void>) => void;
  readonly beforeAll: (body: () => Promise<void>) => void;
  readonly afterAll: (body: () => Promise<void>) => void;
}

export interface ContractPart {
  readonly runner: ContractRunner;
  readonly subject: () => StoreUnderTest;
  /** Creates a key with this balance, in units of 10^-14 USD, and returns its id. */
  readonly newKey: (balance?: bigint) => Promise<string>;
  /** The account of a key that {@link ContractPart.newKey} created. */
  readonly accountOf: (keyId: string) => Promise<string>;
  /** Creates an account with this balance and a key for each of `keys`. */
  readonly newAccount: (
    balance: bigint,
    ...keys: readonly Partial<NewKey>[]
  ) => Promise<{ readonly accountId: string; readonly keyIds: readonly string[] }>;
  readonly balanceOf: (accountId: string) => Promise<bigint>;
  readonly topUp: (keyId: string, amount: bigint, topUpId?: string) => Promise<TopUpOutcome>;
  readonly settle: (charge: Settlement) => Promise<SettleOutcome>;
}

export const USD = 10n ** 14n;

/** The actor of all changes in these tests. */
export const TESTS: Actor = { name: 'tests', address: '192.0.2.0/24' };

/** Closes an account, whatever is left in it, so that it can be erased. */
export async function closeAny(
  store: Pick<BalanceStore, 'closeAccount'>,
  accountId: string,
): Promise<void> {
  const { outcome } = await store.closeAccount({
    closingId: `of ${accountId}`,
    accountId,
    rest: { as: 'breakage' },
    debt: 'write_off',
    reason: 'of a test',
    by: TESTS,
  });
  if (outcome !== 'closed') throw new Error(outcome);
}
