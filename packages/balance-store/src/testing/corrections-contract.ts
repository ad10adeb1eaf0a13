/** The part of the contract about adjustments and transfers. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Adjustment, Transfer } from '../account.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function correctionsContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe, it } = runner;
  const adjust = (accountId: string, amount: bigint, others: Partial<Adjustment> = {}) =>
    subject().store.adjust({
      adjustmentId: randomUUID(),
      accountId,
      amount,
      reason: 'correction',
      by: TESTS,
      ...others,
    });
  const transfer = (from: string, to: string, amount: bigint, others: Partial<Transfer> = {}) =>
    subject().store.transfer({
      transferId: randomUUID(),
      from,
      to,
      amount,
      by: TESTS,
      ...others,
    });
  const entriesOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, limit: 100 })).entries;

  describe('adjust', () => {
    it('books an entry of either sign, with its reason, reference and note', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n, {});
      const adjustmentId = randomUUID();
      const refund = await adjust(accountId, -3n, {
        adjustmentId,
        reason: 'refund',
        reference: 'inv "7"',
        note: 'Ünïcode\n\\ 🙂',
      });
      assert.deepEqual(refund, { outcome: 'adjusted', balance: 7n, activeKeys: 1 });
      const goodwill = await adjust(accountId, 5n, { reason: 'goodwill' });
      assert.deepEqual(goodwill, { outcome: 'adjusted', balance: 12n, activeKeys: 1 });
      const [second, first] = await entriesOf(accountId);
      assert.ok(first?.kind === 'adjustment' && second?.kind === 'adjustment');
      const { createdAt, ...recorded } = first;
      assert.ok(createdAt <= second.createdAt);
      assert.deepEqual(recorded, {
        id: `adjustment:${adjustmentId}`,
        accountId,
        seq: 2n,
        kind: 'adjustment',
        delta: -3n,
        balanceAfter: 7n,
        actor: TESTS.name,
        reason: 'refund',
        reference: 'inv "7"',
        note: { text: 'Ünïcode\n\\ 🙂' },
        given: 0n,
        counter: 'refunds',
        tax: 0n,
        fee: 0n,
        reverses: undefined,
      });
      assert.deepEqual([second.delta, second.reference, second.note], [5n, undefined, undefined]);
      const account = await store.getAccount(accountId);
      assert.deepEqual([account?.credited, account?.adjusted], [10n, 2n]);
      assert.deepEqual(await store.findEntry(keyIds[0] ?? '', first.id), first);
    });

    it('books once, also when it is repeated ten times by different operators', async () => {
      const { accountId } = await newAccount(10n);
      const adjustmentId = randomUUID();
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          adjust(accountId, -4n, {
            adjustmentId,
            note: `attempt ${String(index)}`,
            by: { name: `operator ${String(index)}` },
          }),
        ),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'adjusted').length, 1);
      await adjust(accountId, 1n);
      // A replay reports the balance after the original entry.
      assert.deepEqual(await adjust(accountId, -4n, { adjustmentId }), {
        outcome: 'replayed',
        balance: 6n,
        activeKeys: 0,
      });
      assert.equal((await entriesOf(accountId)).length, 3);
    });

    it('reports a conflict for a used id with other contents, and books nothing', async () => {
      const [{ accountId }, other] = [await newAccount(10n), await newAccount(10n)];
      const adjustmentId = randomUUID();
      await adjust(accountId, 4n, { adjustmentId, reference: 'r' });
      const same = { adjustmentId, reference: 'r' };
      for (const outcome of [
        await adjust(accountId, 5n, same),
        await adjust(accountId, -4n, same),
        await adjust(other.accountId, 4n, same),
        await adjust(accountId, 4n, { ...same, reason: 'goodwill' }),
        await adjust(accountId, 4n, { ...same, reference: 's' }),
        await adjust(accountId, 4n, { adjustmentId }),
      ]) {
        assert.deepEqual(outcome, { outcome: 'conflict' });
      }
      assert.deepEqual(await adjust('acct_none', 1n), { outcome: 'unknown_account' });
      assert.equal(await balanceOf(accountId), 14n);
      assert.equal(await balanceOf(other.accountId), 10n);
    });

    it('disables the keys when it takes the balance to zero or below, and enables them again', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n, {}, {});
      const standings = async () =>
        (await Promise.all(keyIds.map((id) => store.readStanding(id)))).map(
          ({ standing }) => standing,
        );
      assert.deepEqual(await adjust(accountId, -25n, { reason: 'chargeback' }), {
        outcome: 'adjusted',
        balance: -15n,
        activeKeys: 0,
      });
      assert.deepEqual(await standings(), ['exhausted', 'exhausted']);
      assert.ok(((await adjust(accountId, 15n)) as { activeKeys?: number }).activeKeys === 0);
      assert.deepEqual(await standings(), ['exhausted', 'exhausted']);
      assert.deepEqual(await adjust(accountId, 1n), {
        outcome: 'adjusted',
        balance: 1n,
        activeKeys: 2,
      });
      assert.deepEqual(await standings(), ['active', 'active']);
    });

    it('ends the exhaustion that a write-off caused if the amount is positive, but not if it is negative', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(5n, {});
      const [keyId = ''] = keyIds;
      const charge = settlement(keyId, { overdraft: 'none' });
      const { amount } = charge;
      await settle(charge);
      assert.equal((await store.getAccount(accountId))?.uncovered, amount - 5n);
      await adjust(accountId, -1n);
      assert.equal((await store.getAccount(accountId))?.uncovered, amount - 5n);
      await adjust(accountId, 2n);
      const account = await store.getAccount(accountId);
      assert.deepEqual(
        [account?.uncovered, account?.balance, account?.writtenOff],
        [0n, 1n, amount - 5n],
      );
      assert.equal((await store.readStanding(keyId)).standing, 'active');
    });

    it('loses neither charges nor corrections when they race', async () => {
      const { accountId, keyIds } = await newAccount(USD, {}, {});
      const charges = Array.from({ length: 60 }, (_, index) => settlement(keyIds[index % 2] ?? ''));
      const [{ amount } = settlement('')] = charges;
      await Promise.all([
        ...charges.map(settle),
        ...Array.from({ length: 30 }, (_, index) => adjust(accountId, index % 2 === 0 ? 3n : -2n)),
      ]);
      assert.equal(await balanceOf(accountId), USD - 60n * amount + 15n);
      const seqs = (await entriesOf(accountId)).map(({ seq }) => seq).reverse();
      assert.deepEqual(
        seqs,
        Array.from({ length: 91 }, (_, index) => BigInt(index + 1)),
      );
    });
  });

  describe('transfer', () => {
    it('moves money with two entries, each of which names the other account', async () => {
      const [a, b] = [await newAccount(10n), await newAccount(1n)];
      const transferId = randomUUID();
      assert.deepEqual(await transfer(a.accountId, b.accountId, 10n, { transferId, note: 'n' }), {
        outcome: 'transferred',
        fromBalance: 0n,
        toBalance: 11n,
      });
      const [[out], [into]] = [await entriesOf(a.accountId), await entriesOf(b.accountId)];
      assert.ok(out?.kind === 'adjustment' && into?.kind === 'adjustment');
      assert.deepEqual(
        [out.id, out.delta, out.reason, out.reference, out.note],
        [`transfer:${transferId}:out`, -10n, 'transfer', b.accountId, { text: 'n' }],
      );
      assert.deepEqual(
        [into.id, into.delta, into.reason, into.reference, into.note],
        [`transfer:${transferId}:in`, 10n, 'transfer', a.accountId, { text: 'n' }],
      );
      const accounts = await Promise.all(
        [a, b].map(({ accountId }) => subject().store.getAccount(accountId)),
      );
      assert.deepEqual(
        accounts.map((account) => [account?.credited, account?.adjusted]),
        [
          [10n, -10n],
          [1n, 10n],
        ],
      );
    });

    it('is refused when the balance less the holds does not cover it, or an account is unknown', async () => {
      const { store } = subject();
      const [a, b] = [await newAccount(10n, {}), await newAccount(0n)];
      const hold = { requestId: randomUUID(), keyId: a.keyIds[0] ?? '', amount: 4n };
      await store.placeHold(hold);
      assert.deepEqual(await transfer(a.accountId, b.accountId, 7n), {
        outcome: 'short',
        free: 6n,
      });
      assert.deepEqual(await transfer(b.accountId, a.accountId, 1n), {
        outcome: 'short',
        free: 0n,
      });
      assert.deepEqual(await transfer(a.accountId, 'acct_none', 1n), {
        outcome: 'unknown_account',
        accountId: 'acct_none',
      });
      assert.deepEqual(await transfer('acct_none', a.accountId, 1n), {
        outcome: 'unknown_account',
        accountId: 'acct_none',
      });
      assert.equal((await transfer(a.accountId, b.accountId, 6n)).outcome, 'transferred');
      assert.deepEqual([await balanceOf(a.accountId), await balanceOf(b.accountId)], [4n, 6n]);
      assert.deepEqual(
        [(await entriesOf(a.accountId)).length, (await entriesOf(b.accountId)).length],
        [2, 1],
      );
    });

    it('moves once, and reports a conflict for a used id with other contents', async () => {
      const [a, b] = [await newAccount(10n), await newAccount(10n)];
      const transferId = randomUUID();
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => transfer(a.accountId, b.accountId, 3n, { transferId })),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'transferred').length, 1);
      await transfer(b.accountId, a.accountId, 13n);
      // A replay reports the balances after the original transfer, not the current ones.
      assert.deepEqual(await transfer(a.accountId, b.accountId, 3n, { transferId }), {
        outcome: 'replayed',
        fromBalance: 7n,
        toBalance: 13n,
      });
      const conflict = { outcome: 'conflict' };
      assert.deepEqual(await transfer(a.accountId, b.accountId, 4n, { transferId }), conflict);
      assert.deepEqual(await transfer(b.accountId, a.accountId, 3n, { transferId }), conflict);
      assert.deepEqual([await balanceOf(a.accountId), await balanceOf(b.accountId)], [20n, 0n]);
    });

    it('in both directions at once, beside charges, keeps the sum and does not deadlock', async () => {
      const { store } = subject();
      const [a, b] = [await newAccount(USD, {}), await newAccount(USD, {})];
      const charges = Array.from({ length: 40 }, (_, index) =>
        settlement((index % 2 === 0 ? a : b).keyIds[0] ?? ''),
      );
      const [{ amount } = settlement('')] = charges;
      const outcomes = await Promise.all([
        ...Array.from({ length: 40 }, (_, index) =>
          index % 2 === 0
            ? transfer(a.accountId, b.accountId, 5n)
            : transfer(b.accountId, a.accountId, 7n),
        ),
        ...charges.map(settle),
      ]);
      assert.ok(
        outcomes.every(({ outcome }) => outcome === 'transferred' || outcome === 'settled'),
      );
      assert.equal(await balanceOf(a.accountId), USD - 20n * amount + 40n);
      assert.equal(await balanceOf(b.accountId), USD - 20n * amount - 40n);
      assert.ok((await store.audit()).isSound);
    });
  });
}
