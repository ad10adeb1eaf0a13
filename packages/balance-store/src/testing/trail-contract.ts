/** The part of the contract about the trail, and about the erasure of personal data. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import type { Creation } from '../account.js';
import { AccountNotClosedError } from '../errors.js';
import { numericFromUnits } from '../numeric.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS, USD, closeAny } from './subject.js';
import type { ContractPart } from './subject.js';

export function trailContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle } = part;
  const { describe, it } = runner;
  const trailOf = async (accountId: string) =>
    [...(await subject().store.listTrail({ accountId, limit: 100 }))].reverse();

  describe('trail', () => {
    it('names each setting of an account, at its creation and later, always as the same text', async () => {
      const { store } = subject();
      const externalId = randomUUID();
      const created = await store.create({
        account: {
          name: 'Ada',
          externalId,
          metadata: { a: 'b' },
          lowBalance: 5n * USD,
          prices: 'partners',
          allowance: USD,
          noticeShares: [50],
          membersSeeBalance: false,
        },
        by: TESTS,
      });
      assert.ok(created.outcome === 'created');
      const { id, noticeShares } = created.account;
      assert.deepEqual(noticeShares, [50]);
      const change = { prices: null, allowance: 2n * USD, noticeShares: [80], lowBalance: null };
      const shown = { membersSeeBalance: true };
      const texts = { metadata: {}, name: 'Bea', externalId: null };
      const updated = await store.updateAccount(id, { ...change, ...shown, ...texts });
      assert.equal(updated?.membersSeeBalance, true);
      const [create, update] = (await trailOf(id)).map(({ details, personal }) =>
        [details, personal].map((part) => JSON.stringify(part)),
      );
      assert.deepEqual(create, [
        '{"low_balance":"5.00000000000000","prices":"partners","allowance":"1.00000000000000","notice_shares":[50],"members_see_balance":false}',
        `{"account":"Ada","account_external_id":"${externalId}"}`,
      ]);
      assert.deepEqual(update, [
        '{"low_balance":{"before":"5.00000000000000","after":null},"prices":{"before":"partners","after":null},' +
          '"allowance":{"before":"1.00000000000000","after":"2.00000000000000"},"notice_shares":{"before":[50],"after":[80]},' +
          '"members_see_balance":{"before":false,"after":true}}',
        `{"name":{"before":"Ada","after":"Bea"},"externalId":{"before":"${externalId}","after":null},` +
          '"metadata":{"before":{"a":"b"},"after":{}}}',
      ]);
    });

    it('says who changed what, before and after, from where', async () => {
      const { store } = subject();
      const created = await store.create({
        account: { name: 'Ada', externalId: randomUUID() },
        key: { name: 'laptop', limits: sampleLimits, expiresAt: null },
        credit: { amount: USD, source: 'paid' },
        by: TESTS,
      });
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const { id: accountId, externalId } = created.account;
      const keyId = created.key.id;
      const other: Parameters<typeof store.suspendKey>[1] = { name: 'another' };
      await store.updateKey(
        keyId,
        {
          name: 'phone',
          limits: { burst: 99 },
          caps: { day: USD },
          models: ['m'],
          scope: 'manage',
        },
        other,
      );
      await store.updateAccount(accountId, { lowBalance: 5n, metadata: { a: 'b' } }, other);
      await store.suspendKey(keyId, other);
      await store.suspendKey(keyId, other);
      await store.resumeKey(keyId, other);
      const rotated = await store.rotateKey(keyId, { by: other });
      await store.revokeKey(keyId, other);
      const trail = await trailOf(accountId);
      assert.deepEqual(
        trail.map((entry) => [entry.action, entry.actor, entry.address, entry.keyId]),
        [
          ['account.create', TESTS.name, TESTS.address, keyId],
          ['key.update', 'another', null, keyId],
          ['budget.create', 'another', null, keyId],
          ['account.update', 'another', null, null],
          ['key.suspend', 'another', null, keyId],
          ['key.resume', 'another', null, keyId],
          ['key.rotate', 'another', null, keyId],
          ['key.revoke', 'another', null, keyId],
        ],
      );
      const [create, updateKey, setCap, updateAccount, suspend, , rotate] = trail;
      assert.deepEqual(create?.details, {
        credit: numericFromUnits(USD),
        credited: {
          entry: `topup:initial:${created.account.id}:1`,
          counter: 'cash:manual',
          source: 'paid',
        },
        low_balance: null,
        prices: null,
        allowance: null,
        members_see_balance: null,
        scope: 'use',
        expires_at: null,
        concurrency: sampleLimits.concurrency,
        burst: sampleLimits.burst,
        requests_per_minute: sampleLimits.requestsPerMinute,
        hint: created.key.hint,
        credential_digest: create?.details['credential_digest'],
      });
      assert.match(String(create.details['credential_digest']), /^[0-9a-f]{32}$/);
      assert.deepEqual(create.personal, {
        account: 'Ada',
        account_external_id: externalId,
        key: 'laptop',
      });
      const bounds = {
        is_suspended: false,
        caps: { day: numericFromUnits(USD) },
        limits: { burst: 99 },
        expires_at: null,
        models: ['m'],
      };
      assert.deepEqual(updateKey?.details, {
        scope: { before: 'use', after: 'manage' },
        models: { before: null, after: ['m'] },
        burst: { before: sampleLimits.burst, after: 99 },
        cap_day: { before: null, after: numericFromUnits(USD) },
        operator_bounds: bounds,
      });
      assert.deepEqual(
        ['of', 'scope', 'subject', 'period', 'amount', 'is_cap'].map((of) => setCap?.details[of]),
        [`cap_day_${keyId}`, 'key', keyId, 'day', numericFromUnits(USD), true],
      );
      assert.deepEqual(updateKey.personal, { name: { before: 'laptop', after: 'phone' } });
      assert.deepEqual(updateAccount?.details, {
        low_balance: { before: null, after: numericFromUnits(5n) },
      });
      assert.deepEqual(updateAccount.personal, { metadata: { before: {}, after: { a: 'b' } } });
      assert.deepEqual(suspend?.details, {
        state: { before: 'active', after: 'suspended' },
        operator_bounds: { ...bounds, is_suspended: true },
      });
      assert.ok(rotated.outcome === 'rotated');
      assert.deepEqual(rotate?.details, {
        hint: { before: created.key.hint, after: rotated.record.hint },
        previous_until: null,
        credential_digest: rotate?.details['credential_digest'],
      });
      assert.notEqual(rotate.details['credential_digest'], create.details['credential_digest']);
      assert.ok(!textOf(trail).includes(rotated.credential.slice(5, -5)));
    });

    it('has every credit, adjustment and transfer, but none twice and no charge', async () => {
      const { store } = subject();
      const [{ accountId, keyIds }, other] = [await newAccount(0n, {}), await newAccount(0n)];
      const before = (await trailOf(accountId)).length;
      const topUp = { topUpId: randomUUID(), to: { accountId }, amount: USD, by: TESTS, note: 'n' };
      const adjustment = {
        adjustmentId: randomUUID(),
        accountId,
        amount: -3n,
        reason: 'refund' as const,
        by: TESTS,
      };
      const transfer = {
        transferId: randomUUID(),
        from: accountId,
        to: other.accountId,
        amount: 2n,
        by: TESTS,
      };
      for (let time = 0; time < 2; time += 1) {
        await store.topUp(topUp);
        await store.adjust(adjustment);
        await store.transfer(transfer);
      }
      await store.topUp({ ...topUp, amount: 1n });
      await settle(settlement(keyIds[0] ?? ''));
      const trail = (await trailOf(accountId)).slice(before);
      assert.deepEqual(
        trail.map(({ action }) => action),
        ['credit.add', 'balance.adjust', 'balance.transfer'],
      );
      assert.deepEqual(trail[0]?.personal, { note: 'n' });
      assert.equal(trail[1]?.personal, undefined);
      assert.equal(trail[1]?.details['amount'], numericFromUnits(-3n));
    });

    it('is numbered without gaps when many changes are made at once, and listed by key', async () => {
      const { store } = subject();
      const accounts = await Promise.all(Array.from({ length: 5 }, () => newAccount(0n, {}, {})));
      const last = (await store.listTrail({ limit: 1 }))[0]?.seq ?? 0n;
      const keyIds = accounts.flatMap((account) => account.keyIds);
      await Promise.all(
        keyIds.flatMap((keyId) =>
          Array.from({ length: 4 }, (_, index) => store.updateKey(keyId, { name: String(index) })),
        ),
      );
      const trail = await store.listTrail({ limit: 40 });
      assert.deepEqual(
        trail.map(({ seq }) => seq),
        Array.from({ length: 40 }, (_, index) => last + 40n - BigInt(index)),
      );
      const [keyId = ''] = keyIds;
      // Each change starts from the state that the previous change left.
      const names = (await store.listTrail({ keyId, limit: 4 }))
        .map(({ personal }) => (personal as { name: { before: string; after: string } }).name)
        .reverse();
      names.forEach(({ before }, index) => {
        assert.equal(before, index === 0 ? 'test' : names[index - 1]?.after);
      });
      const [page] = await store.listTrail({ keyId, limit: 1, before: trail.at(-1)?.seq ?? 0n });
      assert.equal(page?.action, 'key.create');
    });

    it('eraseAccount erases names, external ids, metadata and notes; the audit stays sound', async () => {
      const { store } = subject();
      const name = `person ${randomUUID()}`;
      const creation: Creation = {
        creationId: randomUUID(),
        account: { name, externalId: name, metadata: { name } },
        key: {
          name,
          limits: sampleLimits,
          expiresAt: null,
          externalId: `k ${name}`,
          metadata: { name },
        },
        by: TESTS,
      };
      const created = await store.create(creation);
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const { account, key, credential = '' } = created;
      const booking = { accountId: account.id, amount: USD, by: TESTS, note: name };
      await store.topUp({ ...booking, topUpId: randomUUID(), to: { accountId: account.id } });
      await store.adjust({ ...booking, adjustmentId: randomUUID(), reason: 'goodwill' });
      await store.adjust({
        ...booking,
        adjustmentId: randomUUID(),
        reason: 'goodwill',
        note: undefined,
      });
      await store.updateKey(key.id, { metadata: { name, more: name } });
      await store.sealEntries({ all: true });
      const before = await store.audit();
      await store.findKeyByCredential(credential);

      await assert.rejects(store.eraseAccount(account.id, TESTS), AccountNotClosedError);
      await closeAny(store, account.id);
      const erased = await store.eraseAccount(account.id, TESTS);
      assert.deepEqual(
        [erased?.name, erased?.externalId, erased?.metadata, erased?.balance],
        ['(erased)', null, {}, 0n],
      );
      const record = await store.findKeyByCredential(credential);
      assert.deepEqual(
        [record?.name, record?.externalId, record?.metadata, record?.isActive],
        ['(erased)', null, {}, false],
      );
      const { entries } = await store.listEntries({ accountId: account.id, limit: 10 });
      assert.deepEqual(
        entries.map((entry) => entry.kind !== 'charge' && entry.note),
        ['erased', 'erased', undefined, 'erased', 'erased'],
      );
      const trail = await trailOf(account.id);
      assert.deepEqual(
        trail.map(({ action, personal }) => [action, personal]),
        [
          ['account.create', 'erased'],
          ['credit.add', 'erased'],
          ['balance.adjust', 'erased'],
          ['balance.adjust', undefined],
          ['key.update', 'erased'],
          ['balance.adjust', undefined],
          ['balance.adjust', undefined],
          ['key.revoke', undefined],
          ['account.close', 'erased'],
          ['account.erase', undefined],
        ],
      );
      assert.ok(!textOf([trail, entries, erased, record]).includes(name));
      assert.deepEqual(await store.listAccounts({ name, limit: 1 }), []);
      assert.deepEqual(await store.listKeys({ name, limit: 1 }), []);
      // Nothing is left that could confirm a guess of the name.
      assert.deepEqual(await store.create(creation), { outcome: 'conflict' });
      const { isSound, sealed, trail: rows } = await store.audit();
      assert.deepEqual([isSound, sealed, rows], [true, before.sealed, before.trail + 5]);
    });
  });
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) =>
    typeof part === 'bigint' ? part.toString() : part,
  );
}
