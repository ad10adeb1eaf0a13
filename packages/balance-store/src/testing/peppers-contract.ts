/** The part of the contract about replacing the pepper. */

import { HOUR_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { PepperMismatchError } from '../errors.js';
import type { BalanceStore } from '../store.js';
import { sampleLimits } from './samples.js';
import { TESTS } from './subject.js';
import type { ContractPart, StoreUnderTest } from './subject.js';

export function peppersContract({ runner, subject }: ContractPart): void {
  const { describe, it } = runner;
  const newKey = () =>
    subject().store.createKey({ name: 'peppered', limits: sampleLimits, expiresAt: null });
  const newPepper = () => `a pepper of the contract ${randomUUID()}`;
  const idOf = async (store: BalanceStore, credential: string) =>
    (await store.findKeyByCredential(credential))?.id;

  /** Opens the ledger once for each member of `peppers`, and closes it afterwards. */
  async function beside<Names extends string>(
    peppers: Readonly<Record<Names, { readonly pepper: string; readonly previousPepper?: string }>>,
    work: (stores: Readonly<Record<Names, BalanceStore>>) => Promise<void>,
  ): Promise<void> {
    const opened: [string, BalanceStore][] = [];
    try {
      for (const name of Object.keys(peppers) as Names[]) {
        opened.push([name, await subject().openBeside(peppers[name])]);
      }
      await work(Object.fromEntries(opened) as Record<Names, BalanceStore>);
    } finally {
      for (const [, store] of opened) await store.close();
    }
  }

  describe('a new pepper', () => {
    // F115: the pepper is replaced while keys are used, by replicas that have the two peppers in
    // either order: every key is found; its hash is renewed once; keys that were never used are
    // counted and named.
    it('finds a key whose hash was made with the previous pepper, and renews the hash', async () => {
      const { pepper: old } = subject();
      const pepper = newPepper();
      const { record, credential } = await newKey();
      await beside({ during: { pepper, previousPepper: old } }, async ({ during }) => {
        const found = await Promise.all(
          Array.from({ length: 8 }, () => during.findKeyByCredential(credential)),
        );
        for (const key of found) assert.deepEqual(key, { ...record, presented: 'current' });
        assert.deepEqual(await during.getKey(record.id), record);
      });
      // The key is found with the new pepper alone, and no longer with the old one.
      await beside({ after: { pepper } }, async ({ after }) => {
        assert.equal(await idOf(after, credential), record.id);
      });
      assert.equal(await idOf(subject().store, credential), undefined);
    });

    // F115
    it('works beside the previous one: every process finds every key, whichever of the two is its current pepper', async () => {
      const { pepper: old } = subject();
      const pepper = newPepper();
      const created = await Promise.all(Array.from({ length: 10 }, newKey));
      await beside(
        {
          ahead: { pepper, previousPepper: old },
          too: { pepper, previousPepper: old },
          behind: { pepper: old, previousPepper: pepper },
        },
        async (stores) => {
          for (let round = 0; round < 3; round += 1) {
            await Promise.all(
              created.flatMap(({ record, credential }) =>
                Object.values(stores).map(async (store) => {
                  // Each change makes the store drop the key from its cache.
                  await store.updateKey(record.id, { name: `round ${String(round)}` });
                  assert.equal(await idOf(store, credential), record.id);
                }),
              ),
            );
          }
        },
      );
    });

    // F115
    it('finds the previous credential of a rotated key during its grace period', async () => {
      const { pepper: old, store } = subject();
      const pepper = newPepper();
      const { record, credential: first } = await newKey();
      const rotated = await store.rotateKey(record.id, { graceMs: HOUR_MS, by: TESTS });
      assert.ok(rotated.outcome === 'rotated');
      await beside({ during: { pepper, previousPepper: old } }, async ({ during }) => {
        const listed = async () =>
          (
            await during.listKeys({ limit: 5, accountId: record.accountId, pepper: 'previous' })
          ).map(({ id }) => id);
        assert.deepEqual(await listed(), [record.id]);
        assert.equal(await idOf(during, rotated.credential), record.id);
        // The previous credential still needs the previous pepper.
        assert.deepEqual(await listed(), [record.id]);
        assert.equal(await idOf(during, first), record.id);
        assert.deepEqual(await listed(), []);
        // A rotation under the new pepper leaves nothing under the old one.
        const again = await during.rotateKey(record.id, { graceMs: HOUR_MS, by: TESTS });
        assert.ok(again.outcome === 'rotated');
        assert.deepEqual(await listed(), []);
        assert.equal(await idOf(during, rotated.credential), record.id);
        assert.equal(await idOf(during, first), undefined);
      });
    });

    // F115
    it('counts and lists the keys that still need the previous pepper', async () => {
      const { pepper: old, store } = subject();
      const pepper = newPepper();
      const [used, idle, revoked] = [await newKey(), await newKey(), await newKey()];
      await store.revokeKey(revoked.record.id);
      await beside({ during: { pepper, previousPepper: old } }, async ({ during }) => {
        const needing = async () => {
          const listed = await during.listKeys({ limit: 100_000, pepper: 'previous' });
          assert.equal((await during.summarize()).keysUnderPreviousPepper, listed.length);
          return new Set(listed.map(({ id }) => id));
        };
        const before = await needing();
        assert.ok(before.has(used.record.id) && before.has(idle.record.id));
        assert.ok(!before.has(revoked.record.id));
        assert.equal(await idOf(during, used.credential), used.record.id);
        const found = await during.findKeyByCredential(revoked.credential);
        assert.equal(found?.state, 'revoked');
        const after = await needing();
        assert.equal(after.size, before.size - 1);
        assert.ok(!after.has(used.record.id) && after.has(idle.record.id));
        const made = await during.createKey({ name: 'n', limits: sampleLimits, expiresAt: null });
        assert.ok(!(await needing()).has(made.record.id));
        assert.equal(await idOf(during, made.credential), made.record.id);
      });
    });

    // F115
    it('is refused if no key was issued under it or under the previous pepper', async () => {
      const { pepper: old } = subject();
      const openBeside = (peppers: Parameters<StoreUnderTest['openBeside']>[0]) =>
        subject().openBeside(peppers);
      await newKey();
      const [pepper, previousPepper] = [newPepper(), newPepper()];
      await assert.rejects(openBeside({ pepper, previousPepper }), PepperMismatchError);
      await assert.rejects(openBeside({ pepper: old, previousPepper: old }), RangeError);
      await assert.rejects(openBeside({ pepper: old, previousPepper: '' }), RangeError);
      await beside({ either: { pepper: newPepper(), previousPepper: old } }, async ({ either }) => {
        await either.ping();
      });
    });
  });
}
