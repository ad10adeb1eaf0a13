/** The part of the contract about holds: they keep every balance at zero or above. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function holdsContract({
  runner,
  subject,
  newKey,
  accountOf,
  topUp,
  settle,
}: ContractPart): void {
  const { describe, it } = runner;
  const place = (keyId: string, amount: bigint, requestId: string = randomUUID()) =>
    subject().store.placeHold({ requestId, keyId, amount });
  const balanceOf = async (keyId: string) => (await subject().store.getKey(keyId))?.balance;
  const heldBy = async (keyId: string, state: 'live' | 'orphaned' = 'live') =>
    (await subject().store.listHolds({ state, limit: 1_000 }))
      .filter((hold) => hold.keyId === keyId)
      .map(({ requestId }) => requestId);
  const until = async (isTrue: () => Promise<boolean>) => {
    while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const expire = (requestId: string) =>
    subject().tamper(
      `UPDATE hold SET expires_at = ${subject().literal.time(new Date(Date.now() - 1_000))} ` +
        `WHERE request_id = '${requestId}'`,
    );

  describe('holds', () => {
    it('fit as long as the balance covers all of them, to the last 10^-14 USD', async () => {
      const keyId = await newKey(10n);
      assert.deepEqual(await place(keyId, 7n), { outcome: 'held', balance: 10n, held: 7n });
      assert.deepEqual(await place(keyId, 4n), {
        outcome: 'short',
        balance: 10n,
        held: 7n,
        shortfall: 1n,
      });
      assert.deepEqual(await place(keyId, 3n), { outcome: 'held', balance: 10n, held: 10n });
      assert.deepEqual(await place(keyId, 0n), { outcome: 'held', balance: 10n, held: 10n });
      assert.equal((await heldBy(keyId)).length, 3);
      assert.ok((await subject().store.countHolds('live')) >= 3);
      await assert.rejects(place(keyId, -1n), RangeError);
    });

    it('are placed exactly as far as the balance covers them, out of a thousand at once', async () => {
      const keyId = await newKey(100n);
      const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => place(keyId, 3n)));
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'held').length, 33);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'short').length, 967);
    });

    it('that are placed again do not hold more', async () => {
      const keyId = await newKey(10n);
      const requestId = randomUUID();
      await Promise.all([1, 2, 3].map(() => place(keyId, 6n, requestId)));
      assert.deepEqual(await place(keyId, 6n, requestId), {
        outcome: 'held',
        balance: 10n,
        held: 6n,
      });
    });

    it('are refused to disabled keys', async () => {
      const { store } = subject();
      const keyId = await newKey();
      assert.deepEqual(await place(keyId, 0n), { outcome: 'inactive', standing: 'exhausted' });
      await topUp(keyId, USD);
      await store.suspendKey(keyId);
      assert.deepEqual(await place(keyId, 1n), { outcome: 'inactive', standing: 'suspended' });
      assert.deepEqual(await place('key_none', 1n), { outcome: 'inactive', standing: 'unknown' });
    });

    it('are replaced by the exact charge, and the rest is free at once', async () => {
      const keyId = await newKey(USD);
      const charge = settlement(keyId);
      await place(keyId, USD, charge.requestId);
      assert.equal((await place(keyId, 1n)).outcome, 'short');
      const balance = USD - charge.amount;
      const settled = { outcome: 'settled', balance, isActive: true, writtenOff: 0n };
      assert.deepEqual(await settle(charge), settled);
      assert.deepEqual(await heldBy(keyId), []);
      assert.deepEqual(await place(keyId, balance), { outcome: 'held', balance, held: balance });
      // The hold is gone, and settling again is still only a replay.
      assert.equal((await settle(charge)).outcome, 'replayed');
    });

    it('are released when nothing is charged, and releasing twice does no harm', async () => {
      const keyId = await newKey(5n);
      const requestId = randomUUID();
      await place(keyId, 5n, requestId);
      subject().store.releaseHold(requestId);
      subject().store.releaseHold(requestId);
      await until(async () => (await heldBy(keyId)).length === 0);
      assert.equal((await place(keyId, 5n)).outcome, 'held');
    });

    it('a charge beyond its hold takes what no other hold covers; the rest is written off', async () => {
      const keyId = await newKey();
      const [first, second] = [settlement(keyId), settlement(keyId)];
      await topUp(keyId, first.amount + 10n);
      await place(keyId, 1n, first.requestId);
      await place(keyId, 10n, second.requestId);
      assert.deepEqual(await settle(first), {
        outcome: 'settled',
        balance: 10n,
        isActive: true,
        writtenOff: 0n,
      });
      const writtenOff = second.amount - 10n;
      const settled = { balance: 0n, isActive: false, writtenOff };
      assert.deepEqual(await settle(second), { outcome: 'settled', ...settled });
      // The charge is sent again, as after a lost answer, twice in one batch.
      const replayed = { outcome: 'replayed', ...settled };
      assert.deepEqual(await Promise.all([settle(second), settle(second)]), [replayed, replayed]);
      assert.deepEqual(await heldBy(keyId), []);
      assert.deepEqual(await heldBy(keyId, 'orphaned'), []);
      const entry = await subject().store.findEntry(keyId, second.requestId);
      assert.equal(entry?.delta, -10n);
      assert.equal(entry?.kind === 'charge' && entry.writtenOff, writtenOff);
      const key = await subject().store.getKey(keyId);
      assert.equal(key?.writtenOff, writtenOff);
      assert.equal(key.spent, first.amount + 10n);
      const report = await subject().store.audit();
      assert.ok(report.isSound);
      assert.ok(report.writtenOff >= writtenOff);
    });

    // F315
    it('cover all charges of a request that are settled together, wherever a batch ends', async () => {
      const { store } = subject();
      const other = await newKey(USD);
      for (const before of [255, 499]) {
        const keyId = await newKey();
        const [message, part] = [settlement(keyId), settlement(keyId)].map((charge) => ({
          ...charge,
          overdraft: 'none' as const,
        }));
        assert.ok(message !== undefined && part !== undefined);
        const both = message.amount + part.amount;
        await topUp(keyId, both + 1n);
        await place(keyId, both, message.requestId);
        const others = Array.from({ length: before }, () => settle(settlement(other)));
        const [outcomes, next] = await Promise.all([
          store.settleTogether([message, part], { deadlineMs: 60_000 }),
          place(keyId, 2n),
          ...others,
        ]);
        const settled = { outcome: 'settled', isActive: true, writtenOff: 0n };
        assert.deepEqual(outcomes, [
          { ...settled, balance: part.amount + 1n },
          { ...settled, balance: 1n },
        ]);
        assert.equal(next.outcome, 'short');
      }
    });

    it('a write-off exhausts the key until its next credit, even if other holds are released', async () => {
      const { store } = subject();
      const keyId = await newKey();
      const [large, costly, next] = [settlement(keyId), settlement(keyId), settlement(keyId)];
      await topUp(keyId, 100n * large.amount);
      const free = 7n;
      await place(keyId, 100n * large.amount - free, large.requestId);
      await place(keyId, 1n, costly.requestId);
      const writtenOff = costly.amount - free;
      assert.deepEqual(await settle(costly), {
        outcome: 'settled',
        balance: 100n * large.amount - free,
        isActive: false,
        writtenOff,
      });
      // The large request costs a hundredth of its hold, so most of the balance is left.
      const balance = 99n * large.amount - free;
      assert.deepEqual(await settle(large), {
        outcome: 'settled',
        balance,
        isActive: false,
        writtenOff: 0n,
      });
      assert.deepEqual(await store.readStanding(keyId), {
        standing: 'exhausted',
        balance,
        uncovered: writtenOff,
      });
      assert.deepEqual(await place(keyId, 1n), { outcome: 'inactive', standing: 'exhausted' });
      assert.equal((await store.getKey(keyId))?.isActive, false);
      assert.deepEqual(await topUp(keyId, 1n), {
        outcome: 'credited',
        accountId: await accountOf(keyId),
        balance: balance + 1n,
        activeKeys: 1,
      });
      assert.deepEqual(await store.readStanding(keyId), {
        standing: 'active',
        balance: balance + 1n,
        uncovered: 0n,
      });
      assert.equal((await place(keyId, next.amount, next.requestId)).outcome, 'held');
      assert.equal((await settle(next)).outcome, 'settled');
      assert.ok((await store.audit()).isSound);
    });

    it('a charge within its hold is taken in full, even if other requests are settled at the same time', async () => {
      const keyId = await newKey();
      const charges = Array.from({ length: 40 }, () => settlement(keyId));
      const [{ amount } = settlement(keyId)] = charges;
      await topUp(keyId, 20n * amount);
      // Every second hold is smaller than its charge.
      const held = await Promise.all(
        charges.map(({ requestId }, index) =>
          place(keyId, index % 2 === 0 ? amount : 0n, requestId),
        ),
      );
      assert.ok(held.every(({ outcome }) => outcome === 'held'));
      const outcomes = await Promise.all(charges.map(settle));
      outcomes.forEach((outcome, index) => {
        assert.equal(outcome.outcome, 'settled');
        assert.equal(
          outcome.outcome === 'settled' && outcome.writtenOff,
          index % 2 === 0 ? 0n : amount,
        );
      });
      assert.equal(await balanceOf(keyId), 0n);
      assert.ok((await subject().store.audit()).isSound);
    });

    it('that expire become orphans, which are counted but hold no money; a late charge takes what is left', async () => {
      const keyId = await newKey();
      const [late, tooLate] = [settlement(keyId), settlement(keyId)];
      await topUp(keyId, late.amount + 5n);
      await place(keyId, late.amount, late.requestId);
      await expire(late.requestId);
      await place(keyId, 5n, tooLate.requestId);
      assert.deepEqual(await heldBy(keyId, 'orphaned'), [late.requestId]);
      const orphans = await subject().store.countHolds('orphaned');
      assert.ok((await subject().store.audit()).orphanedHolds > 0);
      assert.equal((await settle(late)).outcome, 'settled');
      assert.deepEqual(await heldBy(keyId, 'orphaned'), []);
      assert.equal(await subject().store.countHolds('orphaned'), orphans - 1);
      await expire(tooLate.requestId);
      assert.equal((await place(keyId, 5n)).outcome, 'held');
      assert.deepEqual(await settle(tooLate), {
        outcome: 'settled',
        balance: 5n,
        isActive: false,
        writtenOff: tooLate.amount,
      });
      assert.deepEqual(await heldBy(keyId, 'orphaned'), []);
    });

    it('that expire free their money even if no other hold is ever placed', async () => {
      const { store } = subject();
      const [keyId, to] = [await newKey(5n), await accountOf(await newKey())];
      const requestId = randomUUID();
      await place(keyId, 5n, requestId);
      // The process that placed the hold ends: nothing renews the hold any more.
      store.abandonHold(requestId);
      await expire(requestId);
      await store.expire({ keysWithinMs: 0 });
      assert.deepEqual(await heldBy(keyId, 'orphaned'), [requestId]);
      const moved = await store.transfer({
        transferId: randomUUID(),
        from: await accountOf(keyId),
        to,
        amount: 5n,
        by: TESTS,
      });
      assert.equal(moved.outcome, 'transferred');
    });

    it('last as long as the process that placed them, which renews them', async () => {
      const keyId = await newKey(5n);
      const requestId = randomUUID();
      await place(keyId, 5n, requestId);
      assert.equal((await place(keyId, 1n, 'refused')).outcome, 'short');
      await expire(requestId);
      await subject().store.expire({ keysWithinMs: 0 });
      assert.deepEqual(await heldBy(keyId), [requestId]);
    });

    it('requests without a hold are charged as usual beside those with one', async () => {
      const keyId = await newKey(5n);
      const [bounded, guarded] = [settlement(keyId), settlement(keyId)];
      await place(keyId, 5n, guarded.requestId);
      const [first, second] = await Promise.all([settle(bounded), settle(guarded)]);
      assert.equal(first.outcome === 'settled' && first.writtenOff, 0n);
      assert.equal(second.outcome === 'settled' && second.writtenOff, guarded.amount);
      assert.equal(await balanceOf(keyId), 5n - bounded.amount);
    });

    it('a charge without overdraft and without a hold takes nothing of what others hold', async () => {
      const keyId = await newKey(5n);
      await place(keyId, 5n);
      const charge = settlement(keyId, { overdraft: 'none' });
      const outcome = await settle(charge);
      assert.equal(outcome.outcome === 'settled' && outcome.writtenOff, charge.amount);
      assert.equal(await balanceOf(keyId), 5n);
    });

    it('a charge without overdraft never takes the balance below zero, even without a hold', async () => {
      const keyId = await newKey();
      const charges = Array.from({ length: 30 }, () => settlement(keyId, { overdraft: 'none' }));
      const [{ amount } = settlement(keyId)] = charges;
      await topUp(keyId, (5n * amount) / 2n);
      const outcomes = await Promise.all([...charges, ...charges].map(settle));
      const writtenOff = outcomes.map((outcome) =>
        'writtenOff' in outcome ? outcome.writtenOff : -1n,
      );
      // The outcomes are in the given order. Each replay reports the same as the first call.
      const expected = [0n, 0n, amount - amount / 2n, ...Array<bigint>(27).fill(amount)];
      assert.deepEqual(writtenOff, [...expected, ...expected]);
      assert.equal(await balanceOf(keyId), 0n);
      assert.equal((await subject().store.getKey(keyId))?.writtenOff, (55n * amount) / 2n);
      assert.ok((await subject().store.audit()).isSound);
    });
  });
}
