/** The part of the contract about members, groups and budgets. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { BudgetRecord, NewBudget } from '../budget.js';
import { UnknownMemberError } from '../errors.js';
import type { GroupRecord, MemberRecord, Spender, SpenderOutcome } from '../spender.js';
import { sampleLimits, settlement } from './samples.js';
import { TESTS, USD, closeAny } from './subject.js';
import type { ContractPart } from './subject.js';

export function budgetsContract(part: ContractPart): void {
  const { runner, subject, newAccount, settle, topUp } = part;
  const { describe, it } = runner;
  const { amount } = settlement('');
  const by = { by: TESTS };
  const created = <Record>(outcome: SpenderOutcome<Record>): Record => {
    assert.equal(outcome.outcome, 'created');
    return (outcome as { readonly record: Record }).record;
  };
  const newGroup = async (accountId: string, parentId?: string): Promise<GroupRecord> =>
    created(await subject().store.createGroup({ accountId, parentId, name: 'a group' }, by));
  const newMember = async (
    accountId: string,
    of: { readonly groupId?: string; readonly externalId?: string } = {},
  ): Promise<MemberRecord> =>
    created(await subject().store.createMember({ accountId, name: 'a member', ...of }, by));
  const newBudget = async (
    accountId: string,
    of: Omit<NewBudget, 'accountId' | 'name' | 'period'> & Partial<NewBudget>,
  ): Promise<BudgetRecord> =>
    created(
      await subject().store.createBudget(
        { accountId, name: 'a budget', period: 'month', ...of },
        by,
      ),
    );
  const usesOf = async (keyId: string, spender?: Spender) =>
    (await subject().store.readBudgets(keyId, spender)).map(
      ({ budget, subject: of, used, held }) => ({
        id: budget.id,
        of,
        used,
        held,
      }),
    );
  const usedOf = async (budget: BudgetRecord, keyId: string, spender?: Spender) =>
    (await usesOf(keyId, spender)).find(({ id }) => id === budget.id)?.used;
  const charge = async (keyId: string, spender?: Spender, requestId: string = randomUUID()) => {
    const outcome = await settle(settlement(keyId, { requestId, spender }));
    assert.equal(outcome.outcome, 'settled');
    return requestId;
  };
  const place = (keyId: string, units: bigint, spender?: Spender) =>
    subject().store.placeHold({ requestId: randomUUID(), keyId, amount: units, spender });
  const differences = async (accountId: string) =>
    (await subject().store.audit()).differences
      .filter((difference) => difference.accountId === accountId)
      .map(({ check, expected, found }) => ({ check, expected, found }));

  describe('members and groups', () => {
    it('are a tree whose paths say where a member is', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(USD, {});
      const top = await newGroup(accountId);
      const below = await newGroup(accountId, top.id);
      assert.equal(top.path, `/${top.id}/`);
      assert.equal(below.path, `/${top.id}/${below.id}/`);
      const member = await newMember(accountId, { groupId: below.id, externalId: 'anna' });
      assert.equal(member.groups, below.path);
      const all = { accountId, limit: 10 };
      assert.deepEqual(await store.listMembers({ ...all, groupId: top.id }), [member]);
      assert.deepEqual(await store.listMembers({ ...all, externalId: 'anna' }), [member]);
      assert.deepEqual(await store.listMembers({ ...all, externalId: 'berta' }), []);
      assert.deepEqual(await store.listMembers({ ...all, name: 'MEMB' }), [member]);
      assert.deepEqual(await store.listGroups(all), [top, below]);
      assert.deepEqual(await store.listGroups({ ...all, after: top.id, limit: 1 }), [below]);
      const moved = await store.updateMember(
        member.id,
        { groupId: top.id, email: 'a@x.org' },
        TESTS,
      );
      assert.ok(typeof moved === 'object');
      assert.equal(moved.groups, top.path);
      assert.deepEqual(await store.listMembers({ ...all, email: 'A@X.org' }), [moved]);
      assert.deepEqual(await store.getMember(member.id), moved);
      assert.equal(
        await store.updateMember(member.id, { groupId: 'grp_none' }, TESTS),
        'unknown_group',
      );
      assert.equal(await store.updateMember('mem_none', { name: 'x' }, TESTS), undefined);
    });

    it('have ids of the operator that are unique in their account, and no others', async () => {
      const { store } = subject();
      const [{ accountId }, other] = [await newAccount(USD, {}), await newAccount(USD, {})];
      const member = { accountId, name: 'a member', externalId: 'same' };
      const options = { ...by, creationId: randomUUID() };
      const first = await store.createMember(member, options);
      assert.deepEqual(await store.createMember(member, options), {
        ...first,
        outcome: 'replayed',
      });
      assert.equal(
        (await store.createMember({ ...member, name: 'b' }, options)).outcome,
        'conflict',
      );
      assert.equal((await store.createMember(member, by)).outcome, 'external_id_taken');
      await newMember(other.accountId, { externalId: 'same' });
      const foreign = await newGroup(other.accountId);
      const refused = [
        await store.createMember({ accountId, name: 'c', groupId: foreign.id }, by),
        await store.createGroup({ accountId, name: 'c', parentId: foreign.id }, by),
        await store.createMember({ accountId: 'acct_none', name: 'c' }, by),
      ];
      assert.deepEqual(
        refused.map(({ outcome }) => outcome),
        ['unknown_group', 'unknown_group', 'unknown_account'],
      );
    });

    it('that are created together each have their own outcome and entry of the trail', async () => {
      const { store } = subject();
      const { accountId } = await newAccount(USD, {});
      const group = await newGroup(accountId);
      await newMember(accountId, { externalId: 'known' });
      const create = (of: { externalId?: string; groupId?: string }, creationId?: string) =>
        store.createMember({ accountId, name: 'a member', ...of }, { ...by, creationId });
      const [once, again] = [randomUUID(), randomUUID()];
      const outcomes = await Promise.all([
        create({ externalId: 'a', groupId: group.id }),
        create({ externalId: 'a' }),
        create({ externalId: 'known' }),
        create({ groupId: 'grp_none' }),
        create({ externalId: 'b' }, once),
        create({ externalId: 'b' }, once),
        create({ externalId: 'c' }, once),
        create({}, again),
        ...Array.from({ length: 300 }, (_, n) => create({ externalId: `m ${String(n)}` })),
      ]);
      assert.deepEqual(
        outcomes.slice(0, 8).map(({ outcome }) => outcome),
        [
          'created',
          'external_id_taken',
          'external_id_taken',
          'unknown_group',
          'created',
          'replayed',
          'conflict',
          'created',
        ],
      );
      assert.deepEqual(await create({}, again), { ...outcomes[7], outcome: 'replayed' });
      const made = outcomes.flatMap((one) => (one.outcome === 'created' ? [one.record] : []));
      assert.equal(made[0]?.groups, group.path);
      const listed = await store.listMembers({ accountId, limit: 1_000 });
      assert.equal(listed.length, 304);
      const wanted = new Set(made.map(({ id }) => id));
      assert.deepEqual(
        listed.filter(({ id }) => wanted.has(id)),
        made.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      );
      const trail = await store.listTrail({ accountId, limit: 1_000 });
      const ofCreations = trail.filter(({ action }) => action === 'member.create');
      assert.deepEqual(
        ofCreations.map(({ details }) => details['of']).toSorted(),
        listed.map(({ id }) => id).toSorted(),
      );
      assert.equal(new Set(trail.map(({ seq }) => seq)).size, trail.length);
      assert.deepEqual(await differences(accountId), []);
    });

    it('keys that are created together, and links to them, each have their own outcome', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const key = { name: 'k', limits: sampleLimits, expiresAt: null };
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          store.create({
            account: { id: accountId },
            key: n === 3 ? { ...key, memberId: 'mem_none' } : key,
            maxKeys: 50,
            ...by,
          }),
        ),
      );
      assert.equal(outcomes[3]?.outcome, 'unknown_member');
      const made = outcomes.flatMap((one) => (one.outcome === 'created' ? [one] : []));
      // With the one that it had.
      assert.equal(made.length, 49);
      assert.equal(outcomes.filter(({ outcome }) => outcome === 'too_many_keys').length, 10);
      assert.equal(new Set(made.map(({ credential }) => credential)).size, 49);
      for (const { key: record, credential = '' } of made) {
        assert.equal((await store.findKeyByCredential(credential))?.id, record?.id);
      }
      const ids = [...keyIds, ...made.map(({ key: record }) => record?.id ?? '')];
      const link = { expiresAt: new Date('2200-01-01T00:00:00.000Z'), isOnce: true, by: TESTS };
      const links = await Promise.all(['key_none', ...ids].map((id) => store.recordLink(id, link)));
      assert.deepEqual(
        links.map((record) => record?.id),
        [undefined, ...ids],
      );
      const trail = await store.listTrail({ accountId, limit: 1_000 });
      for (const action of ['key.create', 'key.link']) {
        assert.deepEqual(
          trail.flatMap((entry) => (entry.action === action ? [entry.keyId] : [])).toSorted(),
          ids.toSorted(),
        );
      }
      assert.deepEqual(await differences(accountId), []);
    });

    it('own keys, which end with them', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      const group = await newGroup(accountId);
      const member = await newMember(accountId, { groupId: group.id });
      const key = await store.updateKey(keyId, { memberId: member.id }, TESTS);
      assert.deepEqual([key?.memberId, key?.groups], [member.id, group.path]);
      assert.deepEqual(
        (await store.listKeys({ memberId: member.id, limit: 5 })).map(({ id }) => id),
        [keyId],
      );
      const stranger = await newMember((await newAccount(USD, {})).accountId);
      await assert.rejects(
        store.updateKey(other, { memberId: stranger.id }, TESTS),
        UnknownMemberError,
      );
      const ended = await store.endMember(member.id, TESTS);
      assert.equal(ended?.state, 'ended');
      assert.deepEqual(await store.endMember(member.id, TESTS), ended);
      assert.equal((await store.getKey(keyId))?.state, 'revoked');
      assert.equal((await store.getKey(other))?.state, 'active');
      await assert.rejects(
        store.updateKey(other, { memberId: member.id }, TESTS),
        UnknownMemberError,
      );
      assert.deepEqual(await differences(accountId), []);
    });
  });

  describe('charges that name their spender', () => {
    it('show the member, the groups, the tag and the run, also after the member has moved', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      const [a, b] = [await newGroup(accountId), await newGroup(accountId)];
      const member = await newMember(accountId, { groupId: a.id });
      const spender = { memberId: member.id, groups: a.path, tag: 'Straße 1', run: 'ses"sion\\' };
      const id = await charge(keyId, spender);
      const plain = await charge(keyId);
      await store.updateMember(member.id, { groupId: b.id }, TESTS);
      const entries = await store.findEntries([id, plain]);
      const spenders = new Map(
        entries.map((entry) => [entry.id, entry.kind === 'charge' ? entry.spender : 'none']),
      );
      assert.deepEqual(spenders.get(id), spender);
      assert.equal(spenders.get(plain), undefined);
      // The same request with another member is another charge; with another tag it is the same.
      const again = (of: Spender) => settle(settlement(keyId, { requestId: id, spender: of }));
      assert.equal((await again({ ...spender, tag: 'other' })).outcome, 'replayed');
      assert.equal((await again({ ...spender, memberId: 'mem_x' })).outcome, 'conflict');
      assert.deepEqual(await differences(accountId), []);
    });

    it('keep the member, but neither tag nor run, when their account is erased', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      const member = await newMember(accountId, { externalId: 'e' });
      const id = await charge(keyId, { memberId: member.id, tag: 'a person', run: 'r' });
      await newBudget(accountId, { scope: 'account', amount: USD, contact: 'Prof. X' });
      await closeAny(store, accountId);
      await store.eraseAccount(accountId, TESTS);
      const [entry] = await store.findEntries([id]);
      assert.deepEqual(entry?.kind === 'charge' && entry.spender, { memberId: member.id });
      const erased = await store.getMember(member.id);
      assert.deepEqual([erased?.name, erased?.externalId], ['(erased)', null]);
      const [budget] = await store.listBudgets({ accountId, limit: 5 });
      assert.equal(budget?.contact, null);
      assert.deepEqual(await differences(accountId), []);
    });

    it('with texts that cannot be stored are set aside', async () => {
      const { keyIds } = await newAccount(USD, {});
      const outcome = await settle(settlement(keyIds[0] ?? '', { spender: { tag: 'a\nb' } }));
      assert.equal(outcome.outcome, 'quarantined');
      assert.match('reason' in outcome ? outcome.reason : '', /^spender\.tag/);
    });
  });

  describe('budgets', () => {
    it('count what their scope spends, and nothing else', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {}, {});
      const [keyId = '', otherKey = ''] = keyIds;
      const top = await newGroup(accountId);
      const below = await newGroup(accountId, top.id);
      const [anna, berta] = [
        await newMember(accountId, { groupId: below.id }),
        await newMember(accountId, { groupId: top.id }),
      ];
      const ofAnna = { memberId: anna.id, groups: below.path, tag: 't1', run: 'r1' };
      const ofBerta = { memberId: berta.id, groups: top.path, tag: 't2' };
      const of = (scope: NewBudget['scope'], terms: Partial<NewBudget> = {}) =>
        newBudget(accountId, { scope, amount: USD, ...terms });
      const budgets = {
        account: await of('account'),
        top: await of('group', { subject: top.id }),
        below: await of('group', { subject: below.id }),
        anna: await of('member', { subject: anna.id }),
        each: await of('member'),
        eachBelow: await of('member', { withinGroup: below.id }),
        key: await of('key', { subject: keyId }),
        eachKey: await of('key'),
        tag: await of('tag', { subject: 't1' }),
        eachRun: await of('run'),
      };
      await charge(keyId, ofAnna);
      await charge(keyId, ofAnna);
      await charge(otherKey, ofBerta);
      await charge(otherKey);
      const counts = async (key: string, spender: Spender) =>
        Object.fromEntries(
          await Promise.all(
            Object.entries(budgets).map(async ([name, budget]) => {
              const used = await usedOf(budget, key, spender);
              return [name, used === undefined ? undefined : Number(used / amount)] as const;
            }),
          ),
        );
      assert.deepEqual(await counts(keyId, ofAnna), {
        account: 4,
        top: 3,
        below: 2,
        anna: 2,
        each: 2,
        eachBelow: 2,
        key: 2,
        eachKey: 2,
        tag: 2,
        eachRun: 2,
      });
      assert.deepEqual(await counts(otherKey, ofBerta), {
        account: 4,
        top: 3,
        below: undefined,
        anna: undefined,
        each: 1,
        eachBelow: undefined,
        key: undefined,
        eachKey: 2,
        tag: undefined,
        eachRun: undefined,
      });
      const uses = await subject().store.listBudgetUses(budgets.each.id, 10);
      assert.deepEqual(
        uses.map(({ subject: who, used }) => [who, used]),
        [
          [anna.id, 2n * amount],
          [berta.id, amount],
        ],
      );
      assert.deepEqual(await differences(accountId), []);
    });

    it('count the charges of their first period that were made before', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      await charge(keyId, { tag: 'early' });
      await charge(keyId);
      const all = await newBudget(accountId, { scope: 'account', amount: USD });
      const tag = await newBudget(accountId, { scope: 'tag', amount: USD });
      const from = new Date(Date.now() + 3_600_000);
      const once = { scope: 'account', period: 'once', amount: USD } as const;
      const now = await newBudget(accountId, once);
      const later = await newBudget(accountId, { ...once, from });
      const ids = (await usesOf(keyId, { tag: 'early' })).map(({ id }) => id);
      assert.ok(!ids.includes(later.id), 'it has not begun');
      assert.equal(await usedOf(all, keyId), 2n * amount);
      assert.equal(await usedOf(tag, keyId, { tag: 'early' }), amount);
      assert.equal(await usedOf(now, keyId), 0n);
      await charge(keyId);
      assert.equal(await usedOf(all, keyId), 3n * amount);
      assert.equal(await usedOf(now, keyId), amount);
      assert.deepEqual(await differences(accountId), []);
    });

    it('are raised for a while, changed, and ended', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const budget = await newBudget(accountId, { scope: 'tag', amount: 2n * amount });
      const until = new Date(Date.now() + 3_600_000);
      const raised = await store.raiseBudget(
        { budgetId: budget.id, amount, subject: 'x', until },
        by,
      );
      assert.equal(raised.outcome, 'created');
      const amountOf = async (tag: string) => (await store.readBudgets(keyId, { tag }))[0]?.amount;
      assert.deepEqual([await amountOf('x'), await amountOf('y')], [3n * amount, 2n * amount]);
      assert.equal((await store.listRaises(budget.id)).length, 1);
      await store.updateBudget(budget.id, { amount: 5n * amount, shares: [50] }, TESTS);
      assert.equal(await amountOf('x'), 6n * amount);
      await charge(keyId, { tag: 'y' });
      assert.equal((await store.endBudget(budget.id, TESTS))?.isEnded, true);
      await charge(keyId, { tag: 'y' });
      assert.deepEqual(await store.readBudgets(keyId, { tag: 'y' }), []);
      const standing = await store.readStanding(keyId);
      assert.equal(standing.standing === 'active' && standing.isBudgeted, undefined);
      const again = await store.raiseBudget({ budgetId: budget.id, amount, until }, by);
      assert.equal(again.outcome, 'budget_ended');
      const [use] = await store.listBudgetUses(budget.id, 5);
      assert.equal(use?.used, amount);
      assert.deepEqual(await differences(accountId), []);
    });

    it('know whether an operator or a holder of a key created them', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const terms = { accountId, name: 'b', scope: 'account', period: 'day', amount: USD } as const;
      const holder = { by: { name: keyIds[0] ?? '', holderOf: accountId } };
      const budgets = [
        created(await store.createBudget(terms, by)),
        created(await store.createBudget(terms, holder)),
      ];
      const known = budgets.map(({ createdBy }) => createdBy);
      assert.deepEqual(known, ['operator', 'holder']);
      // A change does not make it another's.
      for (const { id } of budgets) await store.updateBudget(id, { amount: 2n * USD }, TESTS);
      const listed = await store.listBudgets({ accountId, limit: 9 });
      assert.deepEqual(
        listed.map(({ createdBy }) => createdBy),
        known,
      );
    });

    it('list what some of their subjects used', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const members = [await newMember(accountId), await newMember(accountId)];
      const budget = await newBudget(accountId, { scope: 'member', amount: 100n * USD });
      const ids = members.map(({ id }) => id);
      for (const memberId of ids) await charge(keyIds[0] ?? '', { memberId });
      const usesOf = async (...subjects: readonly string[]) =>
        (await store.listBudgetUses(budget.id, 9, subjects)).map((use) => use.subject);
      assert.deepEqual(await usesOf(ids[1] ?? '', 'mem_nobody'), [ids[1]]);
      assert.deepEqual(await usesOf(), []);
      assert.deepEqual((await usesOf(...ids)).sort(), [...ids].sort());
    });

    it('hold at every level or at none', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {}, {});
      const [keyId = '', other = ''] = keyIds;
      const top = await newGroup(accountId);
      const below = await newGroup(accountId, top.id);
      const anna = { memberId: (await newMember(accountId, { groupId: below.id })).id };
      const spender = { ...anna, groups: below.path };
      await newBudget(accountId, { scope: 'account', amount: 100n });
      const course = await newBudget(accountId, { scope: 'group', subject: top.id, amount: 50n });
      const each = await newBudget(accountId, { scope: 'member', amount: 20n });
      const lacking = async (units: bigint, key = keyId, who: Spender = spender) => {
        const outcome = await place(key, units, who);
        return outcome.outcome === 'over_budget' ? outcome.use.budget.id : outcome.outcome;
      };
      assert.equal(await lacking(21n), each.id);
      assert.equal(await lacking(15n), 'held');
      assert.equal(await lacking(6n), each.id);
      const berta = { memberId: (await newMember(accountId, { groupId: top.id })).id };
      assert.equal(await lacking(20n, other, { ...berta, groups: top.path }), 'held');
      const carla = { memberId: (await newMember(accountId)).id, groups: below.path };
      assert.equal(await lacking(16n, keyId, carla), course.id);
      assert.equal(await lacking(15n, keyId, carla), 'held');
      assert.deepEqual(
        (await usesOf(keyId, spender)).map(({ held }) => held),
        [50n, 15n, 50n],
      );
      // Forty at once: what fits is held, never more.
      const rest = await Promise.all(Array.from({ length: 40 }, () => place(other, 3n)));
      assert.equal(rest.filter(({ outcome }) => outcome === 'held').length, 16);
      assert.equal(rest.filter(({ outcome }) => outcome === 'over_budget').length, 24);
    });

    it('that only notify refuse nothing, and an empty one refuses even nothing', async () => {
      const { accountId, keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      await newBudget(accountId, { scope: 'account', amount: 0n, action: 'notify' });
      assert.equal((await place(keyId, 5n)).outcome, 'held');
      await newBudget(accountId, { scope: 'key', amount: 0n });
      assert.equal((await place(keyId, 0n)).outcome, 'over_budget');
      assert.equal((await subject().store.readStanding(keyId)).standing, 'active');
    });

    it('write an event for each share, and when they are reached', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const [keyId = ''] = keyIds;
      const budget = await newBudget(accountId, {
        scope: 'run',
        amount: 4n * amount,
        shares: [25, 50],
      });
      for (let n = 0; n < 5; n += 1) await charge(keyId, { run: 'r' });
      await charge(keyId, { run: 's' });
      const events = await store.listEvents({ accountId, limit: 100 });
      const seen = events
        .filter(({ type }) => type.startsWith('budget.'))
        .map(({ type, keyId: of, data }) => [type, of, data['share'] ?? null, data['subject']]);
      assert.deepEqual(seen, [
        ['budget.share', keyId, '25', 'r'],
        ['budget.share', keyId, '50', 'r'],
        ['budget.reached', keyId, null, 'r'],
        ['budget.share', keyId, '25', 's'],
      ]);
      const reached = events.find(({ type }) => type === 'budget.reached');
      assert.equal(reached?.data['budget'], budget.id);
      assert.equal(reached.data['used'], reached.data['amount']);
    });

    it('that make no sense are refused by the name of what is wrong', async () => {
      const { store } = subject();
      const { accountId, keyIds } = await newAccount(USD, {});
      const good = { accountId, name: 'b', scope: 'key', period: 'day', amount: 1n } as const;
      const wrong: readonly (readonly [Partial<NewBudget>, RegExp])[] = [
        [{ amount: -1n }, /^amount/],
        [{ zone: 'Mars/Olympus' }, /^zone/],
        [{ zone: '+01:00' }, /^zone/],
        [{ scope: 'account', subject: 'x' }, /^subject/],
        [{ scope: 'group' }, /^subject/],
        [{ shares: [50, 50] }, /^shares/],
        [{ from: new Date() }, /^from/],
        [{ period: 'once', from: new Date(2), until: new Date(1) }, /^until/],
        [{ subject: keyIds[0] ?? '', withinGroup: 'grp' }, /^withinGroup/],
        [{ name: '' }, /^name/],
      ];
      for (const [part_, message] of wrong) {
        await assert.rejects(store.createBudget({ ...good, ...part_ }, by), { message });
      }
      const unknown = [
        await store.createBudget({ ...good, subject: 'key_none' }, by),
        await store.createBudget({ ...good, scope: 'member', withinGroup: 'grp_none' }, by),
        await store.createBudget({ ...good, accountId: 'acct_none' }, by),
      ];
      assert.deepEqual(
        unknown.map(({ outcome }) => outcome),
        ['unknown_subject', 'unknown_group', 'unknown_account'],
      );
    });

    // F522: what a budget allows or has used, who is in which group, or to whom a charge is
    // attributed is changed with plain SQL: the audit names it.
    it('are audited: each changed column is found', async () => {
      const { accountId, keyIds } = await newAccount(10n * USD, {});
      const [keyId = ''] = keyIds;
      const group = await newGroup(accountId);
      const member = await newMember(accountId, { groupId: group.id });
      await newBudget(accountId, { scope: 'member', amount: USD });
      const spender = { memberId: member.id, groups: group.path, tag: 't' };
      await charge(keyId, spender);
      await topUp(keyId, USD);
      const changes: readonly (readonly [found: RegExp, change: string, back: string])[] = [
        [
          /^rights .* amount: /,
          `budget SET amount = '2.00000000000000'`,
          `budget SET amount = '${usd(USD)}'`,
        ],
        [/^rights .* action: /, `budget SET action = 'notify'`, `budget SET action = 'refuse'`],
        [
          /^rights .* group id: /,
          'member SET group_id = NULL',
          `member SET group_id = '${group.id}'`,
        ],
        [
          /^rights .* path: /,
          `spend_group SET path = '/x/'`,
          `spend_group SET path = '${group.path}'`,
        ],
        [
          /^budget .* used /,
          `budget_use SET used = '0.50000000000000'`,
          `budget_use SET used = '${usd(amount)}'`,
        ],
        [/^budget budgets/, 'account SET budgeted = FALSE', 'account SET budgeted = TRUE'],
        [/^spender the member/, `spender SET tag = 'u'`, `spender SET tag = 't'`],
        [/^spender_usage /, 'spender_hour SET requests = 7', 'spender_hour SET requests = 1'],
      ];
      const update = (change: string) =>
        `UPDATE ${change} WHERE ${change.startsWith('account ') ? 'id' : 'account_id'} = '${accountId}'`;
      await subject().tamper(changes.map(([, change]) => update(change)).join('; '));
      const found = (await differences(accountId)).map(
        ({ check, expected }) => `${check} ${expected}`,
      );
      assert.equal(found.length, changes.length, JSON.stringify(found));
      for (const [pattern, change] of changes) {
        assert.ok(
          found.some((text) => pattern.test(text)),
          `${change}: ${JSON.stringify(found)}`,
        );
      }
      await subject().tamper(changes.map(([, , back]) => update(back)).join('; '));
      assert.deepEqual(await differences(accountId), []);
    });
  });
}

/** An amount as its column has it. */
function usd(units: bigint): string {
  const text = units.toString().padStart(15, '0');
  return `${text.slice(0, -14)}.${text.slice(-14)}`;
}
