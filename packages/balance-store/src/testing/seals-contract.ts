/** The part of the contract about the hash chain: a change of a sealed entry is noticed. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { numericFromUnits } from '../numeric.js';
import { settlement } from './samples.js';
import { USD } from './subject.js';
import type { ContractPart } from './subject.js';

/** Leaves the ledger tampered with, so tests that need a sound ledger must run before it. */
export function sealsContract({ runner, subject, newKey, accountOf, settle }: ContractPart): void {
  const { describe, it } = runner;
  const differences = async (check: string) =>
    (await subject().store.audit()).differences.filter((found) => found.check === check);

  describe('seals', () => {
    it('cover every entry once, in consecutive blocks, while charges go on', async () => {
      const { store } = subject();
      const keys = await Promise.all([1, 2, 3].map(() => newKey(USD)));
      const odd = settlement(keys[0] ?? '', {
        model: 'modèle, "5:x" 🙂',
        upstreamId: undefined,
        streamed: true,
      });
      await settle(odd);
      let isRunning = true;
      const writer = (async () => {
        while (isRunning) await Promise.all(keys.map((keyId) => settle(settlement(keyId))));
      })();
      let last = await store.sealEntries({ all: true });
      for (let round = 0; round < 5; round += 1) {
        const [next] = await Promise.all([store.sealEntries(), store.sealEntries()]);
        assert.ok((next?.block ?? 0n) >= (last?.block ?? 0n));
        last = next;
      }
      isRunning = false;
      await writer;
      const head = await store.sealEntries({ all: true });
      const report = await store.audit();
      assert.deepEqual(report.head, head);
      assert.equal(report.sealed, report.entries);
      assert.equal(report.sealedTrail, report.trail);
      assert.deepEqual(await differences('seal'), []);
      assert.deepEqual(await differences('block'), []);
      const anchored = await store.audit({ anchor: last });
      assert.deepEqual(anchored.differences, report.differences);
      for (const anchor of [
        { block: head?.block ?? 0n, hash: '00' },
        { block: 1_000_000n, hash: head?.hash ?? '' },
      ]) {
        const { differences: found } = await store.audit({ anchor });
        assert.equal(found.length, report.differences.length + 1);
      }
      // There are no new entries, so the chain does not change.
      assert.deepEqual(await store.sealEntries({ all: true }), head);
    });

    it('cannot be changed or deleted by plain SQL', async () => {
      for (const sql of ['UPDATE ledger_block SET entries = 0', 'DELETE FROM ledger_seal']) {
        await assert.rejects(subject().tamper(sql), /refused/);
      }
    });

    // F30: changed or removed entry: named by the audit, even if all sums agree.
    it('reveal a changed upstream id, a changed time and a missing entry', async () => {
      const { store } = subject();
      const keyId = await newKey(USD);
      const charges = Array.from({ length: 4 }, () => settlement(keyId));
      for (const charge of charges) await settle(charge);
      await store.sealEntries({ all: true });
      const before = await differences('seal');
      const [first, second, , last] = charges.map(({ requestId }) => requestId);
      // No other check of the audit depends on an entry's upstream id, or on its time, as long as
      // the hour and the order are the same. Only the seals reveal these two changes. The newest
      // entry is deleted together with its effect on the account's row.
      const accountId = await accountOf(keyId);
      const [key, entry] = [await store.getKey(keyId), await store.findEntry(keyId, second ?? '')];
      const { amount } = charges[3] ?? { amount: 0n };
      const aMomentLater = new Date((entry?.createdAt.getTime() ?? 0) + 1);
      await subject().tamper(
        `UPDATE ledger SET upstream_id = 'msg_another' WHERE id = '${first ?? ''}';
        UPDATE ledger SET created_at = ${subject().literal.time(aMomentLater)}
          WHERE id = '${second ?? ''}';
        UPDATE account SET balance = '${numericFromUnits((key?.balance ?? 0n) + amount)}',
          spent = '${numericFromUnits((key?.spent ?? 0n) - amount)}', seq = seq - 1
          WHERE id = '${accountId}';
        DELETE FROM ledger WHERE id = '${last ?? ''}'`,
        'disabled',
      );
      const found = (await differences('seal')).slice(before.length);
      assert.deepEqual(
        found.map(({ accountId: of, entryId }) => [of, entryId]),
        [
          [accountId, first],
          [accountId, second],
          [accountId, undefined],
        ],
      );
      assert.match(found[2]?.expected ?? '', /^entry 5 of this account, sealed in block \d+$/);
    });

    // F30
    it('that are rewritten to match a changed entry do not match the hash of their block', async () => {
      const keyId = await newKey(USD);
      const charge = settlement(keyId);
      await settle(charge);
      await subject().store.sealEntries({ all: true });
      assert.deepEqual(await differences('block'), []);
      const sealsBefore = await differences('seal');
      await subject().tamper(
        `UPDATE ledger SET upstream_id = '${randomUUID()}' WHERE id = '${charge.requestId}'`,
        'disabled',
      );
      const digests = subject().literal.bytes(await subject().digestsOf(await accountOf(keyId)));
      await subject().tamper(
        `UPDATE ledger_seal SET digests = ${digests} WHERE account_id = '${await accountOf(keyId)}'`,
        'disabled',
      );
      assert.deepEqual(await differences('seal'), sealsBefore);
      const [broken, ...others] = await differences('block');
      assert.match(broken?.expected ?? '', /^block \d+: hash [0-9a-f]{64}$/);
      assert.deepEqual(others, []);
    });
  });
}
