/** The part of the contract about credits that expire or were given for free. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TopUp } from '../store.js';
import type { SettledRates } from '../ledger-entry.js';
import { letCreditExpire } from './expired-credit.js';
import { settlement } from './samples.js';
import { TESTS } from './subject.js';
import type { ContractPart } from './subject.js';

const RATES: SettledRates = {
  inputPerToken: 1n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};

const FAR = new Date('2200-01-01T00:00:00.000Z');
const FARTHER = new Date('2300-01-01T00:00:00.000Z');

export function creditsContract(part: ContractPart): void {
  const { runner, subject, newAccount, balanceOf, settle } = part;
  const { describe, it } = runner;
  const credit = async (accountId: string, amount: bigint, others: Partial<TopUp> = {}) => {
    const topUpId = randomUUID();
    const credited = await subject().store.topUp({
      topUpId,
      to: { accountId },
      amount,
      by: TESTS,
      ...others,
    });
    assert.equal(credited.outcome, 'credited');
    return `topup:${topUpId}`;
  };
  /** Charges this many units, one per token. */
  const charge = (keyId: string, units: number, overdraft: 'bounded' | 'none' = 'bounded') =>
    settle(settlement(keyId, { usage: { inputTokens: units }, rates: RATES, overdraft }));
  const unspent = async (accountId: string) => {
    const found = await subject().store.readUnspent(accountId);
    assert.ok(found !== undefined);
    return {
      lots: found.lots.map(({ entryId, remaining }) => [entryId, remaining]),
      other: found.other,
    };
  };
  const expire = () => subject().store.expire({ keysWithinMs: 0 });
  const entriesOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, limit: 100 })).entries;
  /** An expiry that passes while the test runs. */
  const passing = () => new Date(Date.now() + 1);
  const soon = () => new Promise((resolve) => setTimeout(resolve, 5));
  const elapse = (accountId: string, ...others: readonly string[]) =>
    letCreditExpire(subject(), accountId, FAR, ...others);

  describe('credits', () => {
    it('are used in the order of their expiry, then promotional ones without an expiry, then all other money', async () => {
      const { accountId, keyIds } = await newAccount(100n, {});
      const [keyId = ''] = keyIds;
      const given = await credit(accountId, 10n, { source: 'promotional' });
      const farther = await credit(accountId, 10n, { expiresAt: FARTHER });
      const far = await credit(accountId, 10n, { source: 'promotional', expiresAt: FAR });
      assert.deepEqual(await subject().store.readUnspent(accountId), {
        lots: [
          { entryId: far, source: 'promotional', expiresAt: FAR, remaining: 10n },
          { entryId: farther, source: 'paid', expiresAt: FARTHER, remaining: 10n },
          { entryId: given, source: 'promotional', expiresAt: null, remaining: 10n },
        ],
        other: 100n,
      });
      await charge(keyId, 4);
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [far, 6n],
          [farther, 10n],
          [given, 10n],
        ],
        other: 100n,
      });
      await charge(keyId, 13);
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [farther, 3n],
          [given, 10n],
        ],
        other: 100n,
      });
      // A credit that is added between two charges is used before those that expire later.
      const between = await credit(accountId, 5n, { expiresAt: FAR });
      await charge(keyId, 6);
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [farther, 2n],
          [given, 10n],
        ],
        other: 100n,
      });
      assert.notEqual(between, far);
      await charge(keyId, 22);
      assert.deepEqual(await unspent(accountId), { lots: [], other: 90n });
    });

    it('the entry of a credit says where it came from and when it expires', async () => {
      const { accountId } = await newAccount(0n);
      await credit(accountId, 5n, {
        source: 'promotional',
        expiresAt: FAR,
        note: 'welcome',
        reference: 'campaign',
      });
      const [entry] = await entriesOf(accountId);
      assert.ok(entry?.kind === 'top_up');
      assert.deepEqual(
        [entry.source, entry.expiresAt, entry.note, entry.reference],
        ['promotional', FAR, { text: 'welcome' }, 'campaign'],
      );
    });

    it('a used id with another source, expiry or reference is a conflict', async () => {
      const { accountId } = await newAccount(0n);
      const topUp: TopUp = { topUpId: randomUUID(), to: { accountId }, amount: 5n, by: TESTS };
      const { store } = subject();
      assert.equal((await store.topUp(topUp)).outcome, 'credited');
      for (const other of [
        { source: 'promotional' as const },
        { expiresAt: FAR },
        { reference: 'r' },
      ]) {
        assert.deepEqual(await store.topUp({ ...topUp, ...other }), { outcome: 'conflict' });
      }
      assert.equal(
        (await store.topUp({ ...topUp, source: 'paid', note: 'x' })).outcome,
        'replayed',
      );
      assert.equal(await balanceOf(accountId), 5n);
    });

    it('the rest of an expired credit is taken by one entry, however many calls expire it at once', async () => {
      const { accountId, keyIds } = await newAccount(10n, {});
      const entryId = await credit(accountId, 7n, { expiresAt: FAR });
      await credit(accountId, 5n, { expiresAt: FARTHER });
      await charge(keyIds[0] ?? '', 3);
      await elapse(accountId);
      await Promise.all([expire(), expire(), expire()]);
      const [entry, ...others] = await entriesOf(accountId);
      assert.equal(others.length, 4);
      assert.ok(entry?.kind === 'expiry');
      assert.deepEqual(
        [entry.delta, entry.balanceAfter, entry.reference, entry.note],
        [-4n, 15n, entryId, undefined],
      );
      const account = await subject().store.getAccount(accountId);
      assert.deepEqual([account?.expired, account?.balance], [4n, 15n]);
      await expire();
      assert.equal(await balanceOf(accountId), 15n);
      assert.equal((await unspent(accountId)).other, 10n);
      assert.ok((await subject().store.audit()).isSound);
    });

    it('expiries of many accounts are all booked, and the number of entries is returned', async () => {
      await expire();
      const accounts = await Promise.all(Array.from({ length: 35 }, () => newAccount(1n)));
      for (const { accountId } of accounts) {
        await credit(accountId, 2n, { expiresAt: FAR });
        await credit(accountId, 3n, { source: 'promotional', expiresAt: FAR });
      }
      for (const { accountId } of accounts) await elapse(accountId);
      assert.equal(await expire(), 70);
      for (const { accountId } of accounts) assert.equal(await balanceOf(accountId), 1n);
    });

    it('a credit that is used up expires without an entry', async () => {
      const { accountId, keyIds } = await newAccount(10n, {});
      await credit(accountId, 7n, { expiresAt: FAR });
      await charge(keyIds[0] ?? '', 7);
      await elapse(accountId);
      await expire();
      assert.equal(await balanceOf(accountId), 10n);
      assert.equal((await entriesOf(accountId)).length, 3);
      assert.ok((await subject().store.audit()).isSound);
    });

    it('a promotional credit without an expiry never expires', async () => {
      const { accountId } = await newAccount(0n);
      const entryId = await credit(accountId, 7n, { source: 'promotional' });
      await expire();
      assert.deepEqual(await unspent(accountId), { lots: [[entryId, 7n]], other: 0n });
    });

    it('money that is held for requests in flight expires only when they have ended', async () => {
      const { accountId, keyIds } = await newAccount(0n, {});
      const [keyId = ''] = keyIds;
      await credit(accountId, 10n, { expiresAt: FAR });
      const inFlight = settlement(keyId, { usage: { inputTokens: 4 }, rates: RATES });
      await subject().store.placeHold({ requestId: inFlight.requestId, keyId, amount: 6n });
      await elapse(accountId);
      await expire();
      await expire();
      assert.deepEqual(
        (await entriesOf(accountId)).map(({ balanceAfter }) => balanceAfter),
        [6n, 10n],
      );
      // It is left to that request: nobody else sees it.
      assert.equal(await balanceOf(accountId), 0n);
      const settled = await settle(inFlight);
      assert.deepEqual(settled, {
        outcome: 'settled',
        balance: 2n,
        isActive: true,
        writtenOff: 0n,
      });
      await expire();
      assert.equal(await balanceOf(accountId), 0n);
      const expiries = (await entriesOf(accountId)).filter(({ kind }) => kind === 'expiry');
      assert.deepEqual(
        expiries.map(({ delta }) => delta),
        [-2n, -4n],
      );
      assert.deepEqual(await unspent(accountId), { lots: [], other: 0n });
      assert.ok((await subject().store.audit()).isSound);
    });

    it('a debt uses up the credit that pays it: the expiry of that credit takes no money that was paid later', async () => {
      const { accountId, keyIds } = await newAccount(1n, {});
      const [keyId = ''] = keyIds;
      await charge(keyId, 5);
      const entryId = await credit(accountId, 10n, { expiresAt: FAR });
      assert.deepEqual(await unspent(accountId), { lots: [[entryId, 6n]], other: 0n });
      await credit(accountId, 20n);
      assert.deepEqual(await unspent(accountId), { lots: [[entryId, 6n]], other: 20n });
      await elapse(accountId);
      await expire();
      assert.equal(await balanceOf(accountId), 20n);
      // A debt that is larger than the credit leaves nothing of it.
      await charge(keyId, 50);
      await credit(accountId, 10n, { expiresAt: passing() });
      await soon();
      await expire();
      assert.equal(await balanceOf(accountId), -20n);
      assert.ok((await subject().store.audit()).isSound);
    });

    it('adjustments and transfers take other money before credits, and never give back what they took of a credit', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n, {});
      const other = await newAccount(0n);
      const expiring = await credit(accountId, 8n, { expiresAt: FAR });
      const given = await credit(accountId, 6n, { source: 'promotional' });
      const adjust = (amount: bigint) =>
        store.adjust({
          adjustmentId: randomUUID(),
          accountId,
          amount,
          reason: 'correction',
          by: TESTS,
        });
      await adjust(-7n);
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [expiring, 8n],
          [given, 6n],
        ],
        other: 3n,
      });
      await charge(keyIds[0] ?? '', 1);
      await store.transfer({
        transferId: randomUUID(),
        from: accountId,
        to: other.accountId,
        amount: 5n,
        by: TESTS,
      });
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [expiring, 5n],
          [given, 6n],
        ],
        other: 0n,
      });
      await adjust(20n);
      assert.deepEqual(await unspent(accountId), {
        lots: [
          [expiring, 5n],
          [given, 6n],
        ],
        other: 20n,
      });
      await adjust(-40n);
      await credit(accountId, 100n);
      assert.deepEqual(await unspent(accountId), { lots: [], other: 91n });
      await elapse(accountId, other.accountId);
      await expire();
      assert.equal(await balanceOf(accountId), 91n);
      assert.deepEqual((await subject().store.audit()).differences, []);
    });

    it('charges that race an expiry take other money, and nothing twice', async () => {
      const { store } = subject();
      for (let round = 0; round < 10; round += 1) {
        const { accountId, keyIds } = await newAccount(1_000n, {}, {});
        await credit(accountId, 50n, { expiresAt: passing() });
        await soon();
        await Promise.all([
          expire(),
          ...Array.from({ length: 20 }, (_, index) => charge(keyIds[index % 2] ?? '', 1)),
          expire(),
        ]);
        const account = await store.getAccount(accountId);
        assert.deepEqual([account?.expired, account?.balance], [50n, 1_000n - 20n]);
      }
      assert.ok((await store.audit()).isSound);
    });

    it('readBalanceAt reads the balance before the first entry at or after a time', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n, {});
      for (let index = 0; index < 8; index += 1) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        await charge(keyIds[0] ?? '', 1);
      }
      const entries = [...(await entriesOf(accountId))].reverse();
      for (const { createdAt } of entries) {
        const [before] = [...entries].reverse().filter((entry) => entry.createdAt < createdAt);
        assert.equal(await store.readBalanceAt(accountId, createdAt), before?.balanceAfter ?? 0n);
      }
      assert.equal(await store.readBalanceAt(accountId, FAR), 2n);
      assert.equal(await store.readBalanceAt(accountId, new Date(0)), 0n);
      assert.equal(await store.readBalanceAt('acct_none', FAR), 0n);
    });
  });
}
