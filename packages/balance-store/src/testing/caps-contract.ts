/** The part of the contract that says that the caps of keys are budgets. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { CAP_PERIODS } from '../key.js';
import type { KeyCaps } from '../key.js';
import { numericFromUnits } from '../numeric.js';
import { waitPastMidnight } from './midnight.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

const NONE = { day: null, week: null, month: null, total: null };
/** By how many days what was used is moved back, so that it lies in an earlier period. */
const PERIODS = { day: 1, week: 7, month: 31 } as const;
const DAY_MS = 86_400_000;

export function capsContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe } = runner;
  const it = (name: string, body: () => Promise<void>) => {
    runner.it(name, async () => {
      await waitPastMidnight();
      await body();
    });
  };
  const { amount } = settlement('');
  const capOf = async (keyId: string) => {
    const standing = await subject().store.readStanding(keyId);
    assert.ok(standing.standing !== 'unknown');
    return standing.cap;
  };
  const cap = (keyId: string, caps: Partial<KeyCaps>) =>
    subject().store.updateKey(keyId, { caps }, TESTS);
  const place = async (keyId: string, units: bigint) => {
    const hold = { requestId: randomUUID(), keyId, amount: units };
    const placed = await subject().store.placeHold(hold);
    if (placed.outcome !== 'over_budget') return placed.outcome;
    const { budget, amount: most, used, held } = placed.use;
    assert.ok(budget.isCap && budget.subject === keyId);
    return { period: budget.period, most, used, held };
  };
  const recordOf = async (keyId: string) => {
    const record = await subject().store.getKey(keyId);
    assert.ok(record !== undefined);
    return record;
  };
  const differencesOf = async (accountId: string) =>
    (await subject().store.audit()).differences.filter((one) => one.accountId === accountId);
  const use = (change: string, keyId: string, period: keyof KeyCaps) =>
    subject().tamper(`UPDATE budget_use SET ${change} WHERE budget_id = 'cap_${period}_${keyId}'`);

  describe('caps', () => {
    it('of every period count what their key has used, and nothing that other keys have used', async () => {
      for (const period of CAP_PERIODS) {
        const { keyIds } = await newAccount(USD, { caps: { [period]: 5n * amount } }, {});
        const [capped = '', other = ''] = keyIds;
        assert.deepEqual(await capOf(capped), { period, cap: 5n * amount, used: 0n });
        await settle(settlement(capped));
        await settle(settlement(other));
        await settle(settlement(capped));
        assert.deepEqual(await capOf(capped), { period, cap: 5n * amount, used: 2n * amount });
        assert.equal(await capOf(other), undefined);
        const key = await recordOf(capped);
        assert.deepEqual(key.caps, { ...NONE, [period]: 5n * amount });
        assert.deepEqual(key.used, { ...NONE, total: 2n * amount, [period]: 2n * amount });
        const uncapped = await recordOf(other);
        assert.deepEqual([uncapped.caps, uncapped.used], [NONE, { ...NONE, total: amount }]);
      }
    });

    it('readStanding reports the cap that leaves the least, and each starts anew with its period', async () => {
      const { accountId, keyIds } = await newAccount(USD, {
        caps: { day: 9n * amount, week: 3n * amount, month: 5n * amount, total: 20n * amount },
      });
      const [keyId = ''] = keyIds;
      const caps = { week: 3n, month: 5n, day: 9n } as const;
      let charges = 0n;
      for (const period of ['week', 'month', 'day'] as const) {
        await settle(settlement(keyId));
        charges += 1n;
        const of = { period, cap: caps[period] * amount };
        assert.deepEqual(await capOf(keyId), { ...of, used: charges * amount });
        await use(`start_at = start_at - ${String(PERIODS[period] * DAY_MS)}`, keyId, period);
        assert.equal((await recordOf(keyId)).used[period], 0n);
        // Of what was used before, nothing is kept.
        await settle(settlement(keyId));
        charges += 1n;
        assert.equal((await recordOf(keyId)).used[period], amount);
        await use(`used = '${numericFromUnits(charges * amount)}'`, keyId, period);
        assert.deepEqual(await differencesOf(accountId), []);
        await cap(keyId, { [period]: null });
      }
      assert.equal((await capOf(keyId))?.period, 'total');
      await cap(keyId, { total: null });
      assert.equal(await capOf(keyId), undefined);
    });

    // A holder could otherwise begin anew by removing a cap and setting it again.
    it('that are set while their key is used count the present period from its first day', async () => {
      const { accountId, keyIds } = await newAccount(USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      await settle(settlement(keyId));
      await settle(settlement(other));
      const all = { day: USD, week: USD, month: USD, total: USD };
      const used = (units: bigint) => ({ day: units, week: units, month: units, total: units });
      assert.deepEqual((await cap(keyId, all))?.used, used(amount));
      await settle(settlement(keyId));
      assert.deepEqual((await cap(keyId, NONE))?.caps, NONE);
      await settle(settlement(keyId));
      assert.deepEqual((await cap(keyId, all))?.used, used(3n * amount));
      await settle(settlement(keyId));
      assert.deepEqual((await recordOf(keyId)).used, used(4n * amount));
      assert.deepEqual(await differencesOf(accountId), []);
    });

    it('are budgets in the trail, but not in lists of budgets, where they cannot be changed', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, { caps: { day: 3n } });
      const [keyId = ''] = keyIds;
      await cap(keyId, { day: 4n, week: null });
      await cap(keyId, { day: 4n });
      await cap(keyId, { day: null });
      await cap(keyId, { day: 5n });
      const trail = await store.listTrail({ keyId, limit: 100 });
      assert.deepEqual(
        trail.map(({ action }) => action).filter((action) => action.startsWith('budget.')),
        ['budget.update', 'budget.end', 'budget.update', 'budget.create'],
      );
      const id = `cap_day_${keyId}`;
      assert.deepEqual(await store.listBudgets({ accountId, withEnded: true, limit: 9 }), []);
      assert.equal(await store.getBudget(id), undefined);
      assert.equal(await store.updateBudget(id, { amount: USD }, TESTS), undefined);
      assert.equal(await store.endBudget(id, TESTS), undefined);
      const until = new Date(Date.now() + DAY_MS);
      const raised = await store.raiseBudget({ budgetId: id, amount: USD, until }, { by: TESTS });
      assert.equal(raised.outcome, 'unknown_budget');
      assert.equal((await capOf(keyId))?.cap, 5n);
      const standing = await store.readStanding(keyId);
      assert.equal(standing.standing === 'active' && standing.isBudgeted, undefined);
      assert.deepEqual(await differencesOf(accountId), []);
    });

    // F134: a holder sets, lowers or removes a cap while a response streams, or before each
    // response above its hold: the charge is taken from the balance in full.
    it('reduce no charge, whatever they leave, and disable no key', async () => {
      const { store } = subject();
      for (const overdraft of ['bounded', 'none'] as const) {
        for (const changed of [0n, 1n, amount - 1n, null]) {
          const caps = { month: 2n * amount, total: amount + 5n };
          const { accountId, keyIds } = await newAccount(USD, { caps });
          const [keyId = ''] = keyIds;
          const charges = [1, 2, 3].map(() => settlement(keyId, { overdraft }));
          for (const { requestId } of charges.slice(1)) {
            if (overdraft === 'none') await store.placeHold({ requestId, keyId, amount: 1n });
          }
          await cap(keyId, { month: changed });
          for (const charge of charges) {
            const settled = await settle(charge);
            assert.ok(settled.outcome === 'settled' && settled.writtenOff === 0n);
          }
          assert.equal(await balanceOf(accountId), USD - 3n * amount);
          assert.equal((await store.readStanding(keyId)).standing, 'active');
          assert.equal((await recordOf(keyId)).used.total, 3n * amount);
        }
      }
    });

    it('holds must fit under each of them beside the other holds of the key', async () => {
      const { keyIds } = await newAccount(
        100n,
        { caps: { week: 10n, total: 50n } },
        {},
        { caps: { total: 0n } },
      );
      const [capped = '', other = '', forbidden = ''] = keyIds;
      const week = { period: 'week', most: 10n, used: 0n };
      assert.equal(await place(other, 60n), 'held');
      assert.equal(await place(capped, 7n), 'held');
      assert.deepEqual(await place(capped, 4n), { ...week, held: 7n });
      assert.equal(await place(capped, 3n), 'held');
      // The cap is held completely, but not used up: a request that costs nothing may pass.
      assert.equal(await place(capped, 0n), 'held');
      assert.deepEqual(await place(capped, 1n), { ...week, held: 10n });
      const none = { period: 'once', most: 0n, used: 0n, held: 0n };
      assert.deepEqual(await place(forbidden, 0n), none);
      // The balance has 30 left for the other key.
      assert.equal(await place(other, 31n), 'short');
      assert.equal(await place(other, 30n), 'held');
    });

    it('without overdraft, no race of held requests exceeds a cap, and every charge is taken in full', async () => {
      const { store } = subject();
      const caps = { total: 3n * amount + 7n };
      const { accountId, keyIds } = await newAccount(
        1_000n * amount,
        ...Array.from({ length: 4 }, () => ({ caps })),
        {},
      );
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const keyId = keyIds[index % 5] ?? '';
          const charge = settlement(keyId, { overdraft: 'none' });
          const held = await store.placeHold({ ...charge, amount });
          return held.outcome === 'held' ? (await settle(charge)).outcome : held.outcome;
        }),
      );
      assert.ok(outcomes.every((outcome) => outcome === 'settled' || outcome === 'over_budget'));
      const keys = await Promise.all(keyIds.map(recordOf));
      const spent = [...Array<bigint>(4).fill(3n * amount), 20n * amount];
      assert.deepEqual(
        keys.map((key) => [key.spent, key.writtenOff]),
        spent.map((each) => [each, 0n]),
      );
      assert.equal(await balanceOf(accountId), 1_000n * amount - 32n * amount);
      assert.deepEqual(await differencesOf(accountId), []);
    });

    // F220: what a cap counts is changed with plain SQL: the audit names it.
    it('are audited: what one has used, and its amount', async () => {
      const { accountId, keyIds } = await newAccount(USD, { caps: { month: 9n * amount } });
      const [keyId = ''] = keyIds;
      await settle(settlement(keyId));
      const budget = (change: string) =>
        subject().tamper(`UPDATE budget SET ${change} WHERE id = 'cap_month_${keyId}'`);
      const usd = numericFromUnits;
      await use(`used = '${usd(1n)}'`, keyId, 'month');
      await budget(`amount = '${usd(USD)}', is_cap = FALSE`);
      const found = await differencesOf(accountId);
      assert.deepEqual(found.map(({ check }) => check).sort(), ['budget', 'rights', 'rights']);
      await use(`used = '${usd(amount)}'`, keyId, 'month');
      await budget(`amount = '${usd(9n * amount)}', is_cap = TRUE`);
      assert.deepEqual(await differencesOf(accountId), []);
    });

    it("a charge under the request id of another key's hold is taken in full, as if there were no hold", async () => {
      const { accountId, keyIds } = await newAccount(amount, {}, {});
      const [first = '', second = ''] = keyIds;
      const charge = settlement(second, { overdraft: 'none' });
      await subject().store.placeHold({ requestId: charge.requestId, keyId: first, amount });
      // The hold belonged to another key, so it ends without covering this charge.
      const settled = { outcome: 'settled', balance: 0n, isActive: false, writtenOff: 0n };
      assert.deepEqual(await settle(charge), settled);
      assert.equal(await balanceOf(accountId), 0n);
    });
  });
}
