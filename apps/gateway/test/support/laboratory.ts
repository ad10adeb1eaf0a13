/**
 * A laboratory as the ledger knows it: a grant, the course Databases with its budget for the term,
 * and students with a monthly budget each.
 */

import type { BalanceStore, NewBudget } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { parseUsd } from '@gateway/billing';
import type { TestGateway } from './gateway.js';

export const BY = { name: 'tests' };
export const LIMITS = { concurrency: 100, burst: 1_000, requestsPerMinute: 60_000 };
export const TERM_END = new Date('2099-03-31T22:00:00Z');

export interface Laboratory {
  readonly store: BalanceStore;
  readonly accountId: string;
  readonly courseId: string;
  budget(given: Omit<NewBudget, 'accountId'>): Promise<string>;
  student(name: string, key?: object): Promise<Student>;
}

export interface Student {
  readonly memberId: string;
  readonly keyId: string;
  readonly apiKey: string;
  /** Settles a charge of the student's key. @returns its amount */
  spend(inputTokens: number): Promise<bigint>;
}

export async function createLaboratory({ call, running }: TestGateway): Promise<Laboratory> {
  const store: BalanceStore = running.store;
  const { id: accountId } = await call('createAccount', {
    name: 'Chair of Informatics',
    balance_usd: '1200',
  });
  const course = await store.createGroup({ accountId, name: 'Databases' }, { by: BY });
  if (course.outcome !== 'created') throw new Error(course.outcome);
  const { id: courseId, path: groups } = course.record;
  const laboratory: Laboratory = {
    store,
    accountId,
    courseId,
    async budget(given) {
      const created = await store.createBudget({ accountId, ...given }, { by: BY });
      if (created.outcome !== 'created') throw new Error(created.outcome);
      return created.record.id;
    },
    async student(name, key = {}) {
      const member = await store.createMember({ accountId, groupId: courseId, name }, { by: BY });
      if (member.outcome !== 'created') throw new Error(member.outcome);
      const { id: memberId } = member.record;
      const created = await store.create({
        account: { id: accountId },
        key: { name: `${name}'s laptop`, limits: LIMITS, expiresAt: null, memberId, ...key },
        by: BY,
      });
      if (created.outcome !== 'created' || created.key === undefined) {
        throw new Error(created.outcome);
      }
      const { id: keyId } = created.key;
      return {
        memberId,
        keyId,
        apiKey: created.credential ?? '',
        async spend(inputTokens) {
          const charge = settlement(keyId, {
            usage: { inputTokens },
            spender: { memberId, groups },
          });
          const settled = await store.settle(charge, { deadlineMs: 60_000 });
          if (settled.outcome !== 'settled') throw new Error(settled.outcome);
          return charge.amount;
        },
      };
    },
  };
  await laboratory.budget({
    name: 'term',
    amount: parseUsd('400'),
    scope: 'group',
    subject: courseId,
    period: 'once',
    until: TERM_END,
    contact: 'chair@lab.example',
  });
  await laboratory.budget({
    name: 'course Databases',
    amount: parseUsd('20'),
    scope: 'member',
    withinGroup: courseId,
    period: 'month',
    contact: 'Prof. Codd',
  });
  return laboratory;
}
