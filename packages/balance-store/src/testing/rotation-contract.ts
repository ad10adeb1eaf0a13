/** The part of the contract about the rotation of keys. */

import { HOUR_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { generateCredential } from '../credential.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function rotationContract({ runner, subject, topUp, settle }: ContractPart): void {
  const { describe, it } = runner;
  const newKey = () =>
    subject().store.createKey({ name: 'rotated', limits: sampleLimits, expiresAt: null });
  const rotate = async (keyId: string, graceMs?: number) => {
    const rotated = await subject().store.rotateKey(keyId, { graceMs, by: TESTS });
    assert.ok(rotated.outcome === 'rotated');
    return rotated;
  };
  const keyOf = async (credential: string) =>
    (await subject().store.findKeyByCredential(credential))?.id;

  describe('rotateKey', () => {
    it('gives a key a new credential; the key keeps its id, account, limits, caps and history', async () => {
      const { store } = subject();
      const { record, credential } = await newKey();
      await topUp(record.id, USD);
      await settle(settlement(record.id));
      await store.updateKey(record.id, { caps: { month: USD }, models: ['m'] });
      const before = await store.findKeyByCredential(credential);
      assert.ok(before !== undefined);
      const rotated = await rotate(record.id);
      assert.notEqual(rotated.credential, credential);
      const { presented, ...found } = before;
      assert.equal(presented, 'current');
      assert.deepEqual(rotated.record, { ...found, hint: rotated.record.hint });
      assert.ok(rotated.record.hint.startsWith(rotated.credential.slice(0, 7)));
      assert.deepEqual(await store.findKeyByCredential(rotated.credential), {
        ...rotated.record,
        presented,
      });
      // Without a grace period the old credential stops working at once, although the look-up
      // above may have put the key into the store's cache.
      assert.equal(await keyOf(credential), undefined);
    });

    it('tells current, replaced and unknown credentials of many keys apart at one moment', async () => {
      const { store } = subject();
      const created = await Promise.all(Array.from({ length: 6 }, newKey));
      const rotated = await Promise.all(
        created.map(({ record }, index) =>
          rotate(record.id, index % 2 === 0 ? HOUR_MS : undefined),
        ),
      );
      const found = await Promise.all(
        created.flatMap(({ credential }, index) =>
          [credential, rotated[index]?.credential ?? '', generateCredential()].map(async (each) =>
            store.findKeyByCredential(each),
          ),
        ),
      );
      assert.deepEqual(
        found.map((key) => key && [key.id, key.presented]),
        created.flatMap(({ record: { id } }, index) => [
          index % 2 === 0 ? [id, 'replaced'] : undefined,
          [id, 'current'],
          undefined,
        ]),
      );
    });

    // F144
    it('lets the old credential work until its grace period ends', async () => {
      const { store, literal } = subject();
      const { record, credential } = await newKey();
      const rotated = await rotate(record.id, HOUR_MS);
      const { previousUntil } = rotated.record;
      assert.ok(previousUntil !== null);
      assert.ok(Math.abs(previousUntil.getTime() - Date.now() - HOUR_MS) < 60_000);
      for (const _ of ['looked up', 'from the cache']) {
        assert.deepEqual(await store.findKeyByCredential(credential), {
          ...rotated.record,
          presented: 'replaced',
        });
        assert.deepEqual(await store.findKeyByCredential(rotated.credential), {
          ...rotated.record,
          presented: 'current',
        });
      }
      assert.equal(store.recallKey(credential)?.presented, 'replaced');
      assert.equal(store.recallKey(rotated.credential)?.presented, 'current');
      const endGraceAt = (time: Date) =>
        subject().tamper(
          `UPDATE api_key SET previous_until = ${literal.time(time)} WHERE id = '${record.id}'`,
        );
      await endGraceAt(new Date(Date.now() - 1));
      // Any change of the key removes it from this store's cache.
      const after = await subject().store.updateKey(record.id, { name: 'later' });
      assert.equal(after?.previousUntil, null);
      assert.equal(await keyOf(credential), undefined);
      assert.equal(await keyOf(rotated.credential), record.id);
      await endGraceAt(previousUntil);
    });

    it('without a grace period forgets the old credential', async () => {
      const { record, credential } = await newKey();
      await rotate(record.id, HOUR_MS);
      const second = await rotate(record.id);
      const third = await rotate(record.id);
      // As if the last rotation had a grace period after all.
      const later = subject().literal.time(new Date(Date.now() + HOUR_MS));
      const endGraceAt = (time: string) =>
        subject().tamper(`UPDATE api_key SET previous_until = ${time} WHERE id = '${record.id}'`);
      await endGraceAt(later);
      assert.equal(await keyOf(third.credential), record.id);
      assert.equal(await keyOf(second.credential), undefined);
      assert.equal(await keyOf(credential), undefined);
      await endGraceAt('NULL');
    });

    it('rotates once per rotation id, so that a repeated call does not end the grace period', async () => {
      const { store } = subject();
      const { record, credential } = await newKey();
      const options = { graceMs: HOUR_MS, rotationId: randomUUID(), by: TESTS };
      const [first, second] = await Promise.all([
        store.rotateKey(record.id, options),
        store.rotateKey(record.id, options),
      ]);
      assert.deepEqual([first.outcome, second.outcome].sort(), ['replayed', 'rotated']);
      assert.equal(await keyOf(credential), record.id);
      const trail = await store.listTrail({ keyId: record.id, limit: 10 });
      assert.equal(trail.filter(({ action }) => action === 'key.rotate').length, 1);
      const other = await newKey();
      assert.deepEqual(await store.rotateKey(other.record.id, options), { outcome: 'conflict' });
      assert.deepEqual(await store.rotateKey(record.id, { ...options, graceMs: 0 }), {
        outcome: 'conflict',
      });
      await store.revokeKey(record.id);
      assert.equal((await store.rotateKey(record.id, options)).outcome, 'replayed');
    });

    it('ends an earlier grace period: only the last two credentials can work', async () => {
      const { record, credential: first } = await newKey();
      const { credential: second } = await rotate(record.id, HOUR_MS);
      const { credential: third } = await rotate(record.id, HOUR_MS);
      assert.deepEqual(
        [await keyOf(first), await keyOf(second), await keyOf(third)],
        [undefined, record.id, record.id],
      );
      const { credential: fourth, record: last } = await rotate(record.id, 0);
      assert.equal(last.previousUntil, null);
      assert.deepEqual(
        [await keyOf(second), await keyOf(third), await keyOf(fourth)],
        [undefined, undefined, record.id],
      );
    });

    it('only the credential of the last of many simultaneous rotations works', async () => {
      const { record, credential } = await newKey();
      const rotations = await Promise.all(Array.from({ length: 6 }, () => rotate(record.id)));
      const found = await Promise.all(
        [credential, ...rotations.map((rotated) => rotated.credential)].map(keyOf),
      );
      assert.equal(found.filter((id) => id === record.id).length, 1);
      assert.equal(found[0], undefined);
    });

    it('refuses a revoked key and an unknown one', async () => {
      const { store } = subject();
      const { record, credential } = await newKey();
      await store.revokeKey(record.id);
      const options = { graceMs: HOUR_MS, by: TESTS };
      assert.deepEqual(await store.rotateKey(record.id, options), { outcome: 'revoked' });
      assert.equal((await store.findKeyByCredential(credential))?.state, 'revoked');
      assert.deepEqual(await store.rotateKey('key_none', options), { outcome: 'unknown_key' });
    });

    it('keeps a suspended key suspended', async () => {
      const { store } = subject();
      const { record } = await newKey();
      await store.suspendKey(record.id);
      const { credential, record: rotated } = await rotate(record.id);
      assert.equal(rotated.state, 'suspended');
      assert.equal((await store.findKeyByCredential(credential))?.state, 'suspended');
    });
  });
}
