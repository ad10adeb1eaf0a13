/**
 * The books: the operations that change accounts, keys and balances, and those that record events,
 * documents and archives. Charges and holds are not among them.
 */

import { PROMO_CODE } from '../../document.js';
import type { DocumentOutcome, DocumentWrite } from '../../document.js';
import { documentDigest } from '../rows/rights.js';
import { recordChange } from './trail.js';
import type { LedgerTransaction } from './transaction.js';
import {
  create,
  createAll,
  eraseAccount,
  recordLinks,
  rotateKey,
  renewHash,
  setAccountState,
  setKeyState,
  updateAccount,
  updateKey,
} from './accounts.js';
import { deleteUnrecordedCarries, recordArchive, writeCarries } from './archives.js';
import { closeAccount, reopenAccount } from './close-account.js';
import { checkClosing, closeMonth, issueStatement } from './close-month.js';
import { adjust, bookFee, reverse, topUp, transfer } from './bookings.js';
import {
  announceExpiringKeys,
  bookDue,
  expireCredits,
  openAccounts,
  renewAllowances,
} from './expiries.js';

import {
  createBudget,
  createGroup,
  createMembers,
  endBudget,
  endMember,
  raiseBudget,
  setRunBudget,
  updateBudget,
  updateGroup,
  updateMember,
} from './spenders.js';

/** Each function runs in one transaction. */
export const books = {
  create,
  createAll,
  updateAccount,
  setAccountState,
  closeAccount,
  reopenAccount,
  updateKey,
  setKeyState,
  rotateKey,
  renewHash,
  recordLinks,
  eraseAccount,
  topUp,
  adjust,
  reverse,
  bookFee,
  transfer,
  openAccounts,
  bookDue,
  renewAllowances,
  expireCredits,
  announceExpiringKeys,
  writeCarries,
  deleteUnrecordedCarries,
  recordArchive,
  checkClosing,
  closeMonth,
  issueStatement,
  createGroup,
  updateGroup,
  createMembers,
  updateMember,
  endMember,
  createBudget,
  updateBudget,
  endBudget,
  raiseBudget,
  setRunBudget,
  async recordEvent(
    transaction: LedgerTransaction,
    event: Parameters<LedgerTransaction['insertEvent']>[0],
  ) {
    // An account's events are numbered in the order of their commits only under its lock.
    if (event.accountId !== '') await transaction.lockAccounts([event.accountId]);
    await transaction.insertEvent(event);
  },
  async writeDocument(
    transaction: LedgerTransaction,
    write: DocumentWrite,
  ): Promise<DocumentOutcome> {
    if (!(await transaction.writeDocument(write))) return { outcome: 'conflict' };
    const { kind, id, accountId, version, data, trail } = write;
    const written = version + 1;
    if (trail !== undefined) {
      await recordChange(transaction, {
        ...trail,
        details:
          kind === PROMO_CODE
            ? {
                ...trail.details,
                document: id,
                digest: documentDigest({ accountId, version: written, data }),
              }
            : trail.details,
        accountId: accountId === '' ? null : accountId,
        at: await transaction.now(),
      });
    }
    return { outcome: 'written', version: written };
  },
} as const;

type Books = typeof books;
export type BookName = keyof Books;

type Rest<Args extends unknown[]> = Args extends [LedgerTransaction, ...infer Others]
  ? Others
  : never;
export type BookArgs<Name extends BookName> = Rest<Parameters<Books[Name]>>;
export type BookResult<Name extends BookName> = Awaited<ReturnType<Books[Name]>>;

/** Runs one of the books in a transaction of the database. */
export type RunBook = <Name extends BookName>(
  name: Name,
  ...args: BookArgs<Name>
) => Promise<BookResult<Name>>;

/** Calls one of the books within a transaction. */
export function callBook<Name extends BookName>(
  transaction: LedgerTransaction,
  name: Name,
  args: BookArgs<Name>,
): Promise<BookResult<Name>> {
  // The name and its arguments belong together, which the union type cannot express.
  const run = books[name] as (
    on: LedgerTransaction,
    ...rest: readonly unknown[]
  ) => Promise<BookResult<Name>>;
  return run(transaction, ...args);
}
