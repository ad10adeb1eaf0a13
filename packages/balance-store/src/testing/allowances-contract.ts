/** The part of the contract about the allowance that an account gets in each month. */

import assert from 'node:assert/strict';
import type { SettledRates } from '../ledger-entry.js';
import { allowanceMonthOf } from '../ledger/rules/allowance.js';
import { entryId, isAllowance } from '../ledger/rules/entry-ids.js';
import { DAY_MS } from '../ledger/base/hours.js';
import { moneyOf } from './money.js';
import { waitPastMidnight } from './midnight.js';
import { sampleLimits, settlement } from './samples.js';
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

export function allowancesContract({ runner, subject, balanceOf, settle }: ContractPart): void {
  const { describe } = runner;
  const it = (name: string, body: () => Promise<void>) => {
    runner.it(name, async () => {
      await waitPastMidnight();
      await body();
    });
  };

  async function newAccount(allowance: bigint, paid?: bigint) {
    const created = await subject().store.create({
      account: { name: 'with an allowance', allowance },
      key: { name: 'k', limits: sampleLimits, expiresAt: null },
      credit: paid === undefined ? undefined : { amount: paid, source: 'paid' },
      by: TESTS,
    });
    assert.ok(created.outcome === 'created' && created.key !== undefined);
    const { account, key, credential = '' } = created;
    return { accountId: account.id, keyId: key.id, credential };
  }
  const renew = (accountId: string) => subject().store.bookDue(accountId);
  const charge = (keyId: string, units: number) =>
    settle(settlement(keyId, { usage: { inputTokens: units }, rates: RATES }));
  const deltasOf = async (accountId: string) =>
    (await subject().store.listEntries({ accountId, limit: 100 })).entries
      .map(({ kind, delta }) => [kind, delta] as const)
      .reverse();
  const eventsOf = async (accountId: string) =>
    (await subject().store.listEvents({ limit: 100, accountId })).map(({ type }) => type);

  /** Makes each allowance one of the month before its own. */
  async function monthPasses(accountId: string): Promise<void> {
    const { literal } = subject();
    const { entries } = await subject().store.listEntries({ accountId, limit: 100 });
    const moved = entries.map((entry) => {
      if (!isAllowance(entry.id)) return entry;
      const endsAt = new Date(allowanceMonthOf(entry.createdAt).start * DAY_MS);
      const createdAt = new Date(endsAt.getTime() - 1);
      const id = entryId.allowance(accountId, allowanceMonthOf(createdAt).name);
      return { ...entry, before: entry.id, id, createdAt, ended: literal.time(endsAt) };
    });
    const allowances = moved.flatMap((entry) => ('before' in entry ? [entry] : []));
    const [last] = allowances;
    if (last === undefined) throw new Error('the account has had no allowance');
    // The oldest first, so that no id is taken.
    const updates = allowances
      .reverse()
      .flatMap(({ before, id, createdAt, ended }) => [
        `UPDATE ledger SET reference = '${id}' WHERE reference = '${before}'`,
        `UPDATE credit_lot SET entry_id = '${id}', expires_at = ${ended} WHERE entry_id = '${before}'`,
        `UPDATE ledger SET id = '${id}', created_at = ${literal.time(createdAt)}, ` +
          `expires_at = ${ended} WHERE id = '${before}'`,
      ]);
    const { start } = allowanceMonthOf(last.createdAt);
    await subject().tamper(
      [
        ...updates,
        `UPDATE account SET allowance_start = ${String(start)} WHERE id = '${accountId}'`,
        `UPDATE account SET next_expiry_at = ${last.ended} WHERE id = '${accountId}' ` +
          'AND next_expiry_at IS NOT NULL',
        ...moneyOf(accountId, moved),
      ].join('; '),
      'disabled',
    );
  }

  /** Lets the next entry of the account be of the next month: no entry is earlier than the last. */
  async function nextMonthBegins(accountId: string): Promise<void> {
    const { endsAt } = allowanceMonthOf(new Date());
    const begun = subject().literal.time(endsAt ?? new Date());
    await subject().tamper(
      `UPDATE account SET last_booked_at = ${begun} WHERE id = '${accountId}'`,
    );
  }

  describe('an allowance', () => {
    // F250: many requests of several processes are the first of a month: it is credited once.
    it('is credited once in a month, whoever asks and however often', async () => {
      const { accountId, keyId, credential } = await newAccount(5n, 10n);
      const { pepper, store } = subject();
      const beside = await subject().openBeside({ pepper });
      const due = async () => (await store.findKeyByCredential(credential))?.allowanceDueAt;
      assert.ok((await due())!.getTime() <= Date.now());
      await Promise.all(
        [store, beside, store, beside, store].map((each) => each.bookDue(accountId)),
      );
      await Promise.all([store, beside].map((each) => each.expire({ keysWithinMs: 0 })));
      await beside.close();
      assert.deepEqual(await deltasOf(accountId), [
        ['top_up', 10n],
        ['top_up', 5n],
      ]);
      assert.deepEqual((await store.readUnspent(accountId))?.lots, [
        {
          entryId: entryId.allowance(accountId, allowanceMonthOf(new Date()).name),
          source: 'promotional',
          expiresAt: await due(),
          remaining: 5n,
        },
      ]);
      assert.ok((await due())!.getTime() > Date.now());
      await charge(keyId, 6);
      assert.deepEqual(await store.readUnspent(accountId), { lots: [], other: 9n });
    });

    it('gives way to the next one, and no event says that the balance was low in between', async () => {
      const { accountId, keyId } = await newAccount(5n);
      await subject().store.updateAccount(accountId, { lowBalance: 2n, noticeShares: [50] });
      await renew(accountId);
      await charge(keyId, 1);
      await monthPasses(accountId);
      await renew(accountId);
      await renew(accountId);
      assert.deepEqual(await deltasOf(accountId), [
        ['top_up', 5n],
        ['charge', -1n],
        ['expiry', -4n],
        ['top_up', 5n],
      ]);
      assert.equal(await balanceOf(accountId), 5n);
      assert.deepEqual((await eventsOf(accountId)).sort(), [
        'credit.added',
        'credit.added',
        'credit.expired',
      ]);
    });

    // F348: an allowance lower than the last one takes the balance below its threshold:
    // `balance.low`, once.
    it('that is lower than what expires announces a low balance, once', async () => {
      const { store } = subject();
      const { accountId, keyId } = await newAccount(9n);
      await store.updateAccount(accountId, { lowBalance: 4n });
      await renew(accountId);
      await charge(keyId, 1);
      await store.updateAccount(accountId, { allowance: 3n });
      await monthPasses(accountId);
      await renew(accountId);
      assert.equal(await balanceOf(accountId), 3n);
      const low = (await store.listEvents({ limit: 100, accountId })).filter(
        ({ type }) => type === 'balance.low',
      );
      assert.deepEqual(
        low.map(({ data }) => data),
        [{ balance: '0.00000000000003', threshold: '0.00000000000004', cause: 'expiry' }],
      );
      await nextMonthBegins(accountId);
      await renew(accountId);
      assert.equal((await eventsOf(accountId)).filter((type) => type === 'balance.low').length, 1);
    });

    it('makes an exhausted key usable again, by the regular work or by a request', async () => {
      const { store } = subject();
      for (const next of [renew, () => store.expire({ keysWithinMs: 0 })]) {
        const { accountId, keyId } = await newAccount(5n);
        await renew(accountId);
        await charge(keyId, 7);
        const standing = async () => (await subject().store.readStanding(keyId)).standing;
        assert.equal(await standing(), 'exhausted');
        await renew(accountId);
        assert.equal(await standing(), 'exhausted');
        await monthPasses(accountId);
        await next(accountId);
        assert.equal(await standing(), 'active');
        // The debt counts as used.
        assert.equal((await subject().store.readUnspent(accountId))?.lots[0]?.remaining, 3n);
      }
    });

    it('leaves what is held for a request of the last month, until other money covers it', async () => {
      const { accountId, keyId } = await newAccount(10n);
      await renew(accountId);
      const inFlight = settlement(keyId, { usage: { inputTokens: 4 }, rates: RATES });
      await subject().store.placeHold({ requestId: inFlight.requestId, keyId, amount: 6n });
      await monthPasses(accountId);
      await renew(accountId);
      assert.equal(await balanceOf(accountId), 10n);
      await settle(inFlight);
      await subject().store.expire({ keysWithinMs: 0 });
      assert.equal(await balanceOf(accountId), 6n);
      assert.deepEqual((await deltasOf(accountId)).slice(1), [
        ['expiry', -4n],
        ['top_up', 10n],
        ['expiry', -6n],
        ['charge', -4n],
      ]);
    });

    it('changes with the next month, ends with it, and waits while the account is suspended', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(5n);
      await renew(accountId);
      await store.updateAccount(accountId, { allowance: 8n });
      await renew(accountId);
      assert.equal(await balanceOf(accountId), 5n);
      await store.setAccountState(accountId, 'suspended', TESTS);
      await monthPasses(accountId);
      await renew(accountId);
      await subject().store.expire({ keysWithinMs: 0 });
      assert.equal(await balanceOf(accountId), 0n);
      await subject().store.setAccountState(accountId, 'active', TESTS);
      await renew(accountId);
      assert.equal(await balanceOf(accountId), 8n);
      await subject().store.updateAccount(accountId, { allowance: null });
      await nextMonthBegins(accountId);
      await renew(accountId);
      await subject().store.expire({ keysWithinMs: 0 });
      assert.equal(await balanceOf(accountId), 0n);
      assert.equal((await subject().store.getAccount(accountId))?.allowanceDueAt, null);
    });

    // F251: the mark of the last allowance is set back with plain SQL: no second one is credited.
    it('is not credited again if its mark is set back', async () => {
      const { accountId } = await newAccount(5n);
      await renew(accountId);
      const setBack = `UPDATE account SET allowance_start = 0 WHERE id = '${accountId}'`;
      await subject().tamper(setBack);
      await renew(accountId);
      assert.deepEqual(await deltasOf(accountId), [['top_up', 5n]]);
      const { differences } = await subject().store.audit();
      assert.deepEqual(
        differences.filter((each) => each.accountId === accountId),
        [],
      );
    });
  });
}
