/** The part of the contract about a clock that was set back: no entry is earlier than the last. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TopUp } from '../store.js';
import { TESTS, USD } from './subject.js';
import { settlement } from './samples.js';
import type { ContractPart } from './subject.js';

const MINUTE_MS = 60_000;

export function timesContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;
  const today = new Date();
  const border = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1);
  /** Ten minutes into the next month: the clock is set back to now. */
  const ahead = new Date(border + 10 * MINUTE_MS);
  const expiresAt = new Date(border);

  const credit = (accountId: string, amount: bigint, more: Partial<TopUp> = {}) =>
    subject().store.topUp({ topUpId: randomUUID(), to: { accountId }, amount, by: TESTS, ...more });
  const charge = (keyId: string) => settle(settlement(keyId));
  const entriesOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, limit: 100 })).entries.toReversed();
  /** The kinds of the entries since the clock was set back; each must have the time before that. */
  async function kindsAhead(accountId: string): Promise<readonly string[]> {
    const entries = await entriesOf(accountId);
    const since = entries.findIndex(({ createdAt }) => createdAt >= ahead);
    const later = entries.slice(since);
    for (const { createdAt } of later) assert.deepEqual(createdAt, ahead);
    return later.map(({ kind }) => kind);
  }
  /** Lets the account's last entry be of a time that the clock has not reached. */
  async function setClockBack(accountId: string): Promise<void> {
    const time = subject().literal.time(ahead);
    await subject().tamper(`UPDATE account SET last_booked_at = ${time} WHERE id = '${accountId}'`);
  }
  async function differences(...of: readonly string[]) {
    return (await subject().store.audit()).differences.filter(({ accountId = '' }) =>
      of.includes(accountId),
    );
  }

  describe('a clock that was set back', () => {
    // F493: the clock goes back into a month that is over: nothing is added to that month.
    it('adds charges, credits, adjustments and transfers at the time of the last entry', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const other = await newAccount(10n * USD, {});
      await setClockBack(accountId);
      assert.equal((await charge(keyIds[0] ?? '')).outcome, 'settled');
      await credit(accountId, USD);
      const adjustment = { adjustmentId: randomUUID(), amount: -1n, reason: 'refund' } as const;
      await store.adjust({ ...adjustment, accountId, by: TESTS });
      const transfer = { transferId: randomUUID(), to: accountId, amount: USD, by: TESTS };
      await store.transfer({ ...transfer, from: other.accountId });
      const kinds = ['charge', 'top_up', 'adjustment', 'adjustment'];
      assert.deepEqual(await kindsAhead(accountId), kinds);
      // Both sides of a transfer have one time, and what follows on the other side, too.
      assert.equal((await charge(other.keyIds[0] ?? '')).outcome, 'settled');
      const [, out, after] = await entriesOf(other.accountId);
      assert.deepEqual([out?.createdAt, after?.createdAt], [ahead, ahead]);
      const month = await store.listEntries({ accountId, until: new Date(border), limit: 100 });
      assert.deepEqual(
        month.entries.map(({ kind }) => kind),
        ['top_up'],
      );
      assert.deepEqual(await differences(accountId, other.accountId), []);
    });

    // F494: credit expires between the clock and the last entry: its expiry is booked once, before
    // what follows, and charges do not wait for it forever.
    it('expires credit, renews an allowance and settles the batch', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      await store.updateAccount(accountId, { allowance: USD }, TESTS);
      await store.bookDue(accountId);
      await credit(accountId, USD, { expiresAt });
      await setClockBack(accountId);
      assert.equal((await charge(keyIds[0] ?? '')).outcome, 'settled');
      await store.bookDue(accountId);
      const kinds = ['expiry', 'expiry', 'top_up', 'charge'];
      assert.deepEqual(await kindsAhead(accountId), kinds);
      // Of another account, only the time of the batch is later than the expiry.
      const other = await newAccount(10n * USD, {});
      await credit(other.accountId, USD, { expiresAt });
      const keys = Array.from({ length: 10 }, () => [...keyIds, ...other.keyIds]).flat();
      const settled = await Promise.all(keys.map(charge));
      assert.ok(settled.every(({ outcome }) => outcome === 'settled'));
      const charges = Array.from({ length: 10 }, () => 'charge');
      assert.deepEqual(await kindsAhead(accountId), [...kinds, ...charges]);
      const others = await entriesOf(other.accountId);
      assert.deepEqual(
        others.filter(({ createdAt }) => createdAt >= ahead).map(({ kind }) => kind),
        ['expiry', ...charges],
      );
      assert.deepEqual(await differences(accountId, other.accountId), []);
    });

    // F495: a key has used its cap in a month that the clock has left again: the cap still counts.
    it('counts what a key has used in a window that is still to come', async () => {
      const { store } = subject();
      const capped = { caps: { day: USD, week: USD, month: USD, total: null } };
      const { accountId, keyIds } = await newAccount(10n * USD, capped);
      const [keyId = ''] = keyIds;
      await setClockBack(accountId);
      const { amount } = settlement(keyId);
      await charge(keyId);
      await charge(keyId);
      const key = await store.getKey(keyId);
      assert.deepEqual(key?.used, {
        day: 2n * amount,
        week: 2n * amount,
        month: 2n * amount,
        total: 2n * amount,
      });
      const standing = await store.readStanding(keyId);
      assert.equal('cap' in standing ? standing.cap?.used : undefined, 2n * amount);
      const hold = { requestId: randomUUID(), keyId, amount: USD };
      assert.equal((await store.placeHold(hold)).outcome, 'over_budget');
      assert.deepEqual(await differences(accountId), []);
    });

    // F496: an entry is added past the gateway with a time before the last one: the audit names it.
    it('is told from an entry whose time was changed', async () => {
      const { accountId } = await newAccount(USD, {});
      await credit(accountId, USD);
      await credit(accountId, USD);
      const [, second, last] = await entriesOf(accountId);
      const earlier = new Date((second?.createdAt.getTime() ?? 0) - 1);
      const set = (time: Date) =>
        subject().tamper(
          `UPDATE ledger SET created_at = ${subject().literal.time(time)}
            WHERE id = '${last?.id ?? ''}'`,
          'disabled',
        );
      await set(earlier);
      assert.deepEqual(await differences(accountId), [
        {
          check: 'time',
          accountId,
          keyId: undefined,
          entryId: last?.id,
          expected: `${second?.createdAt.toISOString() ?? ''} or later`,
          found: earlier.toISOString(),
        },
      ]);
      await set(last?.createdAt ?? ahead);
      assert.deepEqual(await differences(accountId), []);
    });
  });
}
