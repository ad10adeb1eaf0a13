/** The operations of a store on groups, members and budgets. */

import { ExternalIdTakenError } from '../../errors.js';
import type { Budgets } from '../../budget.js';
import type { Members, NewMember } from '../../spender.js';
import { batchBookings } from './booking-batches.js';
import type { BookFor } from './booking-turns.js';
import type { Prepared } from '../books/spenders.js';
import type { LedgerDatabase } from '../database/ledger-database.js';
import { assertActor, assertId } from '../rules/argument-checks.js';
import {
  assertBudget,
  assertBudgetSettings,
  assertGroupOrMember,
  assertRaise,
  assertRunBudget,
  assertSpender,
} from '../rules/spender-checks.js';

/** They take a few statements. */
const MEMBERS_AT_ONCE = 250;

interface SpenderOptions {
  readonly database: Pick<LedgerDatabase, 'spenders' | 'readBudgets'>;
  readonly bookFor: BookFor;
  readonly newId: (prefix: string) => string;
  /** Called after a change to an unknown number of keys. */
  readonly onEveryKeyChange: () => void;
}

export function createSpenders({
  database,
  bookFor,
  newId,
  onEveryKeyChange,
}: SpenderOptions): Members & Budgets {
  const { spenders } = database;
  const createMember = batchBookings({
    groupOf: ({ of, by }: Prepared<NewMember>) => JSON.stringify([by.holderOf, of.accountId]),
    book: (members) =>
      bookFor(members[0]?.by)('createMembers', members[0]?.of.accountId ?? '', members),
    most: MEMBERS_AT_ONCE,
  });
  const prepared = <New>(
    prefix: string,
    of: New,
    { creationId, by }: Parameters<Members['createGroup']>[1],
  ) => {
    if (creationId !== undefined) assertId('creationId', creationId);
    assertActor(by);
    return { id: newId(prefix), of, creationId, by };
  };
  return {
    async createGroup(group, options) {
      assertGroupOrMember(group);
      return bookFor(options.by)('createGroup', prepared('grp', group, options));
    },
    getGroup: (id) => spenders.getGroup(id),
    listGroups: (filter) => spenders.listGroups(filter),
    async updateGroup(id, change, by) {
      assertGroupOrMember(change);
      assertActor(by);
      return unlessTaken(await bookFor(by)('updateGroup', id, change, by));
    },

    async createMember(member, options) {
      assertGroupOrMember(member);
      return createMember(prepared('mem', member, options));
    },
    getMember: (id) => spenders.getMember(id),
    listMembers: (filter) => spenders.listMembers(filter),
    async updateMember(id, change, by) {
      assertGroupOrMember(change);
      assertActor(by);
      const record = unlessTaken(await bookFor(by)('updateMember', id, change, by));
      // The records of its keys have the path of its group.
      onEveryKeyChange();
      return record;
    },
    async endMember(id, by) {
      assertActor(by);
      const record = await bookFor(by)('endMember', id, by);
      onEveryKeyChange();
      return record;
    },

    async createBudget(budget, options) {
      assertBudget(budget);
      return bookFor(options.by)('createBudget', prepared('bud', budget, options));
    },
    getBudget: (id) => spenders.getBudget(id),
    listBudgets: (filter) => spenders.listBudgets(filter),
    async updateBudget(id, change, by) {
      assertBudgetSettings(change);
      assertActor(by);
      return bookFor(by)('updateBudget', id, change, by);
    },
    async endBudget(id, by) {
      assertActor(by);
      return bookFor(by)('endBudget', id, by);
    },
    async setRunBudget(budget, by) {
      assertRunBudget(budget);
      assertActor(by);
      return bookFor(by)('setRunBudget', { id: newId('bud'), of: budget, by });
    },
    async raiseBudget(raise, options) {
      assertRaise(raise);
      return bookFor(options.by)('raiseBudget', prepared('rse', raise, options));
    },
    listRaises: (budgetId) => spenders.listRaises(budgetId),
    listBudgetUses: (budgetId, limit, subjects) =>
      spenders.listBudgetUses(budgetId, limit, subjects),
    async readBudgets(keyId, spender) {
      if (spender !== undefined) assertSpender(spender);
      return database.readBudgets(keyId, spender);
    },
  };
}

/** @throws {ExternalIdTakenError} */
function unlessTaken<Result>(
  result: Result | 'external_id_taken',
): Exclude<Result, 'external_id_taken'> {
  if (result === 'external_id_taken') {
    throw new ExternalIdTakenError(
      'this external id already belongs to another one of the account',
    );
  }
  return result as Exclude<Result, 'external_id_taken'>;
}
