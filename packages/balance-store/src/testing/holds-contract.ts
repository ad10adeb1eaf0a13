/** The part of the contract about holds: no balance falls below zero, whatever happens. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { settlement } from './samples.js';
import { USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function holdsContract({ runner, subject, newKey, topUp, settle }: ContractPart): void {
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
      `UPDATE hold SET expires_at = now() - interval '1 second' WHERE request_id = '${requestId}'`,
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

    it('of a thousand placed at once, exactly those that fit are placed', async () => {
      const keyId = await newKey(100n);
      const outcomes = await Promise.all(Array.from({ length: 1_000 }, () => place(keyId, 3n)));
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'held').length, 33);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'short').length, 967);
    });

    it('placing one again holds nothing more', async () => {
      const keyId = await newKey(10n);
      const requestId = randomUUID();
      await Promise.all([1, 2, 3].map(() => place(keyId, 6n, requestId)));
      assert.deepEqual(await place(keyId, 6n, requestId), {
        outcome: 'held',
        balance: 10n,
        held: 6n,
      });
    });

    it('are refused to keys that may not go on', async () => {
      const { store } = subject();
      const keyId = await newKey();
      assert.deepEqual(await place(keyId, 0n), { outcome: 'inactive', standing: 'exhausted' });
      await topUp(keyId, USD);
      await store.suspendKey(keyId);
      assert.deepEqual(await place(keyId, 1n), { outcome: 'inactive', standing: 'suspended' });
      assert.deepEqual(await place('key_none', 1n), { outcome: 'inactive', standing: 'unknown' });
    });

    it('are replaced by the exact charge; the rest is free again at once', async () => {
      const keyId = await newKey(USD);
      const charge = settlement(keyId);
      await place(keyId, USD, charge.requestId);
      assert.equal((await place(keyId, 1n)).outcome, 'short');
      const balance = USD - charge.amount;
      assert.deepEqual(await settle(charge), { outcome: 'settled', balance, isActive: true });
      assert.deepEqual(await heldBy(keyId), []);
      assert.deepEqual(await place(keyId, balance), { outcome: 'held', balance, held: balance });
      // A replay of the charge has no hold any more, and is still only a replay.
      assert.equal((await settle(charge)).outcome, 'replayed');
    });

    it('are given back when nothing is charged, and giving back twice does no harm', async () => {
      const keyId = await newKey(5n);
      const requestId = randomUUID();
      await place(keyId, 5n, requestId);
      subject().store.releaseHold(requestId);
      subject().store.releaseHold(requestId);
      await until(async () => (await heldBy(keyId)).length === 0);
      assert.equal((await place(keyId, 5n)).outcome, 'held');
    });

    it('a charge beyond its hold is taken if other holds leave room for it, and refused if not', async () => {
      const keyId = await newKey();
      const [first, second] = [settlement(keyId), settlement(keyId)];
      await topUp(keyId, first.amount + 10n);
      await place(keyId, 1n, first.requestId);
      await place(keyId, 10n, second.requestId);
      assert.deepEqual(await settle(first), { outcome: 'settled', balance: 10n, isActive: true });
      const refused = { outcome: 'overdrawn', balance: 10n, isActive: true };
      assert.deepEqual(await settle(second), refused);
      // Sent again, as after a lost answer, together with a copy of itself.
      assert.deepEqual(await Promise.all([settle(second), settle(second)]), [refused, refused]);
      assert.equal(await balanceOf(keyId), 10n);
      assert.deepEqual(await heldBy(keyId, 'orphaned'), [second.requestId]);
      await topUp(keyId, second.amount);
      assert.deepEqual(await settle(second), { outcome: 'settled', balance: 10n, isActive: true });
      assert.deepEqual(await heldBy(keyId, 'orphaned'), []);
    });

    it('a charge within its hold is never refused, whatever is settled beside it', async () => {
      const keyId = await newKey();
      const charges = Array.from({ length: 40 }, () => settlement(keyId));
      const [{ amount } = settlement(keyId)] = charges;
      await topUp(keyId, 20n * amount);
      // Every other one is held for less than it costs.
      const held = await Promise.all(
        charges.map(({ requestId }, index) =>
          place(keyId, index % 2 === 0 ? amount : 0n, requestId),
        ),
      );
      assert.ok(held.every(({ outcome }) => outcome === 'held'));
      const outcomes = await Promise.all(charges.map(settle));
      outcomes.forEach(({ outcome }, index) => {
        assert.equal(outcome, index % 2 === 0 ? 'settled' : 'overdrawn');
      });
      assert.equal(await balanceOf(keyId), 0n);
      assert.ok((await subject().store.audit()).isSound);
    });

    it('expire into orphans, which hold nothing and are told; a late charge is taken if it fits', async () => {
      const keyId = await newKey();
      const [late, tooLate] = [settlement(keyId), settlement(keyId)];
      await topUp(keyId, late.amount + 5n);
      await place(keyId, late.amount, late.requestId);
      await expire(late.requestId);
      await place(keyId, 5n, tooLate.requestId);
      assert.deepEqual(await heldBy(keyId, 'orphaned'), [late.requestId]);
      assert.ok((await subject().store.audit()).orphanedHolds > 0);
      assert.equal((await settle(late)).outcome, 'settled');
      assert.deepEqual(await heldBy(keyId, 'orphaned'), []);
      await expire(tooLate.requestId);
      assert.equal((await place(keyId, 5n)).outcome, 'held');
      assert.equal((await settle(tooLate)).outcome, 'overdrawn');
      assert.equal(await balanceOf(keyId), 5n);
    });

    it('requests without a hold are charged as ever, beside those with one', async () => {
      const keyId = await newKey(5n);
      const [bounded, guarded] = [settlement(keyId), settlement(keyId)];
      await place(keyId, 5n, guarded.requestId);
      const outcomes = await Promise.all([settle(bounded), settle(guarded)]);
      assert.deepEqual(
        outcomes.map(({ outcome }) => outcome),
        ['settled', 'overdrawn'],
      );
      assert.equal(await balanceOf(keyId), 5n - bounded.amount);
    });
  });
}
