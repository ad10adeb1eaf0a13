/** The part of the contract about the end of an account. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Closing } from '../account.js';
import { AccountClosedError } from '../errors.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS } from './subject.js';
import type { ContractPart } from './subject.js';

const KEY = { name: 'late', limits: sampleLimits, expiresAt: null };
const FAR = new Date('2200-01-01T00:00:00.000Z');

export function closeAccountContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe, it } = runner;
  const close = (accountId: string, others: Partial<Closing> = {}) =>
    subject().store.closeAccount({
      closingId: randomUUID(),
      accountId,
      debt: 'refuse',
      reason: 'the customer asked',
      by: TESTS,
      ...others,
    });
  const credit = (accountId: string, amount: bigint, others: object = {}) =>
    subject().store.topUp({
      topUpId: randomUUID(),
      to: { accountId },
      amount,
      by: TESTS,
      ...others,
    });
  const given = { source: 'promotional' } as const;
  /** The entries that are no credits, oldest first. */
  const bookedOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, kind: 'adjustment', limit: 100 })).entries
      .map((of) => (of.kind === 'adjustment' ? [of.delta, of.given, of.counter, of.reason] : []))
      .reverse();
  const assertSound = async () => {
    const { differences } = await subject().store.audit();
    assert.deepEqual(differences, []);
  };

  describe('closeAccount', () => {
    // F506: the end of an account: its keys served on, its balance and its allowance stayed.
    it('revokes the keys, ends the allowance, refunds what was paid and takes back what was given', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n, {}, {}, {});
      const [first = '', suspended = '', revoked = ''] = keyIds;
      await store.suspendKey(suspended);
      await store.revokeKey(revoked);
      await store.updateAccount(accountId, { allowance: 7n });
      await credit(accountId, 5n, { expiresAt: FAR });
      await credit(accountId, 3n, { ...given, expiresAt: new Date(FAR.getTime() - 1) });
      await credit(accountId, 2n, given);
      const rest = { as: 'refund', counter: 'cash:bank' } as const;
      const closed = await close(accountId, { rest });
      assert.ok(closed.outcome === 'closed');
      assert.deepEqual([closed.rest, closed.givenBack, closed.writtenOff], [15n, 5n, 0n]);
      const { state, balance, given: left, allowance, usableKeys, nextExpiryAt } = closed.account;
      assert.deepEqual(
        [state, balance, left, allowance, usableKeys, nextExpiryAt],
        ['closed', 0n, 0n, null, 0, null],
      );
      assert.deepEqual(await bookedOf(accountId), [
        [-5n, -5n, 'given', 'correction'],
        [-15n, 0n, 'cash:bank', 'refund'],
      ]);
      for (const id of keyIds) {
        assert.equal((await store.readStanding(id)).standing, 'revoked');
        assert.equal((await store.getKey(id))?.state, 'revoked');
      }
      const hold = { requestId: randomUUID(), keyId: first, amount: 0n };
      assert.deepEqual(await store.placeHold(hold), { outcome: 'inactive', standing: 'revoked' });
      const trail = await store.listTrail({ accountId, limit: 5 });
      assert.deepEqual(trail.map(({ action }) => action).reverse(), [
        'balance.adjust',
        'balance.adjust',
        'key.revoke',
        'key.revoke',
        'account.close',
      ]);
      assert.deepEqual(trail[0]?.personal, { reason: 'the customer asked' });
      const events = await store.listEvents({ accountId, limit: 20 });
      const types = events.map(({ type }) => type);
      assert.equal(types.filter((type) => type === 'account.closed').length, 1);
      assert.equal(types.filter((type) => type === 'key.revoked').length, 3);
      assert.ok(!types.includes('balance.exhausted'));
      await store.expire({ keysWithinMs: 0 });
      assert.equal(await balanceOf(accountId), 0n);
      await assertSound();
    });

    it('moves the rest with its expiry, and never what was given', async () => {
      const { store } = subject();
      const [{ accountId }, other] = [await newAccount(10n, {}), await newAccount(1n, {})];
      await credit(accountId, 5n, { expiresAt: FAR });
      await credit(accountId, 4n, given);
      const rest = { as: 'transfer', to: other.accountId } as const;
      const closed = await close(accountId, { rest });
      assert.ok(closed.outcome === 'closed' && closed.rest === 15n && closed.givenBack === 4n);
      assert.deepEqual([await balanceOf(accountId), await balanceOf(other.accountId)], [0n, 16n]);
      const unspent = await store.readUnspent(other.accountId);
      assert.deepEqual(
        [unspent?.other, unspent?.lots.map((lot) => [lot.remaining, lot.source, lot.expiresAt])],
        [11n, [[5n, 'paid', FAR]]],
      );
      await assertSound();
    });

    it('lets the rest lapse, needs no choice where none is left, and refuses where one is missing', async () => {
      const [paid, gifted] = [await newAccount(9n, {}), await newAccount(0n, {})];
      await credit(gifted.accountId, 4n, given);
      assert.deepEqual(await close(paid.accountId), { outcome: 'rest_undecided', rest: 9n });
      assert.equal((await close(gifted.accountId)).outcome, 'closed');
      const closed = await close(paid.accountId, { rest: { as: 'breakage' } });
      assert.equal(closed.outcome, 'closed');
      assert.deepEqual(await bookedOf(paid.accountId), [[-9n, 0n, 'breakage', 'correction']]);
      assert.deepEqual(await bookedOf(gifted.accountId), [[-4n, -4n, 'given', 'correction']]);
      await assertSound();
    });

    it('writes a debt off only if it is told to', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(1n, {});
      const charge = settlement(keyIds[0] ?? '');
      await settle(charge);
      const owed = charge.amount - 1n;
      assert.deepEqual(await close(accountId), { outcome: 'in_debt', owed });
      assert.equal((await store.getAccount(accountId))?.state, 'active');
      const closed = await close(accountId, { debt: 'write_off' });
      assert.ok(closed.outcome === 'closed' && closed.writtenOff === owed);
      assert.deepEqual(await bookedOf(accountId), [[owed, 0n, 'bad_debt', 'write_off']]);
      await assertSound();
    });

    // F507: money that is held for a request in flight is neither paid out nor lost, and a charge
    // that comes after the closing is booked as it is.
    it('waits for requests in flight, and a late charge is an exact debt', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n ** 12n, {});
      const [keyId = ''] = keyIds;
      const held = settlement(keyId);
      await store.placeHold({ requestId: held.requestId, keyId, amount: held.amount });
      const rest = { as: 'breakage' } as const;
      assert.deepEqual(await close(accountId, { rest }), {
        outcome: 'in_flight',
        held: held.amount,
      });
      await settle(held);
      const closed = await close(accountId, { rest });
      assert.ok(closed.outcome === 'closed' && closed.rest === 10n ** 12n - held.amount);
      const late = settlement(keyId);
      const charged = await settle(late);
      assert.ok(charged.outcome === 'settled' && !charged.isActive);
      assert.equal(await balanceOf(accountId), -late.amount);
      const adjust = (amount: bigint) =>
        store.adjust({
          adjustmentId: randomUUID(),
          accountId,
          amount,
          reason: 'write_off',
          by: TESTS,
        });
      assert.deepEqual(await adjust(late.amount + 1n), { outcome: 'account_closed' });
      assert.equal((await adjust(late.amount)).outcome, 'adjusted');
      assert.equal(await balanceOf(accountId), 0n);
      await assertSound();
    });

    it('books once, also when it is repeated ten times at once', async () => {
      const { store } = subject();
      const [{ accountId }, other] = [await newAccount(8n, {}), await newAccount(0n, {})];
      await credit(accountId, 2n, given);
      const closingId = randomUUID();
      const rest = { as: 'transfer', to: other.accountId } as const;
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, () => close(accountId, { closingId, rest })),
      );
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'closed').length, 1);
      for (const of of outcomes) {
        assert.ok(of.outcome === 'closed' || of.outcome === 'replayed');
        assert.deepEqual([of.rest, of.givenBack, of.writtenOff], [8n, 2n, 0n]);
      }
      assert.equal(await balanceOf(other.accountId), 8n);
      assert.equal((await bookedOf(accountId)).length, 2);
      for (const change of [{ rest: undefined }, { debt: 'write_off' as const }]) {
        const used = await close(accountId, { closingId, rest, ...change });
        assert.deepEqual(used, { outcome: 'conflict' });
      }
      const third = (await newAccount(0n)).accountId;
      assert.deepEqual(await close(third, { closingId, rest }), { outcome: 'conflict' });
      assert.deepEqual(await close(accountId, { rest }), { outcome: 'account_closed', accountId });
      assert.equal((await store.getAccount(accountId))?.balance, 0n);
      await assertSound();
    });

    it('two closings at once, and credits and charges beside them, leave nothing in the account', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n ** 13n, {}, {});
      const rest = { as: 'breakage' } as const;
      const credits = Array.from({ length: 12 }, () => credit(accountId, 10n));
      const charges = keyIds.map((keyId) => settle(settlement(keyId, { overdraft: 'none' })));
      const closings = [close(accountId, { rest }), close(accountId, { rest })];
      const outcomes = (await Promise.all(closings)).map(({ outcome }) => outcome).sort();
      assert.deepEqual(outcomes, ['account_closed', 'closed']);
      await Promise.all([...credits, ...charges]);
      assert.equal(await balanceOf(accountId), 0n);
      assert.equal((await store.getAccount(accountId))?.state, 'closed');
      await assertSound();
    });

    // F508: a closed account that gets money, a key, an allowance or a state.
    it('leaves an account that nothing can be given to, until it is reopened', async () => {
      const { store } = subject();
      const [{ accountId, keyIds }, other] = [await newAccount(5n, {}), await newAccount(5n, {})];
      const first = { topUpId: randomUUID() };
      await credit(accountId, 1n, first);
      const { entries } = await store.listEntries({ accountId, limit: 1 });
      const rest = { as: 'refund', counter: 'cash:bank' } as const;
      await close(accountId, { rest });
      const refused = { outcome: 'account_closed' };
      assert.deepEqual(await credit(accountId, 1n), refused);
      assert.deepEqual(await credit(accountId, 1n, given), refused);
      // What was credited before is still a replay.
      assert.equal((await credit(accountId, 1n, first)).outcome, 'replayed');
      const common = { adjustmentId: randomUUID(), accountId, by: TESTS };
      assert.deepEqual(await store.adjust({ ...common, amount: 1n, reason: 'goodwill' }), refused);
      const [refund] = (await store.listEntries({ accountId, limit: 1 })).entries;
      assert.deepEqual(await store.reverse({ ...common, reverses: refund?.id ?? '' }), refused);
      const moving = { transferId: randomUUID(), amount: 1n, by: TESTS };
      for (const [from, to] of [
        [accountId, other.accountId],
        [other.accountId, accountId],
      ] as const) {
        assert.deepEqual(await store.transfer({ ...moving, from, to }), { ...refused, accountId });
      }
      const into = { as: 'transfer', to: accountId } as const;
      assert.deepEqual(await close(other.accountId, { rest: into }), { ...refused, accountId });
      const key = await store.create({ account: { id: accountId }, key: KEY, by: TESTS });
      assert.deepEqual(key, refused);
      await assert.rejects(store.updateAccount(accountId, { allowance: 1n }), AccountClosedError);
      await assert.rejects(store.setAccountState(accountId, 'active', TESTS), AccountClosedError);
      await assert.rejects(
        store.setAccountState(accountId, 'suspended', TESTS),
        AccountClosedError,
      );
      // A refund that the provider made is booked in any case: the money is gone.
      const adjustmentId = randomUUID();
      const taken = { adjustmentId, accountId, amount: -1n, reason: 'refund', by: TESTS } as const;
      assert.equal((await store.adjust(taken)).outcome, 'adjusted');

      const reason = 'closed by mistake';
      const reopened = await store.reopenAccount(accountId, { reason, by: TESTS });
      assert.deepEqual([reopened?.state, reopened?.usableKeys], ['active', 0]);
      assert.deepEqual(await store.reopenAccount(accountId, { reason, by: TESTS }), reopened);
      assert.equal(await store.reopenAccount('acct_none', { reason, by: TESTS }), undefined);
      assert.equal((await store.readStanding(keyIds[0] ?? '')).standing, 'revoked');
      assert.equal(
        (await store.reverse({ ...common, reverses: refund?.id ?? '' })).outcome,
        'adjusted',
      );
      assert.equal(await balanceOf(accountId), 5n);
      assert.equal(entries.length, 1);
      const [row] = await store
        .listTrail({ accountId, limit: 20 })
        .then((rows) => rows.filter(({ action }) => action === 'account.reopen'));
      assert.deepEqual(
        [row?.details, row?.personal],
        [{ state: { before: 'closed', after: 'active' } }, { reason }],
      );
      await assertSound();
    });

    it('reports unknown accounts', async () => {
      const { accountId } = await newAccount(1n);
      const rest = { as: 'transfer', to: 'acct_none' } as const;
      for (const outcome of [await close('acct_none'), await close(accountId, { rest })]) {
        assert.deepEqual(outcome, { outcome: 'unknown_account', accountId: 'acct_none' });
      }
    });
  });

  // F509: credit for an account whose keys are all revoked, which nobody could spend.
  it('topUp refuses an account without a usable key if it is told to, and replays what it has', async () => {
    const { store } = subject();
    const { accountId, keyIds } = await newAccount(0n, {});
    const refuse = { withoutUsableKey: 'refuse' } as const;
    const first = { topUpId: randomUUID(), ...refuse };
    assert.equal((await credit(accountId, 1n, first)).outcome, 'credited');
    await store.revokeKey(keyIds[0] ?? '');
    assert.deepEqual(await credit(accountId, 1n, refuse), { outcome: 'no_usable_key' });
    assert.equal((await credit(accountId, 1n, first)).outcome, 'replayed');
    assert.equal((await credit(accountId, 1n)).outcome, 'credited');
    assert.equal(await balanceOf(accountId), 2n);
  });
}
