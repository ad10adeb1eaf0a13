/** The part of the contract about credit that has expired although no entry says so yet. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { SettledRates } from '../ledger-entry.js';
import type { TopUp } from '../store.js';
import { letCreditExpire } from './expired-credit.js';
import { settlement } from './samples.js';
import { TESTS } from './subject.js';
import type { ContractPart } from './subject.js';

/** A unit for each input token. */
const RATES: SettledRates = {
  inputPerToken: 1n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};
const FAR = new Date('2200-01-01T00:00:00.000Z');

export function expiryContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;
  const credit = (accountId: string, amount: bigint, more: Partial<TopUp> = {}) =>
    subject().store.topUp({ topUpId: randomUUID(), to: { accountId }, amount, by: TESTS, ...more });
  const adjust = (accountId: string, amount: bigint, reason: 'chargeback' | 'refund') =>
    subject().store.adjust({ adjustmentId: randomUUID(), accountId, amount, reason, by: TESTS });
  /** An account with paid money, and with a credit that has expired and is not booked. */
  async function withExpired(paid: bigint, expired: bigint) {
    const { accountId, keyIds } = await newAccount(paid, {});
    await credit(accountId, expired, { expiresAt: FAR });
    await letCreditExpire(subject(), accountId, FAR);
    return { accountId, keyId: keyIds[0] ?? '' };
  }
  const chargeOf = (keyId: string, units: number, overdraft: 'bounded' | 'none' = 'bounded') =>
    settlement(keyId, { usage: { inputTokens: units }, rates: RATES, overdraft });
  const entriesOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, limit: 100 })).entries
      .map(({ kind, delta }) => [kind, delta] as const)
      .reverse();
  const eventsOf = async (accountId: string) =>
    (await subject().store.listEvents({ limit: 100, accountId })).map(({ type, data }) => ({
      type,
      data,
    }));

  describe('credit that has expired', () => {
    // F376: credit has expired, and the regular work has not booked it: it is neither shown nor
    // spent, and the standing names the reason.
    it('is neither shown, held nor charged before its expiry is booked', async () => {
      const { accountId, keyId } = await withExpired(0n, 3n);
      const { store } = subject();
      assert.deepEqual(await store.readStanding(keyId), {
        standing: 'exhausted',
        balance: 0n,
        uncovered: 0n,
        emptiedBy: 'expiry',
      });
      assert.deepEqual(await store.placeHold({ requestId: randomUUID(), keyId, amount: 1n }), {
        outcome: 'inactive',
        standing: 'exhausted',
      });
      const key = await store.getKey(keyId);
      assert.deepEqual([key?.balance, key?.standing], [0n, 'exhausted']);
      const account = await store.getAccount(accountId);
      assert.deepEqual([account?.balance, account?.expired], [0n, 3n]);
      const listed = (await store.listKeys({ accountId, limit: 5 })).map(({ balance }) => balance);
      assert.deepEqual(listed, [0n]);
      assert.deepEqual(await store.readUnspent(accountId), { lots: [], other: 0n });
      assert.deepEqual(await entriesOf(accountId), [['top_up', 3n]]);
      // A request that was admitted before ends now.
      const settled = await settle(chargeOf(keyId, 2));
      assert.deepEqual(settled, {
        outcome: 'settled',
        balance: -2n,
        isActive: false,
        writtenOff: 0n,
      });
      assert.deepEqual(await entriesOf(accountId), [
        ['top_up', 3n],
        ['expiry', -3n],
        ['charge', -2n],
      ]);
      assert.ok((await store.audit()).isSound);
    });

    // F376
    it('leaves the money beside it, which alone is held and charged', async () => {
      const { accountId, keyId } = await withExpired(10n, 30n);
      const { store } = subject();
      assert.deepEqual(await store.readStanding(keyId), {
        standing: 'active',
        balance: 10n,
        uncovered: 0n,
      });
      assert.deepEqual(await store.readUnspent(accountId), { lots: [], other: 10n });
      const charge = chargeOf(keyId, 6, 'none');
      const { requestId } = charge;
      assert.deepEqual(await store.placeHold({ requestId, keyId, amount: 8n }), {
        outcome: 'held',
        balance: 10n,
        held: 8n,
      });
      assert.deepEqual(await store.placeHold({ requestId: randomUUID(), keyId, amount: 3n }), {
        outcome: 'short',
        balance: 10n,
        held: 8n,
        shortfall: 1n,
      });
      assert.equal((await settle(charge)).outcome, 'settled');
      const beyond = await settle(chargeOf(keyId, 9, 'none'));
      assert.ok(beyond.outcome === 'settled' && beyond.writtenOff === 5n);
      assert.deepEqual(await entriesOf(accountId), [
        ['top_up', 10n],
        ['top_up', 30n],
        ['expiry', -30n],
        ['charge', -6n],
        ['charge', -4n],
      ]);
      assert.ok((await store.audit()).isSound);
    });

    // F377: requests, the regular work and two gateways come to an expired credit at once: its
    // expiry is booked once, with the same amount.
    it('is booked once, whoever comes first', async () => {
      const { accountId, keyId } = await withExpired(100n, 50n);
      const { store, pepper } = subject();
      const beside = await subject().openBeside({ pepper });
      const charges = Array.from({ length: 8 }, () => chargeOf(keyId, 1));
      await Promise.all([
        store.bookDue(accountId),
        ...charges.map((charge) => settle(charge)),
        beside.expire({ keysWithinMs: 0 }),
        beside.bookDue(accountId),
        store.expire({ keysWithinMs: 0 }),
      ]);
      await beside.close();
      const replayed = await Promise.all(charges.map((charge) => settle(charge)));
      assert.ok(replayed.every(({ outcome }) => outcome === 'replayed'));
      const entries = await entriesOf(accountId);
      assert.deepEqual(
        entries.filter(([kind]) => kind === 'expiry'),
        [['expiry', -50n]],
      );
      assert.equal((await subject().store.getAccount(accountId))?.balance, 92n);
      assert.ok((await subject().store.audit()).isSound);
    });

    // F377
    it('is booked before any other entry, which finds no money that has expired', async () => {
      const { accountId } = await withExpired(5n, 7n);
      const to = (await newAccount(0n)).accountId;
      const transfer = (amount: bigint) =>
        subject().store.transfer({
          transferId: randomUUID(),
          from: accountId,
          to,
          amount,
          by: TESTS,
        });
      assert.deepEqual(await transfer(6n), { outcome: 'short', free: 5n });
      await credit(accountId, 2n);
      await adjust(accountId, -1n, 'refund');
      assert.deepEqual(await entriesOf(accountId), [
        ['top_up', 5n],
        ['top_up', 7n],
        ['expiry', -7n],
        ['top_up', 2n],
        ['adjustment', -1n],
      ]);
      assert.equal((await subject().store.getAccount(accountId))?.noticeBase, 6n);
    });

    // F376
    it('is left to the request that it was held for before, and to no other', async () => {
      const { accountId, keyIds } = await newAccount(0n, {});
      const [keyId = ''] = keyIds;
      await credit(accountId, 10n, { expiresAt: FAR });
      const charge = chargeOf(keyId, 4, 'none');
      await subject().store.placeHold({ requestId: charge.requestId, keyId, amount: 6n });
      await letCreditExpire(subject(), accountId, FAR);
      const { store } = subject();
      const other = { requestId: randomUUID(), keyId, amount: 1n };
      assert.equal((await store.placeHold(other)).outcome, 'inactive');
      const settled = await settle(charge);
      assert.ok(settled.outcome === 'settled' && settled.writtenOff === 0n);
      const late = await settle(chargeOf(keyId, 1, 'none'));
      assert.ok(late.outcome === 'settled' && late.writtenOff === 1n);
      assert.deepEqual(await entriesOf(accountId), [
        ['top_up', 10n],
        ['expiry', -4n],
        ['charge', -4n],
        ['expiry', -2n],
        ['charge', 0n],
      ]);
      assert.ok((await store.audit()).isSound);
    });
  });

  describe('an empty balance', () => {
    // F378: a balance is empty because of an expiry, a dispute or a refund: neither the standing
    // nor an event calls it used, and one booking is announced once.
    it('has the reason that emptied it, also in its events', async () => {
      const { accountId, keyIds } = await newAccount(0n, {});
      const [keyId = ''] = keyIds;
      const { store } = subject();
      await store.updateAccount(accountId, { noticeShares: [50, 80, 100], lowBalance: 1n }, TESTS);
      const reasonOf = async () => {
        const standing = await subject().store.readStanding(keyId);
        return 'emptiedBy' in standing ? standing.emptiedBy : standing.standing;
      };
      await credit(accountId, 100n);
      await settle(chargeOf(keyId, 1));
      await adjust(accountId, -100n, 'chargeback');
      assert.equal(await reasonOf(), 'chargeback');
      const [balance, cause] = ['-0.00000000000001', 'chargeback'];
      const events = (await eventsOf(accountId)).filter(({ type }) => type.startsWith('balance.'));
      assert.deepEqual(events, [
        {
          type: 'balance.adjusted',
          data: {
            entry: events[0]?.data['entry'],
            amount: '-0.00000000000100',
            reason: cause,
            balance,
          },
        },
        { type: 'balance.low', data: { balance, threshold: '0.00000000000001', cause } },
        { type: 'balance.exhausted', data: { balance, cause } },
      ]);
      await credit(accountId, 50n, { expiresAt: FAR });
      assert.equal(await reasonOf(), 'active');
      await letCreditExpire(subject(), accountId, FAR);
      await subject().store.expire({ keysWithinMs: 0 });
      assert.equal(await reasonOf(), 'expiry');
      await credit(accountId, 1n);
      await settle(chargeOf(keyId, 1));
      assert.equal(await reasonOf(), 'exhausted');
      assert.ok((await subject().store.audit()).isSound);
    });

    // F378
    it('of which a part was taken is less: shares of the rest count as used', async () => {
      const { accountId, keyIds } = await newAccount(0n, {});
      const [keyId = ''] = keyIds;
      const { store } = subject();
      await store.updateAccount(accountId, { noticeShares: [50, 80] }, TESTS);
      await credit(accountId, 100n);
      await adjust(accountId, -90n, 'refund');
      await settle(chargeOf(keyId, 4));
      await settle(chargeOf(keyId, 1));
      const shares = (await eventsOf(accountId)).filter(({ type }) => type === 'balance.share');
      assert.deepEqual(
        shares.map(({ data }) => data),
        [
          {
            share: '80',
            balance: '0.00000000000010',
            full: '0.00000000000100',
            cause: 'refund',
          },
          { share: '50', balance: '0.00000000000005', full: '0.00000000000010' },
        ],
      );
    });
  });
}
