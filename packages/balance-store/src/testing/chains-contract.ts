/** The part of the contract about chains of budgets, and about the budgets of runs. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { BudgetRecord, NewBudget } from '../budget.js';
import { MAX_RUN_BUDGETS_OF_ONE } from '../budget.js';
import type { Spender } from '../spender.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function chainsContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle } = part;
  const { describe, it } = runner;
  const by = { by: TESTS };
  /** In units of 10^-14 USD. @param text - Such as `0.0123`. */
  const usd = (text: string): bigint => {
    const [whole = '', fraction = ''] = text.split('.');
    return BigInt(whole + fraction.padEnd(14, '0'));
  };
  type Terms = Omit<NewBudget, 'accountId' | 'name' | 'period'> & Partial<NewBudget>;
  const create = (accountId: string, of: Terms) =>
    subject().store.createBudget({ accountId, name: 'a budget', period: 'month', ...of }, by);
  const newBudget = async (accountId: string, of: Terms): Promise<BudgetRecord> => {
    const created = await create(accountId, of);
    assert.equal(created.outcome, 'created');
    return (created as { readonly record: BudgetRecord }).record;
  };
  const charge = async (keyId: string, amount: bigint, spender?: Spender) => {
    // All of it is a fee, so that it can have any amount.
    const pricing = {
      terms: {},
      fees: [{ what: 'web_search_requests', units: 1, perUnit: amount }],
    };
    const settled = settlement(keyId, { usage: {}, pricing, spender });
    assert.equal(settled.amount, amount);
    assert.equal((await settle(settled)).outcome, 'settled');
    const [entry] = await subject().store.findEntries([settled.requestId]);
    return entry?.kind === 'charge'
      ? entry.parts.map(({ budgetId, paidBy, amount: paid }) => [budgetId, paidBy, paid])
      : [];
  };
  const place = async (keyId: string, amount: bigint, spender?: Spender) => {
    const requestId = randomUUID();
    return subject().store.placeHold({ requestId, keyId, amount, spender });
  };
  const usesOf = async (keyId: string, spender?: Spender) =>
    Object.fromEntries(
      (await subject().store.readBudgets(keyId, spender)).map(({ budget, used, held }) => [
        budget.id,
        [used, held],
      ]),
    );
  const differences = async (accountId: string) =>
    (await subject().store.audit()).differences
      .filter((difference) => difference.accountId === accountId)
      .map(({ check, expected, found }) => `${check} ${expected}: ${found}`);

  describe('chains of budgets', () => {
    // Scenario 3: the course's 400 end within one answer of 0.03; 0.0123 are the course's.
    it('split the charge that crosses the border exactly, and name both parts', async () => {
      const { accountId, keyIds } = await newAccount(1_000n * USD, {});
      const [keyId = ''] = keyIds;
      const chair = await newBudget(accountId, { scope: 'reserve', amount: 100n * USD });
      const terms = { scope: 'account', amount: 400n * USD, thenId: chair.id } as const;
      const course = await newBudget(accountId, terms);
      assert.equal(course.thenId, chair.id);
      assert.deepEqual(await charge(keyId, usd('399.9877')), []);
      assert.deepEqual(await charge(keyId, usd('0.03')), [[course.id, chair.id, usd('0.0177')]]);
      assert.deepEqual(await usesOf(keyId), {
        [course.id]: [400n * USD, 0n],
        [chair.id]: [usd('0.0177'), 0n],
      });
      assert.deepEqual(await charge(keyId, usd('1')), [[course.id, chair.id, USD]]);
      assert.deepEqual(await differences(accountId), []);
      const change = (from: string, to: string) =>
        subject().tamper(
          `UPDATE ledger SET parts = replace(parts, '${from}', '${to}') WHERE account_id = '${accountId}'`,
          'disabled',
        );
      await change('0.0177', '0.0176');
      const found = await differences(accountId);
      assert.equal(found.filter((text) => text.startsWith('budget ')).length, 2, found.join('; '));
      await change('0.0176', '0.0177');
      assert.deepEqual(await differences(accountId), []);
    });

    it('pass on what is too much, up to four, and what the last one lacks stays with it', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const last = await newBudget(accountId, { scope: 'reserve', amount: 1n });
      const third = await newBudget(accountId, { scope: 'reserve', amount: 4n, thenId: last.id });
      const second = await newBudget(accountId, { scope: 'reserve', amount: 3n, thenId: third.id });
      const first = await newBudget(accountId, { scope: 'key', amount: 2n, thenId: second.id });
      assert.deepEqual(await charge(keyId, 15n), [
        [first.id, second.id, 3n],
        [first.id, third.id, 4n],
        [first.id, last.id, 6n],
      ]);
      // The budget after one that has ended pays nothing.
      await subject().store.endBudget(third.id, TESTS);
      await subject().store.raiseBudget(
        { budgetId: second.id, amount: 2n, until: new Date('2200-01-01') },
        by,
      );
      assert.deepEqual(await charge(keyId, 5n), [[first.id, second.id, 5n]]);
      assert.deepEqual(await usesOf(keyId), { [first.id]: [2n, 0n], [second.id]: [8n, 0n] });
      await subject().store.updateBudget(first.id, { thenId: null }, TESTS);
      assert.deepEqual(await charge(keyId, 5n), []);
      assert.deepEqual(await differences(accountId), []);
    });

    it('split the charges of one batch in their order', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const reserve = await newBudget(accountId, { scope: 'reserve', amount: USD });
      const { amount } = settlement('');
      const own = 2n * amount + 7n;
      await newBudget(accountId, { scope: 'tag', amount: own, thenId: reserve.id });
      const batch = Array.from({ length: 9 }, () => settlement(keyId, { spender: { tag: 't' } }));
      await Promise.all(batch.map((one) => settle(one)));
      const entries = await subject().store.findEntries(batch.map(({ requestId }) => requestId));
      const paid = entries.map((entry) =>
        entry.kind === 'charge' ? entry.parts.map((of) => of.amount) : [],
      );
      const sizes = paid.flat().sort((a, b) => Number(a - b));
      assert.deepEqual(sizes, [amount - 7n, ...Array.from({ length: 6 }, () => amount)]);
      assert.deepEqual((await usesOf(keyId, { tag: 't' }))[reserve.id], [7n * amount - 7n, 0n]);
      assert.deepEqual(await differences(accountId), []);
    });

    it('never hold more than all of them leave, whoever passes on', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const chair = await newBudget(accountId, { scope: 'reserve', amount: 10n });
      const each = await newBudget(accountId, { scope: 'tag', amount: 5n, thenId: chair.id });
      const lacking = async (amount: bigint, tag: string) => {
        const outcome = await place(keyId, amount, { tag });
        return outcome.outcome === 'over_budget'
          ? [outcome.use.budget.id, outcome.use.held, outcome.chain?.left, outcome.chain?.room]
          : outcome.outcome;
      };
      assert.deepEqual(await lacking(16n, 'a'), [chair.id, 0n, 15n, 15n]);
      assert.equal(await lacking(9n, 'a'), 'held');
      assert.deepEqual(await lacking(12n, 'b'), [chair.id, 4n, 15n, 11n]);
      assert.equal(await lacking(11n, 'b'), 'held');
      assert.deepEqual(await usesOf(keyId, { tag: 'b' }), {
        [each.id]: [0n, 11n],
        [chair.id]: [0n, 10n],
      });
      // What fits into a budget itself needs nothing of the others.
      assert.equal(await lacking(5n, 'c'), 'held');
      const rest = await Promise.all(
        Array.from({ length: 40 }, (_, n) => place(keyId, 4n, { tag: `d${String(n % 4)}` })),
      );
      // Each of four tags has room for one.
      assert.equal(rest.filter(({ outcome }) => outcome === 'held').length, 4);
      assert.deepEqual(await lacking(0n, 'd1'), 'held');
    });

    it('refuse even nothing when all are empty, and nothing where one of them only notifies', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      const empty = await newBudget(accountId, { scope: 'reserve', amount: 0n });
      const soft = await newBudget(accountId, { scope: 'reserve', amount: 0n, action: 'notify' });
      const own = { scope: 'key', amount: 0n } as const;
      await newBudget(accountId, { ...own, subject: keyId, thenId: empty.id });
      await newBudget(accountId, { ...own, subject: other, thenId: soft.id });
      const refused = await place(keyId, 0n);
      assert.ok(refused.outcome === 'over_budget');
      assert.deepEqual([refused.use.budget.id, refused.chain], [empty.id, { left: 0n, room: 0n }]);
      assert.equal((await place(other, 5n)).outcome, 'held');
    });

    it('pay a charge once, also if two budgets pass it to the same one', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const chair = await newBudget(accountId, { scope: 'reserve', amount: USD });
      const key = await newBudget(accountId, { scope: 'key', amount: 3n, thenId: chair.id });
      const tag = await newBudget(accountId, { scope: 'tag', amount: 5n, thenId: chair.id });
      const spender = { tag: 't' };
      assert.deepEqual(await charge(keyId, 10n, spender), [
        [key.id, chair.id, 7n],
        [tag.id, chair.id, 5n],
      ]);
      assert.deepEqual(await usesOf(keyId, spender), {
        [key.id]: [3n, 0n],
        [tag.id]: [5n, 0n],
        [chair.id]: [7n, 0n],
      });
      assert.deepEqual(await differences(accountId), []);
    });

    it('write the events of each budget', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const terms = { scope: 'reserve', amount: 10n, shares: [50] } as const;
      const chair = await newBudget(accountId, terms);
      const own = await newBudget(accountId, { scope: 'account', amount: 5n, thenId: chair.id });
      await charge(keyId, 11n);
      await charge(keyId, 1n);
      await charge(keyId, 3n);
      const events = await subject().store.listEvents({ accountId, limit: 20 });
      assert.deepEqual(
        events
          .filter(({ type }) => type.startsWith('budget.'))
          .map(({ type, data }) => `${type} ${String(data['budget'])} ${String(data['used'])}`)
          .sort(),
        [
          `budget.reached ${own.id} 0.00000000000005`,
          `budget.reached ${chair.id} 0.00000000000010`,
          `budget.share ${chair.id} 0.00000000000006`,
        ].sort(),
      );
    });

    it('end with a reserve of the account, have four budgets at most, and none of them twice', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(USD, {});
      const other = await newAccount(USD, {});
      const reserve = { scope: 'reserve', amount: USD } as const;
      const foreign = await newBudget(other.accountId, reserve);
      const plain = await newBudget(accountId, { scope: 'account', amount: USD });
      const a = await newBudget(accountId, reserve);
      const b = await newBudget(accountId, { ...reserve, thenId: a.id });
      const c = await newBudget(accountId, { ...reserve, thenId: b.id });
      const d = await newBudget(accountId, { ...reserve, thenId: c.id });
      const ended = await newBudget(accountId, reserve);
      await store.endBudget(ended.id, TESTS);
      for (const thenId of [foreign.id, plain.id, ended.id, d.id, 'bud_none']) {
        const refused = await create(accountId, { scope: 'key', amount: USD, thenId });
        assert.equal(refused.outcome, 'unfit_next', thenId);
        assert.equal(await store.updateBudget(plain.id, { thenId }, TESTS), 'unfit_next', thenId);
      }
      // A chain that would come back to itself.
      assert.equal(await store.updateBudget(a.id, { thenId: a.id }, TESTS), 'unfit_next');
      assert.equal(await store.updateBudget(b.id, { thenId: d.id }, TESTS), 'unfit_next');
      const changed = await store.updateBudget(plain.id, { thenId: c.id }, TESTS);
      assert.ok(typeof changed === 'object');
      assert.equal(changed.thenId, c.id);
      await assert.rejects(create(accountId, { ...reserve, subject: 'x' }), {
        message: /^subject/,
      });
      assert.deepEqual(await differences(accountId), []);
    });
  });

  describe('the budget of a run', () => {
    const runBudget = async (keyId: string, amount: bigint, run = 'run-1', onlyFor = keyId) => {
      const { store } = subject();
      const accountId = (await store.getKey(keyId))?.accountId ?? '';
      const set = await store.setRunBudget(
        { accountId, run, onlyFor, name: 'of a run', amount },
        TESTS,
      );
      return set.outcome === 'set' ? set.record : set.outcome;
    };

    it('counts what its owner has spent in the run before, and nobody else', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      const member = await store.createMember({ accountId, name: 'm' }, by);
      const memberId = 'record' in member ? member.record.id : '';
      await charge(keyId, 3n, { run: 'run-1' });
      await charge(keyId, 50n, { run: 'run-2' });
      await charge(other, 7n, { run: 'run-1' });
      await charge(keyId, 20n, { run: 'run-1', memberId });
      const budget = await runBudget(keyId, 10n);
      assert.ok(typeof budget === 'object');
      assert.deepEqual([budget.scope, budget.subject, budget.onlyFor], ['run', 'run-1', keyId]);
      const used = async (key: string, spender: Spender) =>
        (await usesOf(key, spender))[budget.id]?.[0];
      assert.equal(await used(keyId, { run: 'run-1' }), 3n);
      assert.equal(await used(other, { run: 'run-1' }), undefined);
      assert.equal(await used(keyId, { run: 'run-1', memberId }), undefined);
      await charge(keyId, 4n, { run: 'run-1' });
      await charge(other, 4n, { run: 'run-1' });
      assert.equal(await used(keyId, { run: 'run-1' }), 7n);
      assert.equal((await place(keyId, 4n, { run: 'run-1' })).outcome, 'over_budget');
      assert.equal((await place(keyId, 3n, { run: 'run-1' })).outcome, 'held');
      assert.equal((await place(other, 4n, { run: 'run-1' })).outcome, 'held');
      assert.equal((await place(keyId, 4n)).outcome, 'held');
      // The member's own run has the same name.
      const ofMember = await runBudget(keyId, 25n, 'run-1', memberId);
      assert.ok(typeof ofMember === 'object' && ofMember.id !== budget.id);
      const [use] = await store.listBudgetUses(ofMember.id, 5);
      assert.equal(use?.used, 20n);
      assert.deepEqual(await differences(accountId), []);
    });

    it('is lowered, but never raised, and is one, however many set it at once', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const amounts = [9n, 5n, 8n, 7n, 5n, 6n];
      const set = await Promise.all(amounts.map((amount) => runBudget(keyId, amount)));
      const ids = new Set(set.map((one) => (typeof one === 'object' ? one.id : one)));
      assert.equal(ids.size, 1);
      const [budget] = await store.listBudgets({ accountId, limit: 10 });
      assert.equal(budget?.amount, 5n);
      const again = await runBudget(keyId, 30n);
      assert.equal(typeof again === 'object' && again.amount, 5n);
      assert.deepEqual(await differences(accountId), []);
    });

    it('ends after some days; a key has many at most, and takes no others from anybody', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      const first = await runBudget(keyId, 1n, 'run-0');
      assert.ok(typeof first === 'object' && first.until !== null);
      const days = (first.until.getTime() - first.createdAt.getTime()) / 86_400_000;
      assert.equal(days, 3);
      for (let n = 1; n < MAX_RUN_BUDGETS_OF_ONE; n += 1) {
        assert.equal(typeof (await runBudget(keyId, 1n, `run-${String(n)}`)), 'object');
      }
      assert.equal(await runBudget(keyId, 1n, 'one-more'), 'too_many');
      // One that it has can be lowered, and others have their own.
      assert.equal(typeof (await runBudget(keyId, 0n, 'run-3')), 'object');
      assert.equal(typeof (await runBudget(other, 1n, 'one-more')), 'object');
      const own = await create(accountId, { scope: 'account', amount: USD });
      assert.equal(own.outcome, 'created');
      assert.deepEqual(await differences(accountId), []);
      const endAt = (until: string) =>
        subject().tamper(`UPDATE budget SET until_at = ${until} WHERE id = '${first.id}'`);
      await endAt('created_at');
      assert.equal(typeof (await runBudget(keyId, 1n, 'one-more')), 'object');
      assert.equal((await subject().store.getBudget(first.id))?.isEnded, true);
      await endAt(subject().literal.time(first.until));
      assert.deepEqual(await differences(accountId), []);
    });

    it('must name a run and an amount', async () => {
      const { accountId, keyIds } = await newAccount(USD, {});
      const good = { accountId, run: 'r', onlyFor: keyIds[0] ?? '', name: 'n', amount: 1n };
      for (const [wrong, message] of [
        [{ run: '' }, /^run/],
        [{ run: 'a\nb' }, /^spender\.run/],
        [{ amount: -1n }, /^amount/],
      ] as const) {
        await assert.rejects(subject().store.setRunBudget({ ...good, ...wrong }, TESTS), {
          message,
        });
      }
      const none = { ...good, accountId: 'acct_none' };
      const unknown = await subject().store.setRunBudget(none, TESTS);
      assert.equal(unknown.outcome, 'unknown_account');
    });
  });
}
