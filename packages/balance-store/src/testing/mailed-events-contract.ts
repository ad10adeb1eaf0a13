/** The part of the contract about events that are also sent by mail. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '../ledger/base/hours.js';
import type { EventChannel, EventType } from '../event.js';
import { settlement } from './samples.js';
import { TESTS, closeAny } from './subject.js';
import type { ContractPart } from './subject.js';

export function mailedEventsContract({ runner, subject, newAccount, settle }: ContractPart): void {
  const { describe, it } = runner;
  const { amount } = settlement('');
  const eventsOf = (accountId: string) => subject().store.listEvents({ accountId, limit: 100 });
  const record = (accountId: string, type: EventType, data = {}) =>
    subject().store.recordEvent({ type, accountId, keyId: undefined, data });
  /** The events of one account. Those of others are left alone for an hour. */
  const take = async (channel: EventChannel, accountId: string) =>
    (await subject().store.takeDueEvents({ channel, limit: 1_000, leaseMs: HOUR_MS })).filter(
      (event) => event.accountId === accountId,
    );
  async function accountWithAddress(): Promise<string> {
    const { accountId } = await newAccount(0n);
    await subject().store.updateAccount(accountId, { noticeEmail: 'person@example.com' });
    return accountId;
  }

  describe('events that are also sent by mail', () => {
    it('are notices that the customer chose and a balance that is used up, if the account has an address', async () => {
      const { store } = subject();
      const noticeShares = [50, 100];
      const mailOf = async (noticeEmail: string | null) => {
        const caps = { total: 4n * amount };
        const { accountId, keyIds } = await newAccount(4n * amount, { caps });
        const change = { noticeShares, noticeEmail, lowBalance: 2n * amount };
        const changed = await store.updateAccount(accountId, change, TESTS);
        assert.equal(changed?.noticeEmail, noticeEmail);
        await store.adjust({
          adjustmentId: randomUUID(),
          accountId,
          amount: -amount,
          reason: 'correction',
          by: TESTS,
        });
        for (let n = 0; n < 3; n += 1) await settle(settlement(keyIds[0] ?? ''));
        const leaks = ['key.new_model', 'key.new_network', 'key.pace'] as const;
        for (const type of ['auto_top_up.failed', ...leaks] as const) await record(accountId, type);
        return (await eventsOf(accountId))
          .map(({ type, data, mail }) => [type, data['share'], mail])
          .sort();
      };
      const expected = (mail: 'pending' | undefined) => [
        ['auto_top_up.failed', undefined, mail],
        ['balance.adjusted', undefined, undefined],
        ['balance.exhausted', undefined, mail],
        ['balance.low', undefined, undefined],
        ['balance.share', '100', undefined],
        ['balance.share', '50', mail],
        ['cap.share', '50', mail],
        ['credit.added', undefined, undefined],
        ['key.new_model', undefined, mail],
        ['key.new_network', undefined, mail],
        ['key.pace', undefined, mail],
      ];
      assert.deepEqual(await mailOf('person@example.com'), expected('pending'));
      assert.deepEqual(await mailOf(null), expected(undefined));
    });

    it('are notices of a budget, if its member, its contact or the account has an address', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(100n * amount, {});
      const by = { by: TESTS };
      const memberWith = async (email?: string): Promise<string> => {
        const made = await store.createMember({ accountId, name: 'm', email }, by);
        return made.outcome === 'created' ? made.record.id : '';
      };
      const [ada, bob] = [await memberWith('ada@example.com'), await memberWith()];
      const group = await store.createGroup({ accountId, name: 'g' }, by);
      const groupId = group.outcome === 'created' ? group.record.id : '';
      const of = { accountId, amount: 2n * amount, period: 'month', shares: [50, 100] } as const;
      const terms = [
        { name: 'each', scope: 'member' },
        { name: 'ada', scope: 'member', subject: ada, contact: 'bob@example.com' },
        { name: 'bob', scope: 'member', subject: bob, contact: 'ada@example.com' },
        { name: 'key', scope: 'key' },
        { name: 'group', scope: 'group', subject: groupId, contact: 'chair@example.com' },
        { name: 'account', scope: 'account', contact: 'the chair' },
      ] as const;
      const names = new Map<unknown, string>();
      for (const one of terms) {
        const made = await store.createBudget({ ...of, ...one }, by);
        if (made.outcome === 'created') names.set(made.record.id, one.name);
      }
      const [keyId = ''] = keyIds;
      await store.updateKey(keyId, { memberId: ada }, TESTS);
      const spend = async (memberId: string) => {
        for (let n = 0; n < 2; n += 1) {
          const requestId = randomUUID();
          const spender = { memberId, groups: `/${groupId}/` };
          await settle(settlement(keyId, { requestId, spender }));
        }
      };
      await spend(ada);
      const mailOf = async () =>
        (await eventsOf(accountId))
          .filter(({ mail, type }) => mail !== undefined && type.startsWith('budget.'))
          .map(({ type, data }) => `${names.get(data['budget']) ?? ''} ${type}`)
          .sort();
      const both = (name: string) => [`${name} budget.reached`, `${name} budget.share`];
      const first = ['ada', 'each', 'group', 'key'].flatMap(both);
      assert.deepEqual(await mailOf(), first);
      await spend(bob);
      assert.deepEqual(await mailOf(), first);
      await store.updateAccount(accountId, { noticeEmail: 'person@example.com' }, TESTS);
      const other = await store.createBudget({ ...of, name: 'run', scope: 'run' }, by);
      if (other.outcome === 'created') names.set(other.record.id, 'run');
      const spender = { run: 'r' };
      for (let n = 0; n < 2; n += 1) {
        await settle(settlement(keyId, { requestId: randomUUID(), spender }));
      }
      assert.deepEqual(await mailOf(), [...first, ...both('run')]);
    });

    it('are taken by one caller for each channel, and neither channel waits for the other', async () => {
      const { store } = subject();
      const accountId = await accountWithAddress();
      await record(accountId, 'balance.exhausted', { n: '1' });
      await record(accountId, 'cap.share', { n: '2' });
      const takers = await Promise.all(Array.from({ length: 5 }, () => take('mail', accountId)));
      const [first, ...others] = takers.flat();
      assert.deepEqual([first?.data, first?.attempts, others], [{ n: '1' }, 0, []]);
      const seq = first?.seq ?? 0n;
      const retryAt = new Date(Date.now() - 1);
      await store.finishEvent('mail', seq, { outcome: 'failed', error: 'no answer', retryAt });
      const [webhook] = await take('webhook', accountId);
      assert.deepEqual([webhook?.seq, webhook?.attempts, webhook?.mail], [seq, 0, 'pending']);
      await store.finishEvent('webhook', seq, { outcome: 'delivered' });
      const [again] = await take('mail', accountId);
      assert.deepEqual([again?.seq, again?.attempts, again?.mailError], [seq, 1, 'no answer']);
      await store.finishEvent('mail', seq, { outcome: 'delivered' });
      const [second] = await take('mail', accountId);
      assert.deepEqual(second?.data, { n: '2' });
      const failure = { outcome: 'failed', error: 'refused', retryAt: undefined } as const;
      await store.finishEvent('mail', second.seq, failure);
      assert.deepEqual(
        (await eventsOf(accountId)).map((event) => [
          event.deliveredAt instanceof Date,
          event.attempts,
          event.mail,
          event.mailError,
        ]),
        [
          [true, 1, 'delivered', null],
          [false, 0, 'undelivered', 'refused'],
        ],
      );
    });

    it('are kept until the mail is sent or given up, also if the webhook is done', async () => {
      const { store, literal } = subject();
      const accountId = await accountWithAddress();
      await record(accountId, 'balance.exhausted');
      const [event] = await take('webhook', accountId);
      await store.finishEvent('webhook', event?.seq ?? 0n, { outcome: 'delivered' });
      const old = literal.time(new Date(Date.now() - 31 * DAY_MS));
      await subject().tamper(
        `UPDATE event SET created_at = ${old} WHERE id = '${event?.id ?? ''}'`,
      );
      const finishedBefore = new Date(Date.now() - 30 * DAY_MS);
      const prune = async (channels: readonly EventChannel[]) => {
        const giveUp = { before: finishedBefore, channels };
        while ((await store.pruneEvents({ finishedBefore, giveUp })) > 0);
        return (await eventsOf(accountId)).length;
      };
      assert.equal(await prune([]), 1);
      assert.equal(await prune(['mail']), 0);
    });

    it('have no address in them, and none is left of an erased account', async () => {
      const { store } = subject();
      const address = `${randomUUID()}@example.com`;
      const { accountId } = await newAccount(0n);
      await store.updateAccount(accountId, { noticeEmail: address }, TESTS);
      await record(accountId, 'balance.exhausted');
      assert.ok(!JSON.stringify(await eventsOf(accountId), bigints).includes(address));
      assert.ok((await textOfTrail(accountId)).includes(address));
      await closeAny(store, accountId);
      const erased = await store.eraseAccount(accountId, TESTS);
      assert.equal(erased?.noticeEmail, null);
      assert.ok(!(await textOfTrail(accountId)).includes(address));
    });

    it('refuses an address that is empty or longer than a text that is looked up', async () => {
      const { store } = subject();
      const accountId = await accountWithAddress();
      for (const noticeEmail of ['', 'x'.repeat(501)]) {
        await assert.rejects(store.updateAccount(accountId, { noticeEmail }), RangeError);
      }
    });
  });

  const bigints = (_: string, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value;
  async function textOfTrail(accountId: string): Promise<string> {
    return JSON.stringify(await subject().store.listTrail({ accountId, limit: 10 }), bigints);
  }
}
