/** The part of the contract about the orders of lists, and paging through them. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { listCursorOf } from '../list-order.js';
import type { ListOrder } from '../list-order.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

/** In units of 10^-14 USD. Sorting them by text, by length or by sign alone gives wrong orders. */
const BALANCES = [
  10n * USD,
  9n * USD,
  -10n * USD,
  -9n * USD,
  USD / 2n,
  -USD / 2n,
  1n,
  0n,
  -1n,
  9n * USD,
  123_456_789n * USD + 1n,
  123_456_789n * USD,
] as const;

const ORDERS = ['newest', 'spent', 'balance', 'last_charged'] as const satisfies ListOrder[];

interface Listed {
  readonly id: string;
  readonly spent: bigint;
  readonly balance: bigint;
  readonly lastChargedAt: Date | null;
}

export function listOrderContract({ runner, subject, settle }: ContractPart): void {
  const { describe, it } = runner;

  /** Accounts of one name, each with a key. Every third was never charged. */
  async function someAccounts() {
    const { store } = subject();
    const name = randomUUID();
    for (const [index, balance] of BALANCES.entries()) {
      const created = await store.create({
        account: { name },
        key: { name, limits: sampleLimits, expiresAt: null },
        by: TESTS,
      });
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const { account, key } = created;
      let charged = 0n;
      if (index % 3 !== 0) {
        // Some of the accounts spend the same amount.
        const charge = settlement(key.id, {
          usage: { inputTokens: (index % 4) * 100, outputTokens: 1 },
        });
        assert.equal((await settle(charge)).outcome, 'settled');
        charged = charge.amount;
      }
      const amount = balance + charged;
      if (amount === 0n) continue;
      const adjusted = await store.adjust({
        adjustmentId: randomUUID(),
        accountId: account.id,
        amount,
        reason: 'correction',
        by: TESTS,
      });
      assert.equal(adjusted.outcome, 'adjusted');
    }
    return name;
  }

  const lists = {
    accounts: (filter: Parameters<ReturnType<typeof subject>['store']['listAccounts']>[0]) =>
      subject().store.listAccounts(filter),
    keys: (filter: Parameters<ReturnType<typeof subject>['store']['listKeys']>[0]) =>
      subject().store.listKeys(filter),
  } as const;

  async function allPages(list: keyof typeof lists, order: ListOrder, name: string) {
    const found: Listed[] = [];
    for (let after: string | undefined; ;) {
      const page: readonly Listed[] = await lists[list]({ name, order, limit: 5, after });
      found.push(...page);
      const last = page.at(-1);
      if (page.length < 5 || last === undefined) return found;
      after = listCursorOf(order, last);
    }
  }

  describe('lists', () => {
    for (const list of ['accounts', 'keys'] as const) {
      it(`of ${list} have each record once over all pages, in every order`, async () => {
        const name = await someAccounts();
        for (const order of ORDERS) {
          const found = await allPages(list, order, name);
          const expected = [...found].sort((a, b) => compare(order, a, b));
          assert.deepEqual(
            found.map(({ id }) => id),
            expected.map(({ id }) => id),
            order,
          );
          assert.equal(new Set(found.map(({ id }) => id)).size, BALANCES.length);
        }
        const balances = (await allPages(list, 'balance', name)).map(({ balance }) => balance);
        assert.deepEqual(balances, [...BALANCES].sort(compareUnits));
        const charged = (await allPages(list, 'last_charged', name)).map(
          (each) => each.lastChargedAt,
        );
        assert.deepEqual(
          charged.map((time) => time === null),
          BALANCES.map((_, index) => index >= 8),
        );
      });
    }

    it('continue after the last record of a page, even when that record has changed', async () => {
      const { store } = subject();
      const name = await someAccounts();
      for (const order of ['balance', 'spent', 'last_charged'] as const) {
        const whole = await store.listAccounts({ name, order, limit: 100 });
        const last = whole[3];
        assert.ok(last !== undefined);
        const after = listCursorOf(order, last);
        const [key] = await store.listKeys({ accountId: last.id, limit: 1 });
        assert.equal((await settle(settlement(key?.id ?? ''))).outcome, 'settled');
        const to = { accountId: last.id };
        await store.topUp({ topUpId: randomUUID(), to, amount: 77n * USD, by: TESTS });
        const rest = await store.listAccounts({ name, order, limit: 100, after });
        assert.deepEqual(
          rest.map(({ id }) => id).filter((id) => id !== last.id),
          whole.slice(4).map(({ id }) => id),
        );
      }
    });

    it('refuse a cursor of a different order, and a text that is not a cursor', async () => {
      const name = await someAccounts();
      const [first] = await subject().store.listAccounts({ name, limit: 1 });
      assert.ok(first !== undefined);
      const forged = (text: string) => Buffer.from(text).toString('base64url');
      for (const order of ORDERS) {
        const cursors = [
          ...ORDERS.filter((other) => other !== order).map((other) => listCursorOf(other, first)),
          '',
          'x',
          forged(`${order}:1.5:${first.id}`),
          forged(`${order}:1:'`),
          forged(`${order}:${'9'.repeat(39)}:${first.id}`),
          forged(`${order}::`),
          forged(`last_charged:${'9'.repeat(15)}:${first.id}`),
        ];
        for (const after of cursors) {
          for (const list of [lists.accounts, lists.keys]) {
            await assert.rejects(() => list({ limit: 5, order, after }), RangeError, after);
          }
        }
      }
      const farthest = [
        { order: 'spent', after: forged(`spent:-${'9'.repeat(38)}:${first.id}`) },
        { order: 'balance', after: forged(`balance:${'9'.repeat(38)}:${first.id}`) },
      ] as const;
      for (const filter of farthest) {
        assert.deepEqual(await lists.accounts({ name, limit: 5, ...filter }), []);
      }
    });
  });
}

function compare(order: ListOrder, a: Listed, b: Listed): number {
  const byId = a.id < b.id ? -1 : 1;
  switch (order) {
    case 'newest':
      return -byId;
    case 'spent':
      return compareUnits(b.spent, a.spent) || -byId;
    case 'balance':
      return compareUnits(a.balance, b.balance) || byId;
    case 'last_charged':
      return (b.lastChargedAt?.getTime() ?? -1) - (a.lastChargedAt?.getTime() ?? -1) || -byId;
  }
}

function compareUnits(a: bigint, b: bigint): number {
  return a < b ? -1 : Number(a > b);
}
