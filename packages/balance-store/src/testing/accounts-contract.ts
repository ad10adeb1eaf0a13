/** The part of the contract about accounts, and the keys that share their balances. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Actor, Creation } from '../account.js';
import { ExternalIdTakenError, SetByOperatorError } from '../errors.js';
import type { KeyChange, NewKey } from '../key.js';
import { OPERATOR_BOUNDS, operatorBoundsOf } from '../operator-bounds.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS, USD } from './subject.js';
import type { ContractPart } from './subject.js';

const KEY: NewKey = { name: 'first', limits: sampleLimits, expiresAt: null };

/** Names that a store might use itself to encode values. */
const INTERNAL_NAMES = {
  $bigint: 'a',
  $date: 'b',
  $bytes: 'c',
  $undefined: 'd',
  $members: 'e',
};

export function accountsContract(part: ContractPart): void {
  const { runner, subject, newAccount, newKey, accountOf, balanceOf, settle } = part;
  const { describe, it } = runner;
  const create = (creation: Omit<Creation, 'by'>) =>
    subject().store.create({ by: TESTS, ...creation });

  describe('accounts', () => {
    it('create makes an account, its first key and its first credit', async () => {
      const { store } = subject();
      const [ofAccount, ofKey] = [randomUUID(), randomUUID()];
      const created = await create({
        account: {
          name: 'Äcme "1" 🙂',
          externalId: ofAccount,
          metadata: { team: 'blue', 'a "b".c': '\\', ...INTERNAL_NAMES },
          lowBalance: -5n,
          prices: '0.9',
        },
        key: {
          ...KEY,
          externalId: ofKey,
          metadata: { user: 'Ada' },
          scope: 'manage',
          models: ['model-b', 'model-a'],
          caps: { day: 0n, month: 7n * USD },
        },
        credit: { amount: 3n * USD, source: 'paid' },
      });
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const { account, key, credential } = created;
      const { id, createdAt, ...others } = account;
      assert.match(id, /^acct_[0-9a-f]{28}$/);
      assert.ok(Math.abs(createdAt.getTime() - Date.now()) < 3_600_000);
      assert.deepEqual(others, {
        name: 'Äcme "1" 🙂',
        externalId: ofAccount,
        metadata: { team: 'blue', 'a "b".c': '\\', ...INTERNAL_NAMES },
        state: 'active',
        lowBalance: -5n,
        prices: '0.9',
        allowance: null,
        allowanceDueAt: null,
        noticeShares: [],
        noticeBase: 3n * USD,
        given: 0n,
        nextExpiryAt: null,
        emptiedBy: null,
        noticeEmail: null,
        membersSeeBalance: null,
        balance: 3n * USD,
        spent: 0n,
        credited: 3n * USD,
        adjusted: 0n,
        expired: 0n,
        writtenOff: 0n,
        uncovered: 0n,
        lastChargedAt: null,
      });
      assert.deepEqual(await store.getAccount(id), { ...account, usableKeys: 1 });
      assert.deepEqual(
        [key.accountId, key.externalId, key.metadata, key.scope, key.models, key.caps, key.balance],
        [
          id,
          ofKey,
          { user: 'Ada' },
          'manage',
          ['model-b', 'model-a'],
          { day: 0n, week: null, month: 7n * USD, total: null },
          3n * USD,
        ],
      );
      assert.deepEqual(await store.findKeyByCredential(credential ?? ''), {
        ...key,
        presented: 'current',
      });
      const { entries } = await store.listEntries({ accountId: id, limit: 10 });
      const [entry] = entries;
      assert.equal(entries.length, 1);
      assert.ok(entry?.kind === 'top_up' && entry.source === 'paid' && entry.actor === TESTS.name);
    });

    it('create makes an account without a key, and keys of an account that exists', async () => {
      const { store } = subject();
      const empty = await create({ account: { name: 'empty' } });
      assert.ok(empty.outcome === 'created');
      assert.deepEqual(
        [empty.key, empty.credential, (await store.getAccount(empty.account.id))?.usableKeys],
        [undefined, undefined, 0],
      );
      const added = await create({
        account: { id: empty.account.id },
        key: KEY,
        credit: { amount: 5n, source: 'promotional' },
      });
      assert.ok(added.outcome === 'created');
      assert.equal(added.key?.accountId, empty.account.id);
      const account = await store.getAccount(empty.account.id);
      assert.deepEqual([added.account.balance, account?.usableKeys], [5n, 1]);
      assert.deepEqual(await create({ account: { id: 'acct_none' }, key: KEY }), {
        outcome: 'unknown_account',
      });
      assert.equal(await store.getAccount('acct_none'), undefined);
      assert.equal(await store.updateAccount('acct_none', { name: 'x' }), undefined);
      assert.equal(await store.eraseAccount('acct_none', TESTS), undefined);
      assert.equal(await store.readUnspent('acct_none'), undefined);
    });

    // F194: one creation with an external id, sent several times at once: one is made, the others
    // are replays.
    it('create with one id creates once, even if it is called ten times at once', async () => {
      const { store } = subject();
      const creation: Omit<Creation, 'by'> = {
        creationId: randomUUID(),
        account: { name: 'once', externalId: randomUUID(), metadata: { a: '1', b: '2' } },
        key: { ...KEY, externalId: randomUUID() },
        credit: { amount: USD, source: 'paid', expiresAt: new Date('2200-01-01T00:00:00Z') },
      };
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => create(creation)));
      const [first, ...others] = outcomes.filter(({ outcome }) => outcome === 'created');
      assert.ok(first?.outcome === 'created');
      assert.equal(others.length, 0);
      const again = await create({
        ...creation,
        account: { ...creation.account, metadata: { b: '2', a: '1' } },
      });
      // The credential cannot be shown again.
      assert.deepEqual(again, {
        outcome: 'replayed',
        account: first.account,
        key: first.key,
      });
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'replayed').length, 9);
      assert.equal(await balanceOf(first.account.id), USD);
      assert.equal((await store.listKeys({ accountId: first.account.id, limit: 9 })).length, 1);
    });

    it('create with a used id and other contents is a conflict, and creates nothing', async () => {
      const { store } = subject();
      const creation: Omit<Creation, 'by'> = {
        creationId: randomUUID(),
        account: { name: 'conflict' },
        key: KEY,
        credit: { amount: 1n, source: 'paid' },
      };
      const first = await create(creation);
      assert.ok(first.outcome === 'created');
      const name = randomUUID();
      for (const other of [
        { ...creation, account: { name } },
        { ...creation, account: { id: first.account.id } },
        { ...creation, key: { ...KEY, name } },
        { ...creation, key: { ...KEY, caps: { day: 1n } } },
        { ...creation, key: { ...KEY, models: ['m'] } },
        { ...creation, key: undefined },
        { ...creation, credit: { amount: 2n, source: 'paid' as const } },
        { ...creation, credit: { amount: 1n, source: 'promotional' as const } },
        { ...creation, credit: undefined },
      ]) {
        assert.deepEqual(await create(other), { outcome: 'conflict' });
      }
      assert.deepEqual(await store.listAccounts({ name, limit: 5 }), []);
      assert.deepEqual(await store.listKeys({ name, limit: 5 }), []);
      assert.equal(await balanceOf(first.account.id), 1n);
    });

    // F145
    it('creations at once never exceed maxKeys, and the creation of the last key is repeated', async () => {
      const { store } = subject();
      const { accountId: id } = await newAccount(0n);
      const last = (creationId: string) =>
        create({ creationId, account: { id }, key: KEY, maxKeys: 3 });
      const first = await create({ account: { id }, key: KEY, maxKeys: 3 });
      assert.ok(first.outcome === 'created' && first.key !== undefined);
      await create({ account: { id }, key: KEY, maxKeys: 3 });
      const creationIds = Array.from({ length: 20 }, () => randomUUID());
      const outcomes = await Promise.all(creationIds.map(last));
      const created = creationIds.filter((_, i) => outcomes[i]?.outcome === 'created');
      assert.deepEqual(
        [created.length, outcomes.filter(({ outcome }) => outcome === 'too_many_keys').length],
        [1, 19],
      );
      assert.equal((await store.listKeys({ accountId: id, limit: 100 })).length, 3);
      assert.equal((await last(created[0] ?? '')).outcome, 'replayed');
      // What was refused was not stored either. A revoked key does not count.
      await store.revokeKey(first.key.id);
      const refused = creationIds.find((creationId) => creationId !== created[0]) ?? '';
      assert.equal((await last(refused)).outcome, 'created');
      assert.equal((await last(randomUUID())).outcome, 'too_many_keys');
      await assert.rejects(create({ account: { id }, key: KEY, maxKeys: 0 }), RangeError);
    });

    // F293
    it('a holder who asks for many bookings at once does not keep those of other accounts waiting', async () => {
      const { store } = subject();
      const ended: string[] = [];
      const holderOf = async (keyId: string) => {
        const by = { name: keyId, holderOf: await accountOf(keyId) };
        return { by, keyId };
      };
      const book = async ({ keyId, by }: { readonly keyId: string; readonly by: Actor }) => {
        await store.updateKey(keyId, { name: 'again' }, by);
        ended.push(by.name);
      };
      const busy = await holderOf(await newKey());
      const other = await holderOf(await newKey());
      const operator = { keyId: other.keyId, by: TESTS };
      // Opens two sessions: many bookings in an open one may end before a new one is open.
      await Promise.all([busy, other, operator].map(book));
      ended.length = 0;
      // On a slow machine, the last of more might wait too long for its turn.
      const many = Array.from({ length: 60 }, () => busy);
      await Promise.all([...many, other, operator].map(book));
      const last = Math.max(ended.indexOf(other.by.name), ended.indexOf(TESTS.name));
      assert.equal(ended.length, 62);
      assert.ok(last < 30, String(last));
    });

    // F150
    it('holders neither resume a key that an operator suspended nor exceed what an operator set', async () => {
      const { store } = subject();
      const { accountId: id } = await newAccount(0n);
      const holder = { name: 'key_holder', holderOf: id };
      const expiresAt = new Date('2100-01-01T00:00:00.000Z');
      const allowedNetworks = ['10.0.0.0/8', '2001:db8::/32'];
      const rights = { models: ['a', 'b'], allowedNetworks, expiresAt };
      const given = { ...KEY, caps: { day: 5n * USD }, ...rights };
      const created = await create({ account: { id }, key: given });
      assert.ok(created.outcome === 'created' && created.key !== undefined);
      const { id: keyId } = created.key;
      const change = (parts: KeyChange) => store.updateKey(keyId, parts, holder);
      const isBound = (field: string) => (error: unknown) =>
        error instanceof SetByOperatorError && error.field === field;
      await assert.rejects(change({ caps: { day: null } }), isBound('cap_day'));
      await assert.rejects(change({ caps: { day: 5n * USD + 1n } }), isBound('cap_day'));
      await assert.rejects(change({ models: null }), isBound('models'));
      for (const wider of [
        null,
        ['10.0.0.0/7'],
        ['10.0.0.0/8', '192.0.2.0/24'],
        ['2001:db9::/48'],
      ]) {
        await assert.rejects(change({ allowedNetworks: wider }), isBound('allowedNetworks'));
      }
      const narrower = ['10.1.0.0/16', '2001:db8:5::/48'];
      const narrowed = await change({ allowedNetworks: narrower });
      assert.deepEqual(narrowed?.allowedNetworks, narrower);
      await change({ allowedNetworks });
      await assert.rejects(change({ expiresAt: null }), isBound('expiresAt'));
      assert.deepEqual(await store.getKey(keyId), created.key);
      const lower = await change({ caps: { day: USD, week: USD }, models: ['b'] });
      assert.deepEqual([lower?.caps.day, lower?.caps.week, lower?.models], [USD, USD, ['b']]);
      const back = await change({ caps: { day: 5n * USD, week: null }, models: ['a', 'b'] });
      assert.deepEqual(back, created.key);
      await store.updateKey(keyId, { caps: { day: null, total: 0n }, limits: { burst: 1 } }, TESTS);
      assert.equal((await change({ caps: { day: 9n * USD } }))?.caps.day, 9n * USD);
      await assert.rejects(change({ caps: { total: 1n } }), isBound('cap_total'));
      await assert.rejects(change({ limits: { burst: 2 } }), isBound('burst'));

      await store.suspendKey(keyId, holder);
      assert.equal((await store.resumeKey(keyId, holder))?.state, 'active');
      await store.suspendKey(keyId, holder);
      // An operator suspends it too, although it is suspended.
      await store.suspendKey(keyId, TESTS);
      await assert.rejects(store.resumeKey(keyId, holder), isBound('state'));
      assert.equal((await store.getKey(keyId))?.state, 'suspended');
      assert.equal((await store.resumeKey(keyId, TESTS))?.state, 'active');
      await store.suspendKey(keyId, holder);
      assert.equal((await store.resumeKey(keyId, holder))?.state, 'active');
      const [bounds] = await store.listDocuments({
        kind: OPERATOR_BOUNDS,
        accountId: id,
        limit: 10,
      });
      assert.deepEqual(operatorBoundsOf(bounds?.data ?? {}), {
        isSuspended: false,
        caps: { total: 0n },
        limits: { burst: 1 },
        expiresAt,
        models: ['a', 'b'],
        allowedNetworks,
      });
    });

    it('an external id belongs to one account and one key, until it is removed', async () => {
      const { store } = subject();
      const [externalId, name] = [randomUUID(), randomUUID()];
      const first = await create({
        account: { name: 'a', externalId },
        key: { ...KEY, externalId },
      });
      assert.ok(first.outcome === 'created' && first.key !== undefined);
      assert.deepEqual(await create({ account: { name, externalId }, key: { ...KEY, name } }), {
        outcome: 'external_id_taken',
        of: 'account',
      });
      assert.deepEqual(await create({ account: { name }, key: { ...KEY, externalId } }), {
        outcome: 'external_id_taken',
        of: 'key',
      });
      assert.deepEqual(await store.listAccounts({ name, limit: 5 }), []);
      assert.deepEqual(await store.listKeys({ name, limit: 5 }), []);
      const other = await newAccount(0n, {});
      const [keyId = ''] = other.keyIds;
      await assert.rejects(
        store.updateAccount(other.accountId, { name, externalId }),
        ExternalIdTakenError,
      );
      await assert.rejects(store.updateKey(keyId, { name, externalId }), ExternalIdTakenError);
      assert.equal((await store.getAccount(other.accountId))?.name, 'test');
      assert.equal((await store.getKey(keyId))?.name, 'test');
      // A key may be given the id that it already has.
      assert.equal((await store.updateKey(first.key.id, { externalId }))?.externalId, externalId);
      await store.updateAccount(first.account.id, { externalId: null });
      await store.updateKey(first.key.id, { externalId: null });
      assert.equal((await store.updateKey(keyId, { externalId }))?.externalId, externalId);
      assert.deepEqual(
        (await store.updateAccount(other.accountId, { externalId }))?.externalId,
        externalId,
      );
    });

    it('only one of many simultaneous requests gets the same external id', async () => {
      const externalId = randomUUID();
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => create({ account: { name: 'race', externalId } })),
      );
      assert.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), [
        'created',
        ...Array<string>(7).fill('external_id_taken'),
      ]);
    });

    it('updateAccount changes only the given fields', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(USD);
      const before = await store.getAccount(accountId);
      assert.ok(before !== undefined);
      const metadata = { plan: 'large' };
      assert.deepEqual(await store.updateAccount(accountId, { metadata }), { ...before, metadata });
      assert.deepEqual(await store.updateAccount(accountId, { name: 'n', lowBalance: 7n }), {
        ...before,
        metadata,
        name: 'n',
        lowBalance: 7n,
      });
      assert.equal((await store.updateAccount(accountId, { lowBalance: null }))?.lowBalance, null);
      assert.deepEqual(await store.updateAccount(accountId, { metadata: {} }), {
        ...before,
        name: 'n',
      });
    });

    it('a key has the prices of its account, from the first look after they changed', async () => {
      const { store } = subject();
      const created = await create({ account: { name: 'n', prices: 'partners' }, key: KEY });
      assert.ok(created.outcome === 'created');
      const { account, credential = '', key } = created;
      const seen = async () => [
        (await store.findKeyByCredential(credential))?.prices,
        (await store.getKey(key?.id ?? ''))?.prices,
      ];
      assert.deepEqual([key?.prices, ...(await seen())], Array(3).fill('partners'));
      for (const prices of ['0.9', null]) {
        await store.updateAccount(account.id, { prices });
        assert.deepEqual(await seen(), [prices, prices]);
      }
    });

    it('updateKey sets scope, models, networks, caps, metadata and external id, and removes them again', async () => {
      const { store } = subject();
      const { keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      const before = await store.getKey(keyId);
      assert.ok(before !== undefined);
      const change = {
        scope: 'manage',
        models: ['only-this'],
        allowedNetworks: ['192.0.2.0/24', '2001:db8::/32'],
        caps: { week: 5n, total: 0n },
        metadata: { a: 'b' },
        externalId: randomUUID(),
      } as const satisfies KeyChange;
      const caps = { ...before.caps, week: 5n, total: 0n };
      const changed = { ...before, ...change, caps, used: { ...before.used, week: 0n } };
      assert.deepEqual(await store.updateKey(keyId, change), changed);
      assert.deepEqual(await store.getKey(keyId), changed);
      assert.deepEqual(await store.updateKey(keyId, { caps: { total: null, day: 9n } }), {
        ...changed,
        caps: { day: 9n, week: 5n, month: null, total: null },
        used: { day: 0n, week: 0n, month: null, total: 0n },
      });
      const undone = await store.updateKey(keyId, {
        scope: 'use',
        models: null,
        allowedNetworks: null,
        caps: { day: null, week: null },
        metadata: {},
        externalId: null,
      });
      assert.deepEqual(undone, before);
    });

    it('are found by part of a name, by external id and by metadata, page by page', async () => {
      const { store } = subject();
      const tag = randomUUID();
      const names = [`${tag} 100%_a\\`, `${tag} 100 Xa`, `${tag} Zoe`];
      const ids: string[] = [];
      for (const [index, name] of names.entries()) {
        const created = await create({
          account: {
            name,
            externalId: `${tag}:${String(index)}`,
            metadata: { tag, 'x.y': index === 0 ? '"q"' : 'z', index: String(index) },
          },
        });
        assert.ok(created.outcome === 'created');
        ids.unshift(created.account.id);
      }
      const find = async (filter: Partial<Parameters<typeof store.listAccounts>[0]>) =>
        (await store.listAccounts({ limit: 10, ...filter })).map(({ id }) => id);
      const [zoe, plain, odd] = ids;
      assert.deepEqual(await find({ name: tag.toUpperCase() }), ids);
      assert.deepEqual(await find({ name: `${tag} ZO` }), [zoe]);
      // No character is a wildcard.
      assert.deepEqual(await find({ name: `${tag} 100%_A\\` }), [odd]);
      assert.deepEqual(await find({ name: `${tag}_100` }), []);
      assert.deepEqual(await find({ externalId: `${tag}:1` }), [plain]);
      assert.deepEqual(await find({ metadata: { tag } }), ids);
      assert.deepEqual(await find({ metadata: { tag, 'x.y': '"q"' } }), [odd]);
      assert.deepEqual(await find({ metadata: { tag, 'x.y': 'z', index: '1' } }), [plain]);
      assert.deepEqual(await find({ metadata: { tag, index: '7' } }), []);
      assert.deepEqual(await find({ metadata: { tag, none: '' } }), []);
      assert.deepEqual(await find({ name: tag, limit: 2 }), ids.slice(0, 2));
      assert.deepEqual(await find({ name: tag, limit: 2, after: ids[1] ?? '' }), [odd]);
    });

    it('keys are found by account, part of a name or hint, external id and metadata', async () => {
      const { store } = subject();
      const tag = randomUUID();
      const { accountId, keyIds } = await newAccount(
        0n,
        { name: `${tag} 50%_`, externalId: tag, metadata: { tag, n: '1' } },
        { name: `${tag} 50 x`, metadata: { tag, n: '2' } },
      );
      await newAccount(0n, { name: `${tag} of another`, metadata: { tag } });
      const [first = '', second = ''] = keyIds;
      const find = async (filter: Partial<Parameters<typeof store.listKeys>[0]>) =>
        (await store.listKeys({ limit: 10, ...filter })).map(({ id }) => id);
      assert.equal((await find({ name: tag.toUpperCase() })).length, 3);
      assert.deepEqual(await find({ accountId, name: tag }), [second, first]);
      assert.deepEqual(await find({ accountId, name: tag, limit: 1 }), [second]);
      assert.deepEqual(await find({ accountId, after: second }), [first]);
      assert.deepEqual(await find({ name: `${tag} 50%_` }), [first]);
      assert.deepEqual(await find({ externalId: tag }), [first]);
      assert.deepEqual(await find({ metadata: { tag, n: '2' } }), [second]);
      assert.deepEqual(await find({ accountId: 'acct_none' }), []);
      const hint = (await store.getKey(first))?.hint ?? '';
      assert.deepEqual(await find({ accountId, name: hint.slice(-4) }), [first]);
    });

    it('the keys of an account share its balance: the charge that uses it up disables them, and a credit enables them', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(0n, {}, {}, {}, { name: 'suspended' });
      const [first = '', second = '', third = '', suspended = ''] = keyIds;
      await store.suspendKey(suspended);
      const standings = async () =>
        (await Promise.all(keyIds.map((id) => store.readStanding(id)))).map(
          ({ standing }) => standing,
        );
      const charge = settlement(first);
      const credited = await store.topUp({
        topUpId: randomUUID(),
        to: { keyId: third },
        amount: 2n * charge.amount,
        by: TESTS,
      });
      assert.deepEqual(credited, {
        outcome: 'credited',
        accountId,
        balance: 2n * charge.amount,
        activeKeys: 3,
      });
      assert.deepEqual(await standings(), ['active', 'active', 'active', 'suspended']);
      assert.deepEqual(await settle(charge), {
        outcome: 'settled',
        balance: charge.amount,
        isActive: true,
        writtenOff: 0n,
      });
      assert.deepEqual(await settle(settlement(second)), {
        outcome: 'settled',
        balance: 0n,
        isActive: false,
        writtenOff: 0n,
      });
      assert.deepEqual(await standings(), ['exhausted', 'exhausted', 'exhausted', 'suspended']);
      const keys = await store.listKeys({ accountId, limit: 10 });
      assert.deepEqual(
        keys.map(({ balance, spent }) => [balance, spent]).reverse(),
        [charge.amount, charge.amount, 0n, 0n].map((spent) => [0n, spent]),
      );
      const account = await store.getAccount(accountId);
      assert.deepEqual([account?.spent, account?.usableKeys], [2n * charge.amount, 3]);
      const again = await store.topUp({
        topUpId: randomUUID(),
        to: { accountId },
        amount: 1n,
        by: TESTS,
      });
      assert.ok(again.outcome === 'credited' && again.activeKeys === 3);
      assert.deepEqual(await standings(), ['active', 'active', 'active', 'suspended']);
      // Entries are numbered per account, across all of its keys.
      const { entries } = await store.listEntries({ accountId, limit: 10 });
      assert.deepEqual(
        entries.map((entry) => [entry.seq, entry.kind === 'charge' ? entry.keyId : undefined]),
        [
          [4n, undefined],
          [3n, second],
          [2n, first],
          [1n, undefined],
        ],
      );
      const ofSecond = await store.listEntries({ accountId, keyId: second, limit: 10 });
      assert.deepEqual(
        ofSecond.entries.map(({ seq }) => seq),
        [4n, 3n, 1n],
      );
    });

    it('a thousand charges by fifty keys of one account are numbered without gaps', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(
        USD,
        ...Array.from({ length: 50 }, () => ({})),
      );
      const charges = keyIds.flatMap((keyId) =>
        Array.from({ length: 20 }, () => settlement(keyId)),
      );
      const outcomes = await Promise.all(charges.map(settle));
      assert.ok(outcomes.every(({ outcome }) => outcome === 'settled'));
      const [{ amount } = settlement('')] = charges;
      const { entries } = await store.listEntries({ accountId, limit: 2_000 });
      assert.deepEqual(
        entries.map(({ seq, balanceAfter }) => [seq, balanceAfter]).reverse(),
        Array.from({ length: 1_001 }, (_, index) => [
          BigInt(index + 1),
          USD - BigInt(index) * amount,
        ]),
      );
      for (const key of await store.listKeys({ accountId, limit: 50 })) {
        assert.equal(key.spent, 20n * amount);
      }
    });

    // F193
    it('suspending an account stops all its keys, new ones too; resumed, each is what it was', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {}, {}, {});
      const [active = '', suspended = '', revoked = ''] = keyIds;
      await store.suspendKey(suspended);
      await store.revokeKey(revoked);
      const standings = async (ids: readonly string[]) =>
        Promise.all(
          ids.map(async (id) => [
            (await store.readStanding(id)).standing,
            (await store.getKey(id))?.standing,
            (await store.getKey(id))?.state,
          ]),
        );
      const before = await store.getAccount(accountId);
      assert.equal(before?.usableKeys, 1);
      const record = await store.setAccountState(accountId, 'suspended', TESTS);
      assert.deepEqual(record, { ...before, state: 'suspended', usableKeys: 0 });
      assert.deepEqual(await store.setAccountState(accountId, 'suspended', TESTS), record);
      const late = await create({ account: { id: accountId }, key: KEY });
      assert.ok(late.outcome === 'created' && late.key !== undefined);
      const { key } = late;
      assert.deepEqual(await standings([...keyIds, key.id]), [
        ['suspended', 'suspended', 'active'],
        ['suspended', 'suspended', 'suspended'],
        ['revoked', 'revoked', 'revoked'],
        ['suspended', 'suspended', 'active'],
      ]);
      assert.equal(key.isActive, false);
      const held = await store.placeHold({ requestId: randomUUID(), keyId: active, amount: 1n });
      assert.deepEqual(held, { outcome: 'inactive', standing: 'suspended' });
      const charge = settlement(active);
      const charged = await settle(charge);
      assert.ok(charged.outcome === 'settled' && !charged.isActive && charged.writtenOff === 0n);
      const topUp = { topUpId: randomUUID(), to: { accountId }, amount: charge.amount, by: TESTS };
      assert.deepEqual(await store.topUp(topUp), {
        outcome: 'credited',
        accountId,
        balance: USD,
        activeKeys: 0,
      });
      await store.resumeKey(suspended);
      assert.equal((await store.readStanding(suspended)).standing, 'suspended');
      assert.equal((await store.setAccountState(accountId, 'active', TESTS))?.usableKeys, 3);
      assert.deepEqual(await standings([...keyIds, key.id]), [
        ['active', 'active', 'active'],
        ['active', 'active', 'active'],
        ['revoked', 'revoked', 'revoked'],
        ['active', 'active', 'active'],
      ]);
      assert.equal(await store.setAccountState('acct_none', 'suspended', TESTS), undefined);
      const trail = await store.listTrail({ accountId, limit: 50 });
      assert.deepEqual(
        trail
          .filter(({ action }) => /^account\.(suspend|resume)$/.test(action))
          .map(({ action, details, actor }) => [action, details, actor]),
        [
          ['account.resume', { state: { before: 'suspended', after: 'active' } }, TESTS.name],
          ['account.suspend', { state: { before: 'active', after: 'suspended' } }, TESTS.name],
        ],
      );
    });

    it('the account of a revoked key keeps its money, and a credit reports that no key can use it', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      await store.revokeKey(keyIds[0] ?? '');
      assert.equal(await balanceOf(accountId), USD);
      assert.equal((await store.getAccount(accountId))?.usableKeys, 0);
      const credited = await store.topUp({
        topUpId: randomUUID(),
        to: { keyId: keyIds[0] ?? '' },
        amount: USD,
        by: TESTS,
      });
      assert.deepEqual(credited, {
        outcome: 'credited',
        accountId,
        balance: 2n * USD,
        activeKeys: 0,
      });
      const added = await create({ account: { id: accountId }, key: KEY });
      assert.ok(added.outcome === 'created' && added.key?.isActive);
    });

    it('invalid input is refused with a RangeError that names the field or the operation, and changes nothing', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      const state = async () => [
        await store.getAccount(accountId),
        await store.listKeys({ accountId, limit: 10 }),
        (await store.listTrail({ limit: 1 }))[0]?.seq,
        await store.listEvents({ accountId, limit: 10 }),
      ];
      const before = await state();
      const id = randomUUID();
      const many = Object.fromEntries(Array.from({ length: 51 }, (_, i) => [String(i), '']));
      const by = TESTS;
      const withKey = (key: Partial<NewKey>) => () =>
        create({ account: { id: accountId }, key: { ...KEY, ...key } });
      const invalid = new Date(NaN);
      const calls: readonly (readonly [RegExp, () => Promise<unknown>])[] = [
        [/metadata/, withKey({ metadata: many })],
        [/metadata/, withKey({ metadata: { a: 'é'.repeat(2_100) } })],
        [/metadata/, withKey({ metadata: { a: 1 } as never })],
        [/metadata/, withKey({ metadata: { a: 'x\0' } })],
        [/metadata/, withKey({ metadata: { a: '\ud800' } })],
        [/name/, withKey({ name: 'a\0b' })],
        [/externalId/, withKey({ externalId: '' })],
        [/externalId/, withKey({ externalId: 'x'.repeat(501) })],
        [/models/, withKey({ models: [] })],
        [/models/, withKey({ models: [''] })],
        [/expiresAt/, withKey({ expiresAt: invalid })],
        [/cap week/, withKey({ caps: { week: -1n } })],
        [/cap day/, withKey({ caps: { day: 10n ** 35n } })],
        [/burst/, withKey({ limits: { ...sampleLimits, burst: 0 } })],
        [/burst/, withKey({ limits: { ...sampleLimits, burst: 2 ** 31 } })],
        [/concurrency/, withKey({ limits: { ...sampleLimits, concurrency: 0.5 } })],
        [/requestsPerMinute/, withKey({ limits: { ...sampleLimits, requestsPerMinute: NaN } })],
        [/creationId/, () => create({ creationId: '', account: { name: 'x' } })],
        [
          /credit/,
          () => create({ account: { id: accountId }, credit: { amount: 0n, source: 'paid' } }),
        ],
        [/metadata/, () => store.updateAccount(accountId, { metadata: many })],
        [/lowBalance/, () => store.updateAccount(accountId, { lowBalance: 10n ** 40n })],
        [/name/, () => store.updateAccount(accountId, { name: '\udc00' })],
        [/cap month/, () => store.updateKey(keyId, { caps: { month: -1n } })],
        [/models/, () => store.updateKey(keyId, { models: [] })],
        [/allowedNetworks/, () => store.updateKey(keyId, { allowedNetworks: [] })],
        [/"10.0.0.0"/, () => store.updateKey(keyId, { allowedNetworks: ['10.0.0.0'] })],
        [/"::/, () => store.updateKey(keyId, { allowedNetworks: ['::/129'] })],
        [/expiresAt/, () => store.updateKey(keyId, { expiresAt: invalid })],
        [/graceMs/, () => store.rotateKey(keyId, { graceMs: -1, by })],
        [/graceMs/, () => store.rotateKey(keyId, { graceMs: Infinity, by })],
        [/top-up/, () => store.topUp({ topUpId: id, to: { accountId }, amount: -1n, by })],
        [/top-up/, () => store.topUp({ topUpId: id, to: { accountId }, amount: 10n ** 35n, by })],
        [/topUpId/, () => store.topUp({ topUpId: '', to: { accountId }, amount: 1n, by })],
        [/note/, () => store.topUp({ topUpId: id, to: { accountId }, amount: 1n, by, note: '\0' })],
        [
          /expiresAt/,
          () => store.topUp({ topUpId: id, to: { accountId }, amount: 1n, by, expiresAt: invalid }),
        ],
        [
          /adjustment/,
          () => store.adjust({ adjustmentId: id, accountId, amount: 0n, reason: 'refund', by }),
        ],
        [
          /adjustment/,
          () =>
            store.adjust({
              adjustmentId: id,
              accountId,
              amount: -(10n ** 35n),
              reason: 'refund',
              by,
            }),
        ],
        [
          /reference/,
          () =>
            store.adjust({
              adjustmentId: id,
              accountId,
              amount: 1n,
              reason: 'refund',
              by,
              reference: '\0',
            }),
        ],
        [
          /transfer/,
          () => store.transfer({ transferId: id, from: accountId, to: 'acct_b', amount: 0n, by }),
        ],
        [
          /two accounts/,
          () => store.transfer({ transferId: id, from: accountId, to: accountId, amount: 1n, by }),
        ],
        [/actor/, () => store.suspendKey(keyId, { name: '\0' })],
        [/time/, () => store.readBalanceAt(accountId, invalid)],
        [/from/, () => store.readUsage({ by: [], from: invalid, until: new Date(0) })],
        [/until/, () => store.readUsage({ by: [], from: new Date(0), until: new Date(1) })],
      ];
      for (const [named, call] of calls) {
        await assert.rejects(call, (error: Error) => {
          assert.ok(error instanceof RangeError, `${String(named)}: ${String(error)}`);
          assert.match(error.message, named);
          return true;
        });
      }
      assert.deepEqual(await state(), before);
    });
  });
}
