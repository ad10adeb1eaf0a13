/** The part of the contract about documents, and about events that are recorded once. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { DocumentKind, DocumentWrite } from '../document.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

export function documentsContract({ runner, subject, newAccount, newKey, topUp }: ContractPart) {
  const { describe, it } = runner;

  /** No other test has documents of it. */
  const newKind = () => `kind-${randomUUID()}` as DocumentKind;
  const written = (accountId: string, write: Partial<DocumentWrite> = {}): DocumentWrite => ({
    kind: 'written_event',
    id: randomUUID(),
    accountId,
    version: 0,
    data: { text: 'a "text" \\ of Ünï', list: [1, null, true, { deep: 'x' }] },
    ...write,
  });

  describe('documents', () => {
    it('are read as they were written, and are changed only by a caller that names the version it read', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(0n);
      const write = written(accountId, { balanceBelow: -5n });
      const { kind, id, data } = write;
      assert.equal(await store.getDocument(kind, id), undefined);
      assert.deepEqual(await store.writeDocument(write), { outcome: 'written', version: 1 });
      const first = await store.getDocument(kind, id);
      assert.ok(first !== undefined);
      const { seq: _seq, createdAt, updatedAt, ...rest } = first;
      assert.deepEqual(rest, { kind, id, accountId, version: 1, data, balanceBelow: -5n });
      assert.deepEqual(createdAt, updatedAt);

      const conflict = { outcome: 'conflict' };
      assert.deepEqual(await store.writeDocument(write), conflict);
      assert.deepEqual(await store.writeDocument({ ...write, version: 2 }), conflict);
      const change = { ...write, version: 1, data: { text: 'changed' }, balanceBelow: null };
      assert.deepEqual(await store.writeDocument(change), { outcome: 'written', version: 2 });
      assert.deepEqual(await store.writeDocument(change), conflict);
      const second = await store.getDocument(kind, id);
      assert.deepEqual(
        [second?.version, second?.data, second?.balanceBelow, second?.seq, second?.createdAt],
        [2, { text: 'changed' }, null, first.seq, createdAt],
      );
      assert.equal(await store.getDocument('another kind', id), undefined);
    });

    it('change once when many writers have read the same version', async () => {
      const { store } = subject();
      const write = written('');
      for (const version of [0, 1, 2]) {
        const outcomes = await Promise.all(
          Array.from({ length: 10 }, (_, n) =>
            store.writeDocument({ ...write, version, data: { n } }),
          ),
        );
        const winners = outcomes.flatMap(({ outcome }, n) => (outcome === 'written' ? [n] : []));
        assert.equal(winners.length, 1);
        const { data } = (await store.getDocument(write.kind, write.id)) ?? {};
        assert.deepEqual(data, { n: winners[0] });
      }
    });

    it('are listed newest first, by kind and account, page by page', async () => {
      const { store } = subject();
      const [{ accountId }, other] = [await newAccount(0n), await newAccount(0n)];
      const kind = newKind();
      for (const id of ['a', 'c', 'b']) await store.writeDocument(written(accountId, { kind, id }));
      await store.writeDocument(written(other.accountId, { kind, id: 'd' }));
      const idsOf = async (filter: object) =>
        (await store.listDocuments({ kind, limit: 10, ...filter })).map(({ id }) => id);
      assert.deepEqual(await idsOf({}), ['d', 'b', 'c', 'a']);
      assert.deepEqual(await idsOf({ accountId }), ['b', 'c', 'a']);
      const [, last] = await store.listDocuments({ kind, accountId, limit: 2 });
      assert.deepEqual(await idsOf({ accountId, before: last?.seq }), ['a']);
      assert.deepEqual(await idsOf({ kind: 'no kind' }), []);
    });

    it('are due while the balance of their account is below their threshold', async () => {
      const { store } = subject();
      const kind = newKind();
      const keyId = await newKey(9n * USD);
      const accountId = (await store.getKey(keyId))?.accountId ?? '';
      const due = async () =>
        (await store.listDocuments({ kind, isDue: true, limit: 10 })).map(({ id }) => id);
      // As text, 10 is less than 9.
      await store.writeDocument(written(accountId, { kind, id: '10', balanceBelow: 10n * USD }));
      await store.writeDocument(written(accountId, { kind, id: '9', balanceBelow: 9n * USD }));
      await store.writeDocument(written(accountId, { kind, id: 'never' }));
      await store.writeDocument(written('acct_gone', { kind, id: 'gone', balanceBelow: USD }));
      assert.deepEqual(await due(), ['10']);
      await topUp(keyId, USD);
      assert.deepEqual(await due(), []);
      const by = TESTS;
      const adjustment = { adjustmentId: randomUUID(), accountId, reason: 'refund', by } as const;
      await store.adjust({ ...adjustment, amount: -11n * USD });
      assert.deepEqual(await due(), ['9', '10']);
    });

    it('record a change in the trail, but no write that conflicted', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(0n);
      const write = written(accountId, {
        trail: { action: 'sample.write', by: TESTS, details: { amount: USD } },
      });
      await store.writeDocument(write);
      await store.writeDocument(write);
      const actions = (await store.listTrail({ accountId, limit: 10 })).map(
        ({ action, details, actor }) => ({ action, details, actor }),
      );
      assert.deepEqual(
        actions.filter(({ action }) => action === 'sample.write'),
        [
          {
            action: 'sample.write',
            details: { amount: '1.00000000000000' },
            actor: TESTS.name,
          },
        ],
      );
    });

    it('refuse what a database could not store', async () => {
      const { store } = subject();
      for (const write of [
        { id: '' },
        { kind: '' as DocumentKind },
        { version: -1 },
        { version: 1.5 },
        { data: { text: 'x'.repeat(70_000) } },
        { data: { text: '\0' } },
        { data: { text: '\ud800' } },
        { data: { text: '\udc00' } },
        { balanceBelow: 10n ** 40n },
      ]) {
        await assert.rejects(store.writeDocument(written('', write)), RangeError);
      }
      const odd = written('', { data: { text: '\\u0000 and 🙂' } });
      assert.equal((await store.writeDocument(odd)).outcome, 'written');
      assert.deepEqual((await store.getDocument(odd.kind, odd.id))?.data, odd.data);
    });
  });

  describe('an event with an id of its caller', () => {
    it('is written once, however often it is recorded and by however many callers', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(0n);
      const event = {
        id: `evt_${randomUUID()}`,
        type: 'payment.succeeded',
        accountId,
        keyId: undefined,
        data: { payment: 'pi_1' },
      } as const;
      await Promise.all([1, 2, 3].map(() => store.recordEvent(event)));
      await store.recordEvent({ ...event, data: { payment: 'pi_2' } });
      const events = await store.listEvents({ accountId, limit: 10 });
      assert.deepEqual(
        events.map(({ id, data }) => [id, data]),
        [[event.id, { payment: 'pi_1' }]],
      );
    });
  });
}
