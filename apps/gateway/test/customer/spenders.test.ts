/** A holder manages members, groups and budgets of his account, and no other. On both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_GROUPS } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { budgetOperations } from '../../src/endpoints/spenders/budgets.js';
import { memberOperations } from '../../src/endpoints/spenders/members.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';

const FAR = '2099-01-01T00:00:00Z';
const EACH_DAY = { name: 'each', scope: 'member', amount_usd: '5', period: 'day' } as const;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    // Limits are per address, and each request has a new one.
    const env = { ...(await ledgerEnv(ledger, postgres)), TRUST_PROXY: '1' };
    gateway = await startTestGateway({ env });
  });
  afterAll(() => gateway.stop());

  let addresses = 0;
  async function ask(apiKey: string, path: string, init: Asked = {}) {
    addresses += 1;
    const { body, method = body === undefined ? 'GET' : 'POST', headers } = init;
    const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': 'application/json',
        'x-forwarded-for': `10.1.${String(addresses >> 8)}.${String(addresses & 255)}`,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }

  /** An account with a key that may manage it. */
  async function newAccount() {
    const { call } = gateway;
    const { id: account_id } = await call('createAccount', { name: 'lab', balance_usd: '100' });
    const lead = await call('createKey', { account_id, name: 'lead', scope: 'manage' });
    const apiKey = lead.api_key ?? '';
    const asking = (path: string, init?: Asked) => ask(apiKey, path, init);
    /** Creates or changes, and expects that it works. */
    const done = async (path: string, body: object, method?: 'PATCH') => {
      const answer = await asking(path, { body, ...(method === undefined ? {} : { method }) });
      expect([path, body, answer.status, answer.json.error]).toEqual([path, body, 200, undefined]);
      return answer.json;
    };
    return { account_id, apiKey, keyId: lead.id, ask: asking, done };
  }
  async function charge(keyId: string, usd: string) {
    const inputTokens = Math.round((Number(usd) / 3) * 1e6);
    const { memberId, groups } = (await gateway.running.store.getKey(keyId))!;
    const spender = memberId === null ? undefined : { memberId, groups };
    const charged = { ...settlement(keyId, { usage: { inputTokens } }), spender };
    await gateway.running.store.settle(charged, { deadlineMs: 20_000 });
  }
  const setByOperator = (message: RegExp) => ({
    status: 403,
    json: { error: { code: 'set_by_operator', message: expect.stringMatching(message) } },
  });

  it('groups, members, their keys and budgets are made, listed, changed and ended', async () => {
    const lab = await newAccount();
    const top = await lab.done('groups', { name: 'Chair' });
    const course = await lab.done('groups', { name: 'Databases', parent_id: top.id });
    expect(course).toMatchObject({
      account_id: lab.account_id,
      parent_id: top.id,
      groups: [top.id, course.id],
    });
    await lab.done(`groups/${course.id}`, { name: 'Databases 2' }, 'PATCH');
    const ada = await lab.done('members', { name: 'Ada', group_id: course.id, external_id: '7' });
    await lab.done('members', { name: 'Ben' });
    const each = await lab.done('budgets', { ...EACH_DAY, within_group: top.id });
    expect(each).toMatchObject({ created_by: 'holder', amount_usd: '5', is_ended: false });
    const term = { name: 'term', scope: 'group', subject: top.id, period: 'once', until: FAR };
    await lab.done('budgets', { ...term, amount_usd: '40' });

    const made = await lab.done('keys', { name: 'laptop', member_id: ada.id });
    await charge(made.id, '3');
    const inForce = { subject: ada.id, period: 'day', until: null, action: 'refuse', name: 'each' };
    const own = {
      budget_id: each.id,
      ...inForce,
      amount_usd: '5',
      used_usd: '3',
      created_by: 'holder',
    };
    const listed = (await lab.ask('members?with=budgets')).json.data as readonly Listed[];
    expect(listed.map(({ name, budgets }) => [name, budgets])).toEqual([
      ['Ada', [own]],
      ['Ben', []],
    ]);
    expect((await lab.ask('members')).json.data[0]).not.toHaveProperty('budgets');
    expect((await lab.ask(`members?group_id=${top.id}&name=ad`)).json.data).toHaveLength(1);
    expect((await lab.ask('groups?with=budgets')).json.data).toMatchObject([
      {
        name: 'Chair',
        budgets: [{ name: 'term', used_usd: '3', amount_usd: '40', until: FAR_MS }],
      },
      { name: 'Databases 2', budgets: [] },
    ]);

    // "10 more until …": for one, and until then.
    await lab.done(`budgets/${each.id}/raises`, { amount_usd: '10', until: FAR, subject: ada.id });
    const raised = { ...own, amount_usd: '15' };
    expect((await lab.ask('members?with=budgets')).json.data[0].budgets).toEqual([raised]);
    expect((await lab.ask(`budgets/${each.id}`)).json).toMatchObject({
      within_group_name: 'Chair',
      subject_name: null,
      raises: [{ amount_usd: '10', subject: ada.id }],
      uses: [{ subject_name: 'Ada', used_usd: '3', amount_usd: '15' }],
    });
    await lab.done(`budgets/${each.id}`, { amount_usd: '1', contact: 'the chair' }, 'PATCH');
    expect((await lab.ask('budgets')).json.data).toMatchObject([
      { name: 'each', amount_usd: '1', contact: 'the chair', within_group_name: 'Chair' },
      { name: 'term', subject_name: 'Chair' },
    ]);
    await lab.done(`members/${ada.id}`, { group_id: null, email: 'ada@example.com' }, 'PATCH');
    expect((await lab.ask(`members/${ada.id}`)).json).toMatchObject({ groups: [], group_id: null });
    await lab.done(`budgets/${each.id}/end`, {});
    expect((await lab.ask('budgets')).json.data).toMatchObject([{ name: 'term' }]);
    const ended = await lab.done(`members/${ada.id}/end`, {});
    expect(ended).toMatchObject({ state: 'ended', revoked_keys: 1 });
    expect((await lab.ask(`keys/${made.id}`)).json).toMatchObject({ state: 'revoked' });
    // The trail names the key that did it.
    const trail = await gateway.call('listTrail', { account_id: lab.account_id, limit: 50 });
    const byKey = trail.data.filter(({ actor }) => actor === lab.keyId).map(({ action }) => action);
    expect(byKey).toEqual(expect.arrayContaining(['member.end', 'budget.raise', 'group.update']));
    expect((await gateway.running.store.audit()).differences).toEqual([]);
  });

  it('what a holder sets bounds requests', async () => {
    const lab = await newAccount();
    const ada = await lab.done('members', { name: 'Ada' });
    const key = await lab.done('keys', { name: 'laptop', member_id: ada.id });
    await lab.done('budgets', { ...EACH_DAY, amount_usd: '0', contact: 'lead@lab.example' });
    const refused = await postMessages(gateway, key.api_key, userMessage('Hello'));
    expect([refused.status, await refused.text()]).toEqual([
      402,
      expect.stringContaining('lead@lab.example'),
    ]);
    const served = await postMessages(gateway, lab.apiKey, userMessage('Hello'));
    expect([served.status, await served.text()]).toEqual([200, expect.any(String)]);
  });

  it('a repeated creation changes nothing, and ids of other accounts and of operators are others', async () => {
    const [lab, other] = [await newAccount(), await newAccount()];
    const once = { headers: { 'idempotency-key': 'once' } };
    const create = (of: typeof lab, name: string) => of.ask('members', { body: { name }, ...once });
    const first = (await create(lab, 'Ada')).json;
    expect(first.replayed).toBe(false);
    expect((await create(lab, 'Ada')).json).toEqual({ ...first, replayed: true });
    expect(await create(lab, 'Bob')).toMatchObject({ status: 409 });
    expect((await create(other, 'Bob')).json).toMatchObject({ replayed: false, name: 'Bob' });
    const operators = { account_id: lab.account_id, name: 'Eve', idempotency_key: 'once' };
    expect(await gateway.call('createMember', operators)).toMatchObject({ replayed: false });
    const bad = await lab.ask('members', {
      body: { name: 'x' },
      headers: { 'idempotency-key': '/' },
    });
    expect(bad).toMatchObject({ status: 400, json: { error: { param: 'idempotency-key' } } });
  });

  it('a key without the scope, a link and a suspended key manage nothing', async () => {
    const lab = await newAccount();
    const member = await lab.done('members', { name: 'Ada' });
    const use = await lab.done('keys', { name: 'laptop', member_id: member.id });
    const { link } = await gateway.call('createLink', { key_id: lab.keyId });
    const calls = [
      ['members', {}],
      ['members', { body: { name: 'x' } }],
      [`members/${member.id}/end`, { body: {} }],
      ['groups', {}],
      ['budgets', { body: EACH_DAY }],
    ] as const;
    for (const [path, init] of calls) {
      expect([path, await ask(use.api_key, path, init)]).toMatchObject([
        path,
        { status: 403, json: { error: { code: 'needs_manage' } } },
      ]);
      expect([path, (await ask(link, path, init)).status]).toEqual([path, 401]);
    }
    expect((await ask('gw_nobody', 'members')).status).toBe(401);
    await gateway.call('suspendKey', { key_id: lab.keyId });
    for (const [path, init] of calls) {
      expect([path, (await lab.ask(path, init)).status]).toEqual([path, 403]);
    }
    await gateway.call('resumeKey', { key_id: lab.keyId });
    expect((await lab.ask('members')).json.data).toMatchObject([{ state: 'active' }]);
  });

  // An attacker has a key with the scope `manage` of another account.
  it('ids of other accounts are answered like ids that nobody has', async () => {
    const [lab, attacker] = [await newAccount(), await newAccount()];
    const course = await lab.done('groups', { name: 'Secret course' });
    const ada = await lab.done('members', { name: 'Secret Ada', group_id: course.id });
    const each = await lab.done('budgets', { ...EACH_DAY, scope: 'reserve' });
    const key = await lab.done('keys', { name: 'secret key' });
    const own = await attacker.done('members', { name: 'Mallory' });
    const ownKey = await attacker.done('keys', { name: 'own' });
    const ownBudget = await attacker.done('budgets', EACH_DAY);
    const raise = { amount_usd: '10', until: FAR };
    const attacks = (of: Ids): readonly (readonly [path: string, init?: Asked])[] => [
      [`groups/${of.group}`],
      [`groups/${of.group}`, { method: 'PATCH', body: { name: 'mine' } }],
      [`members/${of.member}`],
      [`members/${of.member}`, { method: 'PATCH', body: { name: 'mine' } }],
      [`members/${of.member}/end`, { body: {} }],
      [`budgets/${of.budget}`],
      [`budgets/${of.budget}`, { method: 'PATCH', body: { amount_usd: '0' } }],
      [`budgets/${of.budget}/end`, { body: {} }],
      [`budgets/${of.budget}/raises`, { body: raise }],
      [`budgets/${ownBudget.id}/raises`, { body: { ...raise, subject: of.member } }],
      ['budgets', { body: { ...EACH_DAY, then: of.budget } }],
      [`budgets/${ownBudget.id}`, { method: 'PATCH', body: { then: of.budget } }],
      ['groups', { body: { name: 'below', parent_id: of.group } }],
      ['members', { body: { name: 'in', group_id: of.group } }],
      [`members/${own.id}`, { method: 'PATCH', body: { group_id: of.group } }],
      ['budgets', { body: { ...EACH_DAY, within_group: of.group } }],
      ['budgets', { body: { ...EACH_DAY, subject: of.member } }],
      ['budgets', { body: { ...EACH_DAY, scope: 'key', subject: of.key } }],
      ['budgets', { body: { ...EACH_DAY, scope: 'group', subject: of.group } }],
      ['keys', { body: { name: 'x', member_id: of.member } }],
      [`keys/${ownKey.id}`, { method: 'PATCH', body: { member_id: of.member } }],
    ];
    const theirs = { group: course.id, member: ada.id, budget: each.id, key: key.id };
    const nobodys = { group: 'grp_1', member: 'mem_1', budget: 'bud_1', key: 'key_1' };
    const before = JSON.stringify(await gateway.call('listTrail', { limit: 1 }));
    for (const [index, [path, init]] of attacks(theirs).entries()) {
      const answer = await attacker.ask(path, init);
      const isReserve = 'then' in (init?.body ?? {});
      expect([path, init, answer.status]).toEqual([path, init, isReserve ? 400 : 404]);
      const [otherPath = '', otherInit] = attacks(nobodys)[index] ?? [];
      const unknown = await attacker.ask(otherPath, otherInit);
      expect([answer.status, answer.json.error]).toEqual([unknown.status, unknown.json.error]);
    }
    expect(JSON.stringify(await gateway.call('listTrail', { limit: 1 }))).toBe(before);
    // What may name anything finds nothing, and no names.
    expect((await attacker.ask(`members?group_id=${course.id}`)).json.data).toEqual([]);
    const after = (await attacker.ask(`budgets?after=${each.id}`)).json.data as readonly Listed[];
    expect(after.map(({ id }) => id)).not.toContain(each.id);
    const tagged = { ...EACH_DAY, name: 'tag', scope: 'tag', subject: ada.id };
    const { id } = await attacker.done('budgets', tagged);
    await attacker.done(`budgets/${id}/raises`, raise);
    for (const path of [
      'members?with=budgets',
      'groups?with=budgets',
      'budgets',
      `budgets/${id}`,
    ]) {
      const answer = await attacker.ask(path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(JSON.stringify(answer.json)).not.toMatch(/Secret|secret/);
    }
    // Nobody chooses the account.
    for (const [path, init] of [
      [`members?account_id=${lab.account_id}`],
      ['members', { body: { name: 'x', account_id: lab.account_id } }],
      ['budgets', { body: { ...EACH_DAY, account_id: lab.account_id } }],
      [`members/${own.id}`, { method: 'PATCH', body: { name: 'x', member_id: ada.id } }],
    ] as readonly (readonly [string, Asked?])[]) {
      const answer = await attacker.ask(path, init);
      expect([path, answer.status]).toEqual([path, 400]);
      expect(answer.json.error.message).toMatch(/^(account|member)_id: is not a parameter/);
    }
  });

  it('budgets of operators are neither changed, ended, raised nor left', async () => {
    const lab = await newAccount();
    const { call } = gateway;
    const { account_id } = lab;
    const [top, other] = [
      await lab.done('groups', { name: 'Chair' }),
      await lab.done('groups', { name: 'Other' }),
    ];
    const below = await lab.done('groups', { name: 'Course', parent_id: top.id });
    const ada = await lab.done('members', { name: 'Ada', group_id: below.id });
    const bob = await lab.done('members', { name: 'Bob' });
    const key = await lab.done('keys', { name: 'laptop', member_id: ada.id });
    const each = await call('createBudget', { account_id, ...EACH_DAY, within_group: top.id });
    for (const [path, init] of [
      [`budgets/${each.id}`, { method: 'PATCH', body: { amount_usd: '4' } }],
      [`budgets/${each.id}/end`, { body: {} }],
      [`budgets/${each.id}/raises`, { body: { amount_usd: '10', until: FAR } }],
    ] as readonly (readonly [string, Asked])[]) {
      expect([path, await lab.ask(path, init)]).toMatchObject([path, setByOperator(/^budget_id/)]);
    }
    expect(await call('showBudget', { budget_id: each.id })).toMatchObject({
      amount_usd: '5',
      is_ended: false,
      raises: [],
    });
    const moveTo = (group_id: string | null) =>
      lab.ask(`members/${ada.id}`, { method: 'PATCH', body: { group_id } });
    const giveTo = (member_id: string | null) =>
      lab.ask(`keys/${key.id}`, { method: 'PATCH', body: { member_id } });
    expect(await moveTo(other.id)).toMatchObject(setByOperator(/^group_id: a budget/));
    expect(await moveTo(null)).toMatchObject(setByOperator(/^group_id: a budget/));
    expect(await giveTo(bob.id)).toMatchObject(setByOperator(/^member_id: a budget/));
    expect(await giveTo(null)).toMatchObject(setByOperator(/^member_id: a budget/));
    // Within the bound, all of that is the holder's.
    expect((await moveTo(top.id)).status).toBe(200);
    const eve = await lab.done('members', { name: 'Eve', group_id: below.id });
    expect((await giveTo(eve.id)).json).toMatchObject({ member_id: eve.id });
    await lab.done(`members/${ada.id}`, { name: 'Ada L.' }, 'PATCH');
    await lab.done(`members/${ada.id}/end`, {});
    // Also one that begins later binds, and none that was ended.
    await call('endBudget', { budget_id: each.id });
    const later = { scope: 'member', subject: eve.id, amount_usd: '1', period: 'once' } as const;
    const times = { from: '2098-01-01T00:00:00Z', until: FAR };
    const { id: budget_id } = await call('createBudget', {
      account_id,
      name: 'later',
      ...later,
      ...times,
    });
    expect(await giveTo(bob.id)).toMatchObject(setByOperator(/^member_id: a budget/));
    await call('endBudget', { budget_id });
    expect((await giveTo(bob.id)).json).toMatchObject({ member_id: bob.id });
    // A reserve pays for what the operator lets it pay.
    const reserve = { ...EACH_DAY, scope: 'reserve' } as const;
    const { id: then } = await call('createBudget', { account_id, ...reserve });
    const chained = await lab.ask('budgets', { body: { ...EACH_DAY, then } });
    expect(chained).toMatchObject(setByOperator(/^then: /));
    const { id: ownReserve } = await lab.done('budgets', reserve);
    const first = await lab.done('budgets', { ...EACH_DAY, then: ownReserve });
    const changed = await lab.ask(`budgets/${first.id}`, { method: 'PATCH', body: { then } });
    expect(changed).toMatchObject(setByOperator(/^then: /));
    // A stricter budget beside it is the holder's own.
    const own = await lab.done('budgets', { ...EACH_DAY, amount_usd: '2' });
    expect((await lab.ask(`budgets/${own.id}/end`, { body: {} })).status).toBe(200);
  });

  it('a key ends neither its own member nor gives itself to another, or to one that has ended', async () => {
    const lab = await newAccount();
    const [own, left] = [
      await lab.done('members', { name: 'Lead' }),
      await lab.done('members', { name: 'Left' }),
    ];
    await gateway.call('updateKey', { key_id: lab.keyId, member_id: own.id });
    const message = expect.stringMatching(/^member_id: this key belongs to the member/);
    const refused = await lab.ask(`members/${own.id}/end`, { body: {} });
    expect(refused).toMatchObject({ status: 400, json: { error: { message } } });
    const patched = await lab.ask(`keys/${lab.keyId}`, {
      method: 'PATCH',
      body: { member_id: left.id },
    });
    expect(patched).toMatchObject({ status: 400, json: { error: { param: 'key_id' } } });
    const other = await lab.done('keys', { name: 'x' });
    expect(other.member_id).toBe(own.id);
    await lab.done(`members/${left.id}/end`, {});
    const given = await lab.ask(`keys/${other.id}`, {
      method: 'PATCH',
      body: { member_id: left.id },
    });
    expect([given.status, given.json.error.message]).toEqual([
      409,
      expect.stringMatching(/^member_id: this member has ended/),
    ]);
    const naming = await lab.ask(`keys/${other.id}`, {
      method: 'PATCH',
      body: { names_members: { unknown: 'create' } },
    });
    expect(naming).toMatchObject({ status: 400, json: { error: { param: 'names_members' } } });
  });

  it('bad input is refused by the name of the field', async () => {
    const lab = await newAccount();
    const ada = await lab.done('members', { name: 'Ada', external_id: '1' });
    const cases: readonly (readonly [string, Asked, number, string])[] = [
      ['members', { body: {} }, 400, 'name'],
      ['members', { body: { name: 'x', email: 'nobody' } }, 400, 'email'],
      ['members', { body: { name: 'x', external_id: '1' } }, 409, 'external_id'],
      ['members/x', {}, 400, 'member_id'],
      ['members?with=keys', {}, 400, 'with'],
      ['members?state=gone', {}, 400, 'state'],
      ['members?limit=0', {}, 400, 'limit'],
      [`members/${ada.id}`, { method: 'PATCH', body: { state: 'ended' } }, 400, 'state'],
      ['groups', { body: { name: '' } }, 400, 'name'],
      ['budgets', { body: { ...EACH_DAY, amount_usd: '-1' } }, 400, 'amount_usd'],
      ['budgets', { body: { ...EACH_DAY, period: 'year' } }, 400, 'period'],
      ['budgets', { body: { ...EACH_DAY, time_zone: 'Mars' } }, 400, 'time_zone'],
      ['budgets', { body: { ...EACH_DAY, scope: 'group' } }, 400, 'subject'],
      [
        'budgets',
        { body: { ...EACH_DAY, scope: 'account', within_group: 'grp_1' } },
        400,
        'within_group',
      ],
      ['budgets', { body: { ...EACH_DAY, until: '2020-01-01T00:00:00Z' } }, 400, 'until'],
    ];
    for (const [path, init, status, param] of cases) {
      const answer = await lab.ask(path, init);
      expect([path, init, answer.status]).toEqual([path, init, status]);
      expect([path, answer.json.error.message]).toEqual([
        path,
        expect.stringMatching(new RegExp(`^${param}: `)),
      ]);
    }
  });

  if (ledger === 'embedded') {
    it('holders leave room for what operators set', async () => {
      const { account_id, keyId, ask: asking } = await newAccount();
      const by = { name: keyId, holderOf: account_id };
      const { store } = gateway.running;
      for (let count = 0; count < MAX_GROUPS / 2; count += 1) {
        await store.createGroup({ accountId: account_id, name: 'g' }, { by });
      }
      const full = await asking('groups', { body: { name: 'one more' } });
      const message = expect.stringMatching(/this account has 1000 groups/);
      expect(full).toMatchObject({ status: 400, json: { error: { message } } });
      expect(await gateway.call('createGroup', { account_id, name: 'theirs' })).toMatchObject({
        replayed: false,
      });
    });
  }
});

it('every operation on members and budgets names its record, or is for one account', () => {
  for (const [name, { path, input }] of Object.entries({
    ...memberOperations,
    ...budgetOperations,
  })) {
    const isOfOne = /:(member|group|budget)_id/.test(path);
    expect([name, isOfOne || 'account_id' in input.shape]).toEqual([name, true]);
  }
});

const FAR_MS = '2099-01-01T00:00:00.000Z';

interface Asked {
  readonly method?: 'PATCH';
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Ids {
  readonly group: string;
  readonly member: string;
  readonly budget: string;
  readonly key: string;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly budgets?: readonly object[];
}
