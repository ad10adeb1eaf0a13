/** The part of the contract about the caps of keys. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { CAP_PERIODS, WINDOW_PERIODS } from '../key.js';
import type { CapPeriod } from '../key.js';
import { waitPastMidnight } from './midnight.js';
import { settlement } from './samples.js';
import { USD } from './subject.js';
import type { ContractPart } from './subject.js';
import { windowsAt } from './windows.js';

/** By how many days the start of a window is moved back, so that it lies in an earlier window. */
const WINDOWS = { day: 1, week: 7, month: 31 } as const;

export function capsContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe } = runner;
  /** Puts the windows back that the test has moved, because audits compare them. */
  const it = (name: string, body: () => Promise<void>) => {
    runner.it(name, async () => {
      await waitPastMidnight();
      await body();
      for (const keyId of moved) {
        await subject().tamper(windowsAt(new Date(), `id = '${keyId}'`));
      }
      moved.clear();
    });
  };
  const { amount } = settlement('');
  const capOf = async (keyId: string) => {
    const standing = await subject().store.readStanding(keyId);
    assert.ok(standing.standing !== 'unknown');
    return standing.cap;
  };
  const place = (keyId: string, units: bigint, requestId: string = randomUUID()) =>
    subject().store.placeHold({ requestId, keyId, amount: units });
  const guarded = (keyId: string, requestId?: string) =>
    settle(
      settlement(keyId, { overdraft: 'none', ...(requestId === undefined ? {} : { requestId }) }),
    );
  const usedOf = async (keyId: string) => (await subject().store.getKey(keyId))?.used;
  /** Moves the key's window into the past, so that what was used in it no longer counts. */
  const moved = new Set<string>();
  const endWindow = (keyId: string, period: keyof typeof WINDOWS) => {
    moved.add(keyId);
    return subject().tamper(
      `UPDATE api_key SET ${period}_start = ${period}_start - ${String(WINDOWS[period])} ` +
        `WHERE id = '${keyId}'`,
    );
  };

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
        const all = (used: bigint) => ({ day: used, week: used, month: used, total: used });
        assert.deepEqual(await usedOf(capped), all(2n * amount));
        assert.deepEqual(await usedOf(other), all(amount));
      }
    });

    it('readStanding reports the cap that leaves the least', async () => {
      const { keyIds } = await newAccount(USD, {
        caps: { day: 9n * amount, week: 3n * amount, month: 5n * amount, total: 20n * amount },
      });
      const [keyId = ''] = keyIds;
      assert.equal((await capOf(keyId))?.period, 'week');
      await settle(settlement(keyId));
      await endWindow(keyId, 'week');
      assert.deepEqual(await capOf(keyId), { period: 'week', cap: 3n * amount, used: 0n });
      await settle(settlement(keyId));
      assert.deepEqual(await capOf(keyId), { period: 'week', cap: 3n * amount, used: amount });
      await subject().store.updateKey(keyId, { caps: { week: null } });
      assert.deepEqual(await capOf(keyId), {
        period: 'month',
        cap: 5n * amount,
        used: 2n * amount,
      });
      await subject().store.updateKey(keyId, { caps: { month: null } });
      assert.deepEqual(await capOf(keyId), { period: 'day', cap: 9n * amount, used: 2n * amount });
      await subject().store.updateKey(keyId, { caps: { day: null, total: null } });
      assert.equal(await capOf(keyId), undefined);
    });

    it('start anew with each window, and what was used before is not counted', async () => {
      for (const period of WINDOW_PERIODS) {
        const { keyIds } = await newAccount(USD, { caps: { [period]: 2n * amount } });
        const [keyId = ''] = keyIds;
        await settle(settlement(keyId));
        await settle(settlement(keyId));
        assert.deepEqual(await capOf(keyId), { period, cap: 2n * amount, used: 2n * amount });
        await endWindow(keyId, period);
        assert.deepEqual(await capOf(keyId), { period, cap: 2n * amount, used: 0n });
        const used = { day: 2n, week: 2n, month: 2n, total: 2n, [period]: 0n };
        const inUnits = (factors: Readonly<Record<CapPeriod, bigint>>) =>
          Object.fromEntries(CAP_PERIODS.map((name) => [name, factors[name] * amount]));
        assert.deepEqual(await usedOf(keyId), inUnits(used));
        await settle(settlement(keyId));
        const later = { day: 3n, week: 3n, month: 3n, total: 3n, [period]: 1n };
        assert.deepEqual(await usedOf(keyId), inUnits(later));
        assert.deepEqual(await capOf(keyId), { period, cap: 2n * amount, used: amount });
      }
    });

    it('charges with overdraft are taken in full, so the requests in flight can exceed a cap', async () => {
      const { accountId, keyIds } = await newAccount(USD, { caps: { day: amount + 1n } });
      const [keyId = ''] = keyIds;
      const outcomes = await Promise.all([1, 2, 3].map(() => settle(settlement(keyId))));
      assert.ok(outcomes.every((outcome) => 'writtenOff' in outcome && outcome.writtenOff === 0n));
      assert.deepEqual(await capOf(keyId), { period: 'day', cap: amount + 1n, used: 3n * amount });
      assert.equal(await balanceOf(accountId), USD - 3n * amount);
      assert.equal((await subject().store.readStanding(keyId)).standing, 'active');
    });

    // F134
    it('a charge without overdraft is never reduced by a cap, whatever the cap leaves', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(
        5n * amount,
        { caps: { month: amount + 5n, total: 100n * amount } },
        {},
      );
      const [capped = '', other = ''] = keyIds;
      for (const balance of [4n * amount, 3n * amount, 2n * amount]) {
        assert.deepEqual(await guarded(capped), {
          outcome: 'settled',
          balance,
          // The cap alone is used up: neither the account nor the key is exhausted.
          isActive: true,
          writtenOff: 0n,
        });
      }
      const { entries } = await store.listEntries({ accountId, limit: 1 });
      const [entry] = entries;
      assert.ok(entry?.kind === 'charge');
      assert.deepEqual([entry.delta, entry.writtenOff, entry.overCap], [-amount, 0n, 0n]);
      assert.deepEqual(await capOf(capped), {
        period: 'month',
        cap: amount + 5n,
        used: 3n * amount,
      });
      const key = await store.getKey(capped);
      assert.deepEqual([key?.spent, key?.writtenOff], [3n * amount, 0n]);
      assert.equal((await store.readStanding(other)).standing, 'active');
      assert.ok((await store.audit()).isSound);
    });

    it('what the balance does not cover is uncovered, whatever a cap leaves', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(amount - 3n, {
        caps: { total: amount - 5n },
      });
      const [keyId = ''] = keyIds;
      assert.deepEqual(await guarded(keyId), {
        outcome: 'settled',
        balance: 0n,
        isActive: false,
        writtenOff: 3n,
      });
      const { entries } = await store.listEntries({ accountId, limit: 1 });
      assert.ok(entries[0]?.kind === 'charge' && entries[0].overCap === 0n);
      assert.equal((await store.getAccount(accountId))?.uncovered, 3n);
      assert.equal((await store.readStanding(keyId)).standing, 'exhausted');
      assert.equal((await store.getKey(keyId))?.used.total, amount);
      assert.ok((await store.audit()).isSound);
    });

    // F134: a holder sets, lowers or removes a cap while a response streams, or before each
    // response above its hold: the charge is taken from the balance in full; what the balance lacks
    // is written off and stops the account.
    it('that are set, lowered or removed while a request runs do not change its charge', async () => {
      const { store } = subject();
      const before = [undefined, 2n * amount] as const;
      const during = [0n, 1n, amount - 1n, amount, null] as const;
      for (const overdraft of ['bounded', 'none'] as const) {
        for (const period of CAP_PERIODS) {
          for (const [old, changed] of before.flatMap((a) => during.map((b) => [a, b] as const))) {
            const { keyIds } = await newAccount(USD, {
              caps: old === undefined ? {} : { [period]: old },
            });
            const [keyId = ''] = keyIds;
            const charge = settlement(keyId, { overdraft });
            if (overdraft === 'none') await place(keyId, 1n, charge.requestId);
            await store.updateKey(keyId, { caps: { [period]: changed } });
            assert.deepEqual(await settle(charge), {
              outcome: 'settled',
              balance: USD - amount,
              isActive: true,
              writtenOff: 0n,
            });
          }
        }
      }
    });

    it('holds must fit under the cap beside the other holds of the key', async () => {
      const { keyIds } = await newAccount(100n, { caps: { week: 10n, total: 50n } }, {});
      const [capped = '', other = ''] = keyIds;
      const cap = { period: 'week', cap: 10n, used: 0n };
      assert.equal((await place(other, 60n)).outcome, 'held');
      assert.deepEqual(await place(capped, 7n), { outcome: 'held', balance: 100n, held: 67n });
      assert.deepEqual(await place(capped, 4n), { outcome: 'capped', cap, held: 7n });
      assert.equal((await place(capped, 3n)).outcome, 'held');
      // The cap is held completely, but not used up: a request that costs nothing may pass.
      assert.equal((await place(capped, 0n)).outcome, 'held');
      assert.deepEqual(await place(capped, 1n), { outcome: 'capped', cap, held: 10n });
      // The balance has 30 left for the other key.
      assert.equal((await place(other, 31n)).outcome, 'short');
      assert.equal((await place(other, 30n)).outcome, 'held');
    });

    it('a used-up cap refuses every hold, and a cap of zero refuses the first', async () => {
      const { keyIds } = await newAccount(USD, { caps: { day: amount } }, { caps: { total: 0n } });
      const [capped = '', forbidden = ''] = keyIds;
      await settle(settlement(capped));
      const cap = { period: 'day', cap: amount, used: amount };
      assert.deepEqual(await place(capped, 0n), { outcome: 'capped', cap, held: 0n });
      assert.deepEqual(await place(forbidden, 0n), {
        outcome: 'capped',
        cap: { period: 'total', cap: 0n, used: 0n },
        held: 0n,
      });
      await subject().store.updateKey(capped, { caps: { day: amount + 1n } });
      assert.equal((await place(capped, 1n)).outcome, 'held');
    });

    it('a charge beyond its hold is taken in full beside other holds of the key', async () => {
      const { keyIds } = await newAccount(USD, { caps: { day: 2n * amount } });
      const [keyId = ''] = keyIds;
      const [first, second] = [settlement(keyId), settlement(keyId)];
      await place(keyId, 1n, first.requestId);
      await place(keyId, amount + 5n, second.requestId);
      for (const charge of [first, second]) {
        const settled = await settle(charge);
        assert.ok(settled.outcome === 'settled' && settled.writtenOff === 0n);
      }
      assert.deepEqual(await capOf(keyId), { period: 'day', cap: 2n * amount, used: 2n * amount });
    });

    it('without overdraft, no race of held requests exceeds a cap, and every charge is taken in full', async () => {
      const { store } = subject();
      const cap = 3n * amount + 7n;
      const { accountId, keyIds } = await newAccount(
        1_000n * amount,
        ...Array.from({ length: 4 }, () => ({ caps: { total: cap } })),
        {},
      );
      const outcomes = await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const keyId = keyIds[index % 5] ?? '';
          const requestId = `req_${randomUUID()}`;
          const held = await place(keyId, amount, requestId);
          return held.outcome === 'held' ? (await guarded(keyId, requestId)).outcome : held.outcome;
        }),
      );
      assert.ok(outcomes.every((outcome) => outcome === 'settled' || outcome === 'capped'));
      const keys = await Promise.all(keyIds.map((keyId) => store.getKey(keyId)));
      const spent = [...Array<bigint>(4).fill(3n * amount), 20n * amount];
      assert.deepEqual(
        keys.map((key) => [key?.spent, key?.writtenOff]),
        spent.map((each) => [each, 0n]),
      );
      assert.equal(await balanceOf(accountId), 1_000n * amount - 32n * amount);
      assert.ok((await store.audit()).isSound);
    });

    it("a charge under the request id of another key's hold is taken in full, as if there were no hold", async () => {
      const { accountId, keyIds } = await newAccount(amount, {}, {});
      const [first = '', second = ''] = keyIds;
      const requestId = `req_${randomUUID()}`;
      await place(first, amount, requestId);
      // The hold belonged to another key, so it ends without covering this charge.
      assert.deepEqual(await guarded(second, requestId), {
        outcome: 'settled',
        balance: 0n,
        isActive: false,
        writtenOff: 0n,
      });
      assert.equal(await balanceOf(accountId), 0n);
    });
  });
}
