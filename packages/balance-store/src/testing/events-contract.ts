/** The part of the contract about events and their delivery. */

import { HOUR_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { numericFromUnits } from '../numeric.js';
import type { StoredEvent } from '../event.js';
import { waitPastMidnight } from './midnight.js';
import { settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function eventsContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle } = part;
  const { describe, it } = runner;
  const { amount } = settlement('');
  const eventsOf = (accountId: string) => subject().store.listEvents({ accountId, limit: 1_000 });
  const typesOf = async (accountId: string) => (await eventsOf(accountId)).map(({ type }) => type);
  const credit = (accountId: string, units: bigint, expiresAt?: Date) =>
    subject().store.topUp({
      topUpId: randomUUID(),
      to: { accountId },
      amount: units,
      by: TESTS,
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  /** Delivers the events that other tests have left. */
  async function deliverAll(): Promise<void> {
    const { store } = subject();
    for (;;) {
      const due = await store.takeDueEvents({ channel: 'webhook', limit: 1_000, leaseMs: HOUR_MS });
      if (due.length === 0) return;
      await Promise.all(
        due.map(({ seq }) => store.finishEvent('webhook', seq, { outcome: 'delivered' })),
      );
    }
  }
  const take = (limit = 100, leaseMs = HOUR_MS) =>
    subject().store.takeDueEvents({ channel: 'webhook', limit, leaseMs });
  const numbersOf = (events: readonly StoredEvent[]) => events.map(({ data }) => data['n']).sort();
  const announce = (accountId: string, n: number) =>
    subject().store.recordEvent({
      type: 'upstream.refused',
      accountId,
      keyId: undefined,
      data: { n: String(n) },
    });

  describe('events', () => {
    it('are written once for a credit, a low balance and exhaustion, and again after another credit', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(0n, {}, {});
      const [keyId = '', other = ''] = keyIds;
      await store.updateAccount(accountId, { lowBalance: 2n * amount });
      await credit(accountId, 4n * amount);
      await settle(settlement(keyId));
      assert.deepEqual(await typesOf(accountId), ['credit.added']);
      await settle(settlement(other));
      await settle(settlement(keyId));
      assert.deepEqual(await typesOf(accountId), ['credit.added', 'balance.low']);
      await settle(settlement(keyId));
      await settle(settlement(keyId));
      const events = await eventsOf(accountId);
      assert.deepEqual(
        events.map(({ type, keyId: of, data }) => [type, of, data]),
        [
          [
            'credit.added',
            undefined,
            {
              entry: (await store.listEntries({ accountId, kind: 'top_up', limit: 1 })).entries[0]
                ?.id,
              amount: numericFromUnits(4n * amount),
              source: 'paid',
              balance: numericFromUnits(4n * amount),
            },
          ],
          [
            'balance.low',
            undefined,
            { balance: numericFromUnits(2n * amount), threshold: numericFromUnits(2n * amount) },
          ],
          ['balance.exhausted', undefined, { balance: numericFromUnits(0n) }],
        ],
      );
      await credit(accountId, 4n * amount);
      await settle(settlement(keyId));
      await settle(settlement(keyId));
      await settle(settlement(keyId));
      assert.deepEqual((await typesOf(accountId)).slice(3), [
        'credit.added',
        'balance.low',
        'balance.exhausted',
      ]);
    });

    it('are written once for a low balance and once for exhaustion, however many charges are made at once', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(amount / 2n, {});
      await store.updateAccount(accountId, { lowBalance: 0n });
      await Promise.all(Array.from({ length: 30 }, () => settle(settlement(keyIds[0] ?? ''))));
      assert.deepEqual(await typesOf(accountId), [
        'credit.added',
        'balance.low',
        'balance.exhausted',
      ]);
    });

    it('are written once for the exhaustion by a write-off, even if some of the balance is left', async () => {
      const { accountId, keyIds } = await newAccount(3n * amount, {});
      const [keyId = ''] = keyIds;
      await subject().store.placeHold({ requestId: randomUUID(), keyId, amount: 3n * amount - 1n });
      await settle(settlement(keyId, { overdraft: 'none' }));
      await settle(settlement(keyId, { overdraft: 'none' }));
      assert.deepEqual(await typesOf(accountId), ['credit.added', 'balance.exhausted']);
    });

    it('are written for adjustments, transfers and expiries, and for the thresholds that these cross', async () => {
      const { store } = subject();
      const [{ accountId }, other] = [await newAccount(10n), await newAccount(0n)];
      const transferId = randomUUID();
      await store.updateAccount(accountId, { lowBalance: 5n });
      const adjust = (units: bigint) =>
        store.adjust({
          adjustmentId: randomUUID(),
          accountId,
          amount: units,
          reason: 'correction',
          by: TESTS,
        });
      await adjust(-6n);
      await store.transfer({
        transferId,
        from: accountId,
        to: other.accountId,
        amount: 4n,
        by: TESTS,
      });
      await adjust(20n);
      await adjust(-20n);
      await credit(accountId, 7n, new Date(Date.now() + 1));
      await new Promise((resolve) => setTimeout(resolve, 5));
      await store.expire({ keysWithinMs: 0 });
      assert.deepEqual(await typesOf(accountId), [
        'credit.added',
        'balance.adjusted',
        'balance.low',
        'balance.adjusted',
        'balance.exhausted',
        'balance.adjusted',
        'balance.adjusted',
        'balance.low',
        'balance.exhausted',
        'credit.added',
        'balance.low',
        'balance.exhausted',
        'credit.expired',
      ]);
      const [received] = await eventsOf(other.accountId);
      assert.equal(received?.type, 'balance.adjusted');
      assert.deepEqual(received.data, {
        entry: `transfer:${transferId}:in`,
        amount: numericFromUnits(4n),
        reason: 'transfer',
        balance: numericFromUnits(4n),
      });
    });

    it('are written once for each chosen share of a balance, and again after a credit', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * amount, {});
      await store.updateAccount(accountId, { noticeShares: [33, 50, 100] });
      const sharesOf = async () =>
        (await eventsOf(accountId))
          .filter(({ type }) => type === 'balance.share')
          .map(({ data }) => [data['share'], data['balance'], data['full']]);
      const spend = async (charges: number) => {
        for (let n = 0; n < charges; n += 1) await settle(settlement(keyIds[0] ?? ''));
      };
      const [full, usd] = [
        numericFromUnits(10n * amount),
        (n: bigint) => numericFromUnits(n * amount),
      ];
      await spend(3);
      assert.deepEqual(await sharesOf(), []);
      await spend(2);
      const half = [
        ['33', usd(6n), full],
        ['50', usd(5n), full],
      ];
      assert.deepEqual(await sharesOf(), half);
      // A correction is not use. What it takes is taken from the whole, too.
      await store.adjust({
        adjustmentId: randomUUID(),
        accountId,
        amount: -5n * amount,
        reason: 'correction',
        by: TESTS,
      });
      assert.deepEqual(await sharesOf(), half);
      await spend(1);
      await credit(accountId, 5n * amount);
      await Promise.all([spend(1), spend(1)]);
      const again = (await sharesOf()).slice(2);
      assert.deepEqual(
        again.map(([share, , of]) => [share, of]),
        [
          ['33', usd(4n)],
          ['50', usd(4n)],
        ],
      );
      await store.updateAccount(accountId, { noticeShares: [] });
      await spend(3);
      assert.equal((await sharesOf()).length, 4);
      await assert.rejects(store.updateAccount(accountId, { noticeShares: [50, 50] }), RangeError);
      await assert.rejects(store.updateAccount(accountId, { noticeShares: [0] }), RangeError);
      await assert.rejects(store.updateAccount(accountId, { noticeShares: [101] }), RangeError);
    });

    it('are written once for each chosen share of a cap, however many charges are made at once', async () => {
      const { store } = subject();
      await waitPastMidnight();
      const { accountId, keyIds } = await newAccount(USD, {
        caps: { day: 4n * amount, total: 8n * amount },
      });
      const keyId = keyIds[0] ?? '';
      await store.updateAccount(accountId, { noticeShares: [50, 100] });
      await Promise.all(Array.from({ length: 4 }, () => settle(settlement(keyId))));
      const events = (await eventsOf(accountId)).filter(({ type }) => type === 'cap.share');
      assert.deepEqual(
        events.map(({ keyId: of, data }) => [of, data['period'], data['share']]).sort(),
        [
          [keyId, 'day', '100'],
          [keyId, 'day', '50'],
          [keyId, 'total', '50'],
        ],
      );
      assert.equal(events[0]?.data['cap'], numericFromUnits(4n * amount));
    });

    it('are written once in each window of a cap that is reached', async () => {
      await waitPastMidnight();
      const { accountId, keyIds } = await newAccount(USD, {
        caps: { day: 2n * amount, total: 3n * amount },
      });
      const [keyId = ''] = keyIds;
      await settle(settlement(keyId));
      assert.deepEqual(await typesOf(accountId), ['credit.added']);
      await settle(settlement(keyId));
      await settle(settlement(keyId));
      await settle(settlement(keyId));
      const reached = async () =>
        (await eventsOf(accountId))
          .filter(({ type }) => type === 'cap.reached')
          .map((event) => [event.keyId, event.data]);
      const ofDay = (used: bigint) => [
        keyId,
        { period: 'day', cap: numericFromUnits(2n * amount), used: numericFromUnits(used) },
      ];
      const ofTotal = [
        keyId,
        {
          period: 'total',
          cap: numericFromUnits(3n * amount),
          used: numericFromUnits(3n * amount),
        },
      ];
      assert.deepEqual(await reached(), [ofDay(2n * amount), ofTotal]);
      await subject().tamper(
        `UPDATE budget_use SET start_at = start_at - 86400000 WHERE budget_id = 'cap_day_${keyId}'`,
      );
      await Promise.all([1, 2, 3, 4].map(() => settle(settlement(keyId))));
      const [, , again, ...others] = await reached();
      assert.deepEqual([again?.[0], others.length], [keyId, 0]);
      assert.equal((again?.[1] as Record<string, string>)['period'], 'day');
      const all = numericFromUnits(8n * amount);
      await subject().tamper(
        `UPDATE budget_use SET used = '${all}' WHERE budget_id = 'cap_day_${keyId}'`,
      );
    });

    it('are written for changes of the state of a key, rotations and keys that expire soon', async () => {
      const { store } = subject();
      const expiresAt = new Date(Date.now() + 10 * HOUR_MS);
      const { accountId, keyIds } = await newAccount(0n, { expiresAt }, {}, { expiresAt });
      const [expiring = '', rotated = '', suspended = ''] = keyIds;
      await store.suspendKey(suspended);
      await store.suspendKey(suspended);
      await store.resumeKey(suspended);
      await store.revokeKey(suspended);
      await store.revokeKey(suspended);
      await store.rotateKey(rotated, { graceMs: HOUR_MS, by: TESTS });
      await store.setAccountState(accountId, 'suspended', TESTS);
      await store.setAccountState(accountId, 'suspended', TESTS);
      await store.setAccountState(accountId, 'active', TESTS);
      await store.expire({ keysWithinMs: 9 * HOUR_MS });
      assert.deepEqual(await typesOf(accountId), [
        'key.suspended',
        'key.resumed',
        'key.revoked',
        'key.rotated',
        'account.suspended',
        'account.resumed',
      ]);
      await Promise.all([1, 2, 3].map(() => store.expire({ keysWithinMs: 11 * HOUR_MS })));
      const [first, , , second, , , third, ...others] = await eventsOf(accountId);
      assert.equal(others.length, 0);
      assert.deepEqual([first?.keyId, second?.keyId, third?.keyId], [suspended, rotated, expiring]);
      const { previousUntil } = (await store.getKey(rotated)) ?? {};
      assert.deepEqual(
        [first?.data, second?.data],
        [
          { by: 'operator' },
          { by: TESTS.name, previous_until: previousUntil?.toISOString() ?? '' },
        ],
      );
      assert.deepEqual(
        [third?.type, third?.data],
        ['key.expiring', { expires_at: expiresAt.toISOString() }],
      );
      // A new expiry causes another event.
      await store.updateKey(expiring, { expiresAt: new Date(expiresAt.getTime() + 1_000) });
      await store.expire({ keysWithinMs: 11 * HOUR_MS });
      assert.equal((await typesOf(accountId)).filter((type) => type === 'key.expiring').length, 2);
    });

    it('are written for all of many keys that expire at once', async () => {
      const { store } = subject();
      const expiresAt = new Date(Date.now() + HOUR_MS);
      const accounts = await Promise.all(
        Array.from({ length: 25 }, () => newAccount(0n, { expiresAt }, { expiresAt })),
      );
      assert.equal(await store.expire({ keysWithinMs: 2 * HOUR_MS }), 50);
      for (const { accountId } of accounts) assert.equal((await eventsOf(accountId)).length, 2);
    });

    it('are taken in order within each account, each by one caller, until they are finished', async () => {
      const { store } = subject();
      await deliverAll();
      const accounts = [`acct_${randomUUID()}`, `acct_${randomUUID()}`];
      const [a = '', b = ''] = accounts;
      await announce(a, 1);
      await announce(a, 2);
      await announce(b, 3);
      await announce('', 4);
      const takers = await Promise.all(Array.from({ length: 5 }, () => take()));
      const first = takers.flat();
      assert.deepEqual(numbersOf(first), ['1', '3', '4']);
      assert.equal(new Set(first.map(({ id }) => id)).size, 3);
      assert.ok(first.every(({ id, attempts }) => id.startsWith('evt_') && attempts === 0));
      assert.deepEqual(await take(), []);
      for (const { seq } of first)
        await store.finishEvent('webhook', seq, { outcome: 'delivered' });
      const second = await take();
      assert.deepEqual(numbersOf(second), ['2']);
      await store.finishEvent('webhook', second[0]?.seq ?? 0n, { outcome: 'delivered' });
      assert.deepEqual(await take(), []);
      const delivered = await store.listEvents({ state: 'delivered', accountId: a, limit: 10 });
      assert.deepEqual(
        delivered.map(({ attempts, lastError, deliveredAt }) => [
          attempts,
          lastError,
          deliveredAt instanceof Date,
        ]),
        [
          [1, null, true],
          [1, null, true],
        ],
      );
    });

    it('are taken oldest first, and no more than asked for', async () => {
      await deliverAll();
      for (let n = 1; n <= 5; n += 1) await announce(`acct_${randomUUID()}`, n);
      assert.deepEqual(numbersOf(await take(2)), ['1', '2']);
      assert.deepEqual(numbersOf(await take(2)), ['3', '4']);
      assert.deepEqual(numbersOf(await take(2)), ['5']);
      await deliverAll();
    });

    it('whose delivery failed are taken again at `retryAt`, and become undelivered without a `retryAt`', async () => {
      const { store } = subject();
      await deliverAll();
      const accountId = `acct_${randomUUID()}`;
      await announce(accountId, 1);
      await announce(accountId, 2);
      const seq = (await take())[0]?.seq ?? 0n;
      const failure = (retryAt: Date | undefined) =>
        store.finishEvent('webhook', seq, { outcome: 'failed', error: 'status 503', retryAt });
      await failure(new Date(Date.now() + HOUR_MS));
      // The second waits for the first.
      assert.deepEqual(await take(), []);
      const [waiting] = await store.listEvents({ state: 'pending', accountId, limit: 1 });
      assert.deepEqual(
        [waiting?.seq, waiting?.attempts, waiting?.lastError],
        [seq, 1, 'status 503'],
      );
      await failure(new Date(Date.now() - 1));
      assert.deepEqual(numbersOf(await take()), ['1']);
      const before = (await store.summarize()).undeliveredEvents;
      await failure(undefined);
      assert.deepEqual(numbersOf(await take()), ['2']);
      assert.equal((await store.summarize()).undeliveredEvents, before + 1);
      const [lost, ...others] = await store.listEvents({
        state: 'undelivered',
        accountId,
        limit: 9,
      });
      assert.deepEqual(
        [lost?.seq, lost?.attempts, lost?.deliveredAt, others.length],
        [seq, 3, null, 0],
      );
      await deliverAll();
    });

    it('whose lease has expired are taken again; a late success counts, and a failure that comes after it is ignored', async () => {
      const { store } = subject();
      await deliverAll();
      const accountId = `acct_${randomUUID()}`;
      await announce(accountId, 1);
      const [first] = await take(1, 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      const [second] = await take();
      assert.deepEqual(second, first);
      const seq = first?.seq ?? 0n;
      await store.finishEvent('webhook', seq, { outcome: 'delivered' });
      await store.finishEvent('webhook', seq, {
        outcome: 'failed',
        error: 'late',
        retryAt: new Date(0),
      });
      assert.deepEqual(await take(), []);
      const [event] = await store.listEvents({ accountId, limit: 1 });
      assert.deepEqual([event?.attempts, event?.lastError], [1, null]);
    });

    it('are listed page by page, oldest first', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      for (let n = 1; n <= 5; n += 1) await announce(accountId, n);
      const first = await store.listEvents({ accountId, limit: 3 });
      const after = first.at(-1)?.seq;
      const second = await store.listEvents({ accountId, limit: 3, after });
      assert.deepEqual(
        [...first, ...second].map(({ data }) => data['n']),
        ['1', '2', '3', '4', '5'],
      );
      await deliverAll();
    });
  });
}
