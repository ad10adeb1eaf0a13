/** The part of the contract about old events: which are deleted, and which are given up. */

import { DAY_MS } from '../ledger/base/hours.js';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { StoredEvent } from '../event.js';
import type { ContractPart } from './subject.js';

const LEASE_MS = 60_000;

export function eventPruningContract({ runner, subject }: ContractPart): void {
  const { describe, it } = runner;
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);

  const eventsOf = (accountId: string) => subject().store.listEvents({ accountId, limit: 10 });
  const namesOf = async (accountId: string) =>
    (await eventsOf(accountId)).map(({ data }) => data['name']);

  /** Writes an event that appears to be this many days old. */
  async function newEvent(accountId: string, name: string, days: number): Promise<StoredEvent> {
    const { store, literal } = subject();
    const keyId = undefined;
    await store.recordEvent({ type: 'credit.added', accountId, keyId, data: { name } });
    const event = (await eventsOf(accountId)).at(-1);
    if (event === undefined) throw new Error('the event was not written');
    const createdAt = literal.time(daysAgo(days));
    await subject().tamper(`UPDATE event SET created_at = ${createdAt} WHERE id = '${event.id}'`);
    return event;
  }

  describe('pruneEvents', () => {
    it('deletes old events that are no longer pending, and keeps new and pending ones', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const delivered = await newEvent(accountId, 'delivered, old', 31);
      const undelivered = await newEvent(accountId, 'given up, old', 31);
      await newEvent(accountId, 'pending, old', 31);
      const recent = await newEvent(accountId, 'delivered, new', 29);
      await store.finishEvent('webhook', delivered.seq, { outcome: 'delivered' });
      await store.finishEvent('webhook', recent.seq, { outcome: 'delivered' });
      await store.finishEvent('webhook', undelivered.seq, {
        outcome: 'failed',
        error: 'no answer',
        retryAt: undefined,
      });
      const summary = await store.summarize();
      assert.ok((summary.oldestPendingEventAt ?? new Date()) <= daysAgo(31));

      assert.equal(await store.pruneEvents({ finishedBefore: daysAgo(30) }), 2);
      assert.deepEqual(await namesOf(accountId), ['pending, old', 'delivered, new']);
      assert.equal(await store.pruneEvents({ finishedBefore: daysAgo(30) }), 0);
    });

    it('marks old events that were never tried as undelivered, which can still be listed', async () => {
      const { store } = subject();
      const accountId = `acct_${randomUUID()}`;
      const tried = await newEvent(accountId, 'tried', 2);
      await store.finishEvent('webhook', tried.seq, {
        outcome: 'failed',
        error: 'no answer',
        retryAt: new Date(Date.now() + LEASE_MS),
      });
      await newEvent(accountId, 'untried', 2);
      await newEvent(accountId, 'new', 0);
      await store.pruneEvents({
        finishedBefore: daysAgo(30),
        giveUp: { before: daysAgo(1), channels: ['webhook'] },
      });

      const found = await store.listEvents({ state: 'undelivered', accountId, limit: 10 });
      assert.deepEqual(
        found.map(({ data, attempts, lastError }) => [data['name'], attempts, lastError]),
        [['untried', 0, 'no receiver is configured']],
      );
      const pending = await store.listEvents({ state: 'pending', accountId, limit: 10 });
      assert.deepEqual(
        pending.map(({ data }) => data['name']),
        ['tried', 'new'],
      );
      const newest = { accountId, order: 'newest' } as const;
      const last = await store.listEvents({ ...newest, limit: 2 });
      assert.deepEqual(
        last.map(({ data }) => data['name']),
        ['new', 'untried'],
      );
      const before = await store.listEvents({ ...newest, after: last[1]!.seq, limit: 2 });
      assert.deepEqual(
        before.map(({ data }) => data['name']),
        ['tried'],
      );
    });
  });
}
