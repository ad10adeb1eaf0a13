/** Closes months, and issues and lists their statements. */

import type { BalanceStore } from '../../store.js';
import { digestOfBooks } from '../rows/books-digest.js';
import { closedMonthOf } from '../rows/stored-closed-month.js';
import { assertActor, assertHour } from '../rules/argument-checks.js';
import type { LedgerDatabase } from '../database/ledger-database.js';
import type { BookFor } from './booking-turns.js';
import { sealEntries } from './upkeep.js';

export function createClosedMonths(
  database: LedgerDatabase,
  bookFor: BookFor,
): Pick<BalanceStore, 'closeMonth' | 'listClosedMonths' | 'issueStatement' | 'listStatements'> {
  return {
    async closeMonth(month) {
      assertHour('from', month.from);
      assertHour('until', month.until);
      assertActor(month.by);
      const book = bookFor(month.by);
      const known = await book('checkClosing', month);
      if (known !== undefined) return known;
      await sealEntries(database.seals, true);
      const head = await database.seals.head();
      const { from, until } = month;
      const computed = await digestOfBooks((query) => database.readBooks(query), { from, until });
      return book('closeMonth', month, { ...computed, head });
    },
    async listClosedMonths() {
      return (await database.listClosedMonths()).map(closedMonthOf);
    },
    async issueStatement(statement) {
      assertActor(statement.by);
      return bookFor(statement.by)('issueStatement', statement);
    },
    listStatements: (filter) => database.listStatements(filter),
  };
}
