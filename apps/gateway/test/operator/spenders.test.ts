/** Groups, members and budgets, as operators make and see them. On both ledgers. */

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Spender } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { OperationInput, OperationName } from '../../src/operator/operations/operations.js';
import { gatewayCommand } from '../support/gateway-process.js';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { ledgerEnv } from '../support/ledger-env.js';

const FAR = '2099-01-01T00:00:00Z';

/** Members of answers of `/v1/dashboard/keys`. */
interface Answer {
  readonly id?: string;
  readonly member_id?: string | null;
  readonly data?: readonly { readonly member_id: string | null }[];
  readonly error?: { readonly message: string };
}

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(() => postgres.stop());

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  let account_id: string;
  /** Of another account. */
  let foreign: { readonly group_id: string; readonly member_id: string; readonly key_id: string };
  beforeAll(async () => {
    gateway = await startTestGateway({ env: await ledgerEnv(ledger, postgres) });
    ({ id: account_id } = await gateway.call('createAccount', {
      name: 'the university',
      balance_usd: '1000',
    }));
    const { id: other } = await gateway.call('createAccount', { name: 'another' });
    const of = { account_id: other };
    foreign = {
      group_id: (await gateway.call('createGroup', { ...of, name: 'theirs' })).id,
      member_id: (await gateway.call('createMember', { ...of, name: 'theirs' })).id,
      key_id: (await gateway.call('createKey', { ...of, name: 'theirs' })).id,
    };
  });
  afterAll(() => gateway.stop());

  const adminToken = () =>
    ledger === 'embedded'
      ? (gateway.running.dataDir?.secret('admin-token') ?? '')
      : 'admin-token-of-the-tests';
  const group = (name: string, more: object = {}) =>
    gateway.call('createGroup', { account_id, name, ...more });
  const member = (name: string, more: object = {}) =>
    gateway.call('createMember', { account_id, name, ...more });
  const key = (more: Partial<OperationInput<'createKey'>> = {}) =>
    gateway.call('createKey', { account_id, name: 'k', ...more });
  const budget = (more: object = {}) =>
    gateway.call('createBudget', {
      account_id,
      name: 'b',
      scope: 'member',
      amount_usd: '20',
      period: 'month',
      ...more,
    });
  let charges = 0;
  /** Charges input tokens at 3 USD per million. */
  async function charge(keyId: string, amount: string, spender?: Spender): Promise<string> {
    charges += 1;
    const requestId = `req_${String(charges)}`;
    const inputTokens = Math.round((Number(amount) / 3) * 1e6);
    const charged = { ...settlement(keyId, { requestId, usage: { inputTokens } }), spender };
    await gateway.running.store.settle(charged, { deadlineMs: 20_000 });
    return requestId;
  }

  it('a group is below another, and its ids from the top are stated', async () => {
    const top = await group('Databases', { external_id: 'db', metadata: { cost_centre: '17' } });
    expect(top).toEqual({
      object: 'group',
      id: expect.stringMatching(/^grp_/),
      account_id,
      parent_id: null,
      groups: [top.id],
      name: 'Databases',
      external_id: 'db',
      metadata: { cost_centre: '17' },
      created_at: expect.any(String),
      replayed: false,
    });
    const below = await group('Tutorial', { parent_id: top.id });
    expect([below.parent_id, below.groups]).toEqual([top.id, [top.id, below.id]]);
    const { replayed: _, ...shown } = top;
    expect(await gateway.call('showGroup', { group_id: top.id })).toEqual(shown);
    const changed = await gateway.call('updateGroup', { group_id: top.id, external_id: null });
    expect(changed).toEqual({ ...shown, external_id: null });
    const { data } = await gateway.call('listGroups', { account_id, name: 'tutor' });
    expect(data.map(({ id }) => id)).toEqual([below.id]);
  });

  it('lists go on behind the last one of a page', async () => {
    const { id } = await gateway.call('createAccount', { name: 'pages' });
    const of = { account_id: id };
    for (const name of ['a', 'b', 'c']) {
      await gateway.call('createGroup', { ...of, name });
      await gateway.call('createMember', { ...of, name });
      await budget({ ...of, scope: 'account', name });
    }
    for (const list of ['listGroups', 'listMembers', 'listBudgets'] as const) {
      const first = await gateway.call(list, { ...of, limit: 2 });
      const after = first.next_cursor ?? '';
      const rest = await gateway.call(list, { ...of, limit: 2, after });
      expect([first.data, rest.data].map((page) => page.map(({ name }) => name))).toEqual([
        ['a', 'b'],
        ['c'],
      ]);
      expect([first.has_more, rest.has_more]).toEqual([true, false]);
    }
  });

  it('a member is found by each filter, and changes its group', async () => {
    const top = await group('Chair');
    const below = await group('Theses', { parent_id: top.id });
    const [ada, ben] = [
      await member('Ada', { group_id: below.id, external_id: 'm-1', email: 'Ada@example.com' }),
      await member('Ben', { group_id: top.id }),
    ];
    expect(ada).toMatchObject({
      object: 'member',
      group_id: below.id,
      groups: [top.id, below.id],
      email: 'Ada@example.com',
      state: 'active',
    });
    const found = async (filter: Partial<OperationInput<'listMembers'>>) =>
      (await gateway.call('listMembers', { account_id, ...filter })).data.map(({ id }) => id);
    expect(await found({ name: 'ada' })).toEqual([ada.id]);
    expect(await found({ external_id: 'm-1' })).toEqual([ada.id]);
    expect(await found({ email: 'ada@EXAMPLE.com' })).toEqual([ada.id]);
    expect(await found({ group_id: top.id })).toEqual([ada.id, ben.id]);
    expect(await found({ group_id: below.id })).toEqual([ada.id]);
    expect(await found({ group_id: top.id, state: 'ended' })).toEqual([]);

    const member_id = ada.id;
    const moved = await gateway.call('updateMember', { member_id, group_id: top.id });
    expect(moved.groups).toEqual([top.id]);
    const none = await gateway.call('updateMember', { member_id, group_id: null, email: null });
    expect([none.group_id, none.groups, none.email]).toEqual([null, [], null]);
    expect(none).toEqual(await gateway.call('showMember', { member_id }));
  });

  it('a member that is ended loses its keys for good, and the answer says how many', async () => {
    const { id: member_id } = await member('Leaver');
    const ids = [await key({ member_id }), await key({ member_id }), await key({ member_id })].map(
      ({ id }) => id,
    );
    await gateway.call('revokeKey', { key_id: ids[0] ?? '' });
    const { data } = await gateway.call('listKeys', { member_id });
    expect(data.map(({ id }) => id).sort()).toEqual([...ids].sort());
    const ended = await gateway.call('endMember', { member_id });
    expect([ended.state, ended.revoked_keys]).toEqual(['ended', 2]);
    const states = (await gateway.call('listKeys', { member_id })).data.map(({ state }) => state);
    expect(states).toEqual(['revoked', 'revoked', 'revoked']);
    expect((await gateway.call('endMember', { member_id })).revoked_keys).toBe(0);
    await expect(key({ member_id })).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('member_id: this member has ended'),
    });
    const { id: key_id } = await key();
    await expect(gateway.call('updateKey', { key_id, member_id })).rejects.toThrow(
      /^member_id: this member has ended/,
    );
  });

  it('a key belongs to a member, and may name members, as the operator says', async () => {
    const [{ id: member_id }, { id: group_id }] = [await member('Owner'), await group('New')];
    const names_members = { unknown: 'create', group_id } as const;
    const created = await key({ member_id, names_members });
    expect([created.member_id, created.names_members]).toEqual([member_id, names_members]);
    const key_id = created.id;
    const changed = await gateway.call('updateKey', {
      key_id,
      member_id: null,
      names_members: { unknown: 'refuse' },
    });
    expect([changed.member_id, changed.names_members]).toEqual([null, { unknown: 'refuse' }]);
    await gateway.call('updateKey', { key_id, names_members: null });
    expect(await gateway.call('showKey', { key_id })).toMatchObject({
      member_id: null,
      names_members: null,
    });
  });

  it('a holder sees whose key it is, and cannot let it name members', async () => {
    const [{ id: member_id }, { id: other }] = [await member('Manager'), await member('Guest')];
    const { api_key } = await key({
      scope: 'manage',
      member_id,
      names_members: { unknown: 'refuse' },
    });
    const ask = async (path: string, body?: object, method = 'POST') => {
      const response = await fetch(`${gateway.url}/v1/dashboard/keys${path}`, {
        method: body === undefined ? 'GET' : method,
        headers: { authorization: `Bearer ${api_key ?? ''}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const json = (await response.json()) as Answer;
      return { status: response.status, json };
    };
    const own = (await ask('')).json.data?.find((one) => one.member_id === member_id);
    expect(own).toBeDefined();
    expect(own).not.toHaveProperty('names_members');
    // Otherwise a budget of the member would not count what the new key spends.
    const made = await ask('', { name: 'own' });
    expect([made.status, made.json.member_id]).toEqual([200, member_id]);
    expect((await ask('', { name: 'guest', member_id: other })).json.member_id).toBe(other);

    const refused: readonly (readonly [string, object, string, RegExp])[] = [
      ['', { name: 'x', names_members: { unknown: 'create' } }, 'POST', /names_members/],
      ['', { name: 'x', member_id: foreign.member_id }, 'POST', /^member_id: there is no such/],
      ['', { name: 'x', member_id: 'Ada' }, 'POST', /^member_id: must be the id of a member/],
      [`/${made.json.id ?? ''}`, { names_members: null }, 'PATCH', /names_members/],
      [
        `/${made.json.id ?? ''}`,
        { member_id: foreign.member_id },
        'PATCH',
        /^member_id: there is no/,
      ],
    ];
    for (const [path, body, method, message] of refused) {
      const { status, json } = await ask(path, body, method);
      expect([body, status < 500 && status >= 400]).toEqual([body, true]);
      expect(json.error?.message).toMatch(message);
    }
  });

  it('a budget counts what was spent before, is raised, changed and ended', async () => {
    const { id: group_id } = await group('Course');
    const [ada, ben] = [await member('Ada', { group_id }), await member('Ben', { group_id })];
    const { id: key_id } = await key();
    const spend = ({ id, groups }: typeof ada, amount: string) =>
      charge(key_id, amount, { memberId: id, groups: `/${groups.join('/')}/` });
    await spend(ada, '3');
    const created = await budget({
      name: 'Each student',
      within_group: group_id,
      time_zone: 'Europe/Berlin',
      shares: [90, 50],
      contact: 'the chair',
    });
    expect(created).toEqual({
      object: 'budget',
      id: expect.stringMatching(/^bud_/),
      account_id,
      name: 'Each student',
      scope: 'member',
      subject: null,
      within_group: group_id,
      amount_usd: '20',
      period: 'month',
      time_zone: 'Europe/Berlin',
      from: null,
      until: null,
      action: 'refuse',
      shares: [50, 90],
      contact: 'the chair',
      only_for: null,
      then: null,
      is_ended: false,
      created_at: expect.any(String),
      created_by: 'operator',
      replayed: false,
    });
    const budget_id = created.id;
    await spend(ada, '3');
    await spend(ben, '12');
    const raised = await gateway.call('raiseBudget', {
      budget_id,
      amount_usd: '10',
      until: FAR,
      subject: ada.id,
    });
    expect(raised).toMatchObject({ object: 'budget_raise', budget_id, subject: ada.id });
    const { raises, uses } = await gateway.call('showBudget', { budget_id });
    expect(raises.map(({ id, amount_usd }) => [id, amount_usd])).toEqual([[raised.id, '10']]);
    const used = uses.map((use) => [use.subject_name, use.used_usd, use.amount_usd]);
    expect(used).toEqual([
      ['Ben', '12', '20'],
      ['Ada', '6', '30'],
    ]);
    const top = await gateway.call('showBudget', { budget_id, top: 1 });
    expect(top.uses.map(({ subject }) => subject)).toEqual([ben.id]);

    const changed = await gateway.call('updateBudget', {
      budget_id,
      amount_usd: '25.5',
      action: 'notify',
      shares: [],
      contact: null,
    });
    const { replayed: _, ...before } = created;
    expect(changed).toEqual({
      ...before,
      amount_usd: '25.5',
      action: 'notify',
      shares: [],
      contact: null,
    });
    expect((await gateway.call('endBudget', { budget_id })).is_ended).toBe(true);
    const listed = async (also?: 'ended') =>
      (await gateway.call('listBudgets', { account_id, with: also, name: 'student' })).data;
    expect(await listed()).toEqual([]);
    expect(await listed('ended')).toMatchObject([{ id: budget_id, is_ended: true }]);
  });

  it('a budget of one key shows one use, without a subject', async () => {
    const { id: key_id } = await key();
    const { id: budget_id } = await budget({
      scope: 'key',
      subject: key_id,
      period: 'once',
      until: FAR,
    });
    await charge(key_id, '3');
    const { uses } = await gateway.call('showBudget', { budget_id });
    expect(uses).toMatchObject([{ subject: null, subject_name: null, used_usd: '3' }]);
  });

  // The embedded ledger reads by the same statements, but in a thread with a clock of its own.
  if (ledger === 'PostgreSQL') {
    it('what was used in a former period is not shown', async () => {
      const { id: key_id } = await key();
      const { id: budget_id } = await budget({ scope: 'key', subject: key_id });
      const { id: once } = await budget({
        scope: 'key',
        subject: key_id,
        period: 'once',
        until: new Date(Date.now() + 86_400_000).toISOString(),
      });
      await charge(key_id, '3');
      const usesOf = async (id: string) =>
        (await gateway.running.store.listBudgetUses(id, 9)).map(({ subject }) => subject);
      expect([await usesOf(budget_id), await usesOf(once)]).toEqual([[''], ['']]);
      const later = Date.now() + 40 * 86_400_000;
      const clock = jest.spyOn(Date, 'now').mockReturnValue(later);
      const [ofMonth, ofOnce] = [await usesOf(budget_id), await usesOf(once)];
      clock.mockRestore();
      // One that has ended to count shows its last period.
      expect([ofMonth, ofOnce]).toEqual([[], ['']]);
    });
  }

  it('events name the budget, whose it is, and its amounts', async () => {
    const { id: memberId } = await member('Eager');
    const { id: key_id } = await key();
    const { id: each } = await budget({ amount_usd: '10', shares: [50] });
    const { id: all } = await budget({ scope: 'key', subject: key_id, amount_usd: '6' });
    await charge(key_id, '6', { memberId });
    const { data } = await gateway.call('listEvents', { account_id, order: 'newest', limit: 10 });
    const told = data.filter(({ data: of }) => of['budget'] === each || of['budget'] === all);
    expect(told.map((event) => [event.type, event.key_id, event.data]).sort()).toEqual([
      ['budget.reached', key_id, { budget: all, subject: null, amount_usd: '6', used_usd: '6' }],
      [
        'budget.share',
        key_id,
        { budget: each, subject: memberId, amount_usd: '10', used_usd: '6', share: '50' },
      ],
    ]);
    await gateway.call('endBudget', { budget_id: each });
  });

  it('an entry says who spent it, in JSON and CSV, to operators and holders', async () => {
    const top = await group('Lab');
    const below = await group('Night', { parent_id: top.id });
    const { id: memberId } = await member('Robot', { group_id: below.id });
    const { id: key_id, api_key } = await key();
    const groups = `/${top.id}/${below.id}/`;
    const named = await charge(key_id, '3', { memberId, groups, tag: '=run', run: 'r 1' });
    const nameless = await charge(key_id, '3');
    const spender = { member_id: memberId, groups: [top.id, below.id], tag: '=run', run: 'r 1' };
    const entry = await gateway.call('showEntry', { entry_id: named });
    expect(entry).toMatchObject(spender);
    for (const name of Object.keys(spender)) {
      expect(await gateway.call('showEntry', { entry_id: nameless })).not.toHaveProperty(name);
    }
    const read = async (path: string) =>
      fetch(`${gateway.url}/v1/dashboard/usage${path}`, {
        headers: { authorization: `Bearer ${api_key ?? ''}` },
      });
    expect(await (await read(`/${named}`)).json()).toMatchObject(spender);
    const [header = '', ...rows] = (await (await read('?format=csv')).text()).split('\r\n');
    expect(header.split(',').slice(-4)).toEqual(Object.keys(spender));
    const row = rows.find((line) => line.includes(named)) ?? '';
    expect(row.split(',').slice(-4)).toEqual([memberId, `${top.id} ${below.id}`, "'=run", 'r 1']);
    const other = rows.find((line) => line.includes(nameless)) ?? '';
    expect(other.split(',').slice(-4)).toEqual(['', '', '', '']);
  });

  it('a creation that is repeated with its id changes nothing', async () => {
    const { id: budget_id } = await budget({ scope: 'account' });
    const creations: readonly (readonly [OperationName, object, object])[] = [
      ['createGroup', { account_id, name: 'once' }, { name: 'other' }],
      ['createMember', { account_id, name: 'once' }, { name: 'other' }],
      [
        'createBudget',
        { account_id, name: 'once', scope: 'account', amount_usd: '1', period: 'day' },
        { amount_usd: '2' },
      ],
      ['raiseBudget', { budget_id, amount_usd: '1', until: FAR }, { amount_usd: '2' }],
    ];
    for (const [name, input, other] of creations) {
      const given = { ...input, idempotency_key: `again-${name}` };
      const first = (await gateway.call(name, given as never)) as object;
      expect(await gateway.call(name, given as never)).toEqual({ ...first, replayed: true });
      await expect(gateway.call(name, { ...given, ...other } as never)).rejects.toMatchObject({
        status: 409,
        message: 'idempotency_key: was used before for something else',
      });
    }
    await gateway.call('endBudget', { budget_id });
    const post = async () => {
      const response = await fetch(`${gateway.adminUrl}/admin/members`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${adminToken()}`,
          'content-type': 'application/json',
          'idempotency-key': 'again-by-header',
        },
        body: JSON.stringify({ account_id, name: 'by header' }),
      });
      return (await response.json()) as { readonly id: string; readonly replayed: boolean };
    };
    const [first, second] = [await post(), await post()];
    expect([second.id, first.replayed, second.replayed]).toEqual([first.id, false, true]);
  });

  it('bad input is refused; the message names the field', async () => {
    const { id: group_id } = await group('Taken', { external_id: 'g-taken' });
    const { id: member_id } = await member('Taken', { external_id: 'm-taken' });
    const { id: other } = await member('Free');
    const { id: key_id } = await key();
    const terms = { account_id, name: 'b', scope: 'member', amount_usd: '1', period: 'month' };
    const { id: each } = await budget({ name: 'each' });
    const { id: single } = await budget({ name: 'single', subject: member_id });
    const raise = { budget_id: each, amount_usd: '1', until: FAR };
    let deep = group_id;
    for (let depth = 2; depth <= 10; depth += 1) {
      deep = (await group('deep', { parent_id: deep })).id;
    }
    const wrong: readonly (readonly [OperationName, object, number, string])[] = [
      ['createGroup', { account_id, name: ' ' }, 400, 'name: '],
      ['createGroup', { name: 'x' }, 400, 'account_id: '],
      ['createGroup', { account_id: 'acct_none', name: 'x' }, 404, 'account_id: there is no such'],
      [
        'createGroup',
        { account_id, name: 'x', parent_id: foreign.group_id },
        404,
        'parent_id: there is no such group',
      ],
      [
        'createGroup',
        { account_id, name: 'x', parent_id: deep },
        400,
        'parent_id: groups are at most 10 levels deep',
      ],
      [
        'createGroup',
        { account_id, name: 'x', external_id: 'g-taken' },
        409,
        'external_id: already belongs to another group',
      ],
      ['showGroup', { group_id: 'grp_none' }, 404, 'group_id: there is no such group'],
      ['showGroup', { group_id: member_id }, 400, 'group_id: must be the id of a group'],
      ['listGroups', { account_id, after: 'x' }, 400, 'after: must be the id of a group'],
      ['createMember', { account_id, name: 'x', email: 'nobody' }, 400, 'email: must be'],
      [
        'createMember',
        { account_id, name: 'x', group_id: foreign.group_id },
        404,
        'group_id: there is no such group',
      ],
      [
        'updateMember',
        { member_id: other, external_id: 'm-taken' },
        409,
        'external_id: already belongs to another member',
      ],
      [
        'updateMember',
        { member_id: other, group_id: foreign.group_id },
        404,
        'group_id: there is no such group',
      ],
      ['endMember', { member_id: 'mem_none' }, 404, 'member_id: there is no such member'],
      ['createKey', { name: 'x', member_id }, 400, 'member_id: needs account_id'],
      [
        'createKey',
        { name: 'x', account_id, member_id: foreign.member_id },
        404,
        'member_id: there is no such member',
      ],
      [
        'updateKey',
        { key_id, names_members: { unknown: 'create', group_id: foreign.group_id } },
        404,
        'names_members.group_id: there is no such group',
      ],
      [
        'updateKey',
        { key_id, names_members: { unknown: 'refuse', group_id } },
        400,
        'names_members.group_id: is only for unknown: create',
      ],
      ['createBudget', { ...terms, amount_usd: '-1' }, 400, 'amount_usd: must be at least 0'],
      ['createBudget', { ...terms, scope: 'person' }, 400, 'scope: '],
      ['createBudget', { ...terms, period: 'year' }, 400, 'period: '],
      ['createBudget', { ...terms, time_zone: '+01:00' }, 400, 'time_zone: must be a time zone'],
      ['createBudget', { ...terms, time_zone: 'Mars/Utopia' }, 400, 'time_zone: '],
      ['createBudget', { ...terms, shares: [0] }, 400, 'shares.0: '],
      ['createBudget', { ...terms, shares: [50, 50] }, 400, 'shares: must be different'],
      ['createBudget', { ...terms, action: 'disable' }, 400, 'action: '],
      ['createBudget', { ...terms, from: FAR }, 400, 'from: is only for the period once'],
      ['createBudget', { ...terms, until: '2020-01-01T00:00:00Z' }, 400, 'until: must be in the'],
      [
        'createBudget',
        { ...terms, period: 'once', from: FAR, until: FAR },
        400,
        'until: must be after from',
      ],
      ['createBudget', { ...terms, scope: 'account', subject: member_id }, 400, 'subject: is not'],
      ['createBudget', { ...terms, scope: 'group' }, 400, 'subject: must be given'],
      ['createBudget', { ...terms, subject: key_id }, 400, 'subject: must be the id of a member'],
      [
        'createBudget',
        { ...terms, subject: foreign.member_id },
        404,
        'subject: there is no such member',
      ],
      [
        'createBudget',
        { ...terms, scope: 'key', subject: foreign.key_id },
        404,
        'subject: there is no such key',
      ],
      [
        'createBudget',
        { ...terms, subject: member_id, within_group: group_id },
        400,
        'within_group: is only for a budget that each one has',
      ],
      [
        'createBudget',
        { ...terms, scope: 'group', subject: group_id, within_group: group_id },
        400,
        'within_group: is only for a budget that each one has',
      ],
      [
        'createBudget',
        { ...terms, within_group: foreign.group_id },
        404,
        'within_group: there is no such group',
      ],
      ['updateBudget', { budget_id: each, scope: 'key' }, 400, 'scope: '],
      ['showBudget', { budget_id: 'bud_none' }, 404, 'budget_id: there is no such budget'],
      ['raiseBudget', { ...raise, amount_usd: '0' }, 400, 'amount_usd: must be above 0'],
      ['raiseBudget', { ...raise, until: '2020-01-01T00:00:00Z' }, 400, 'until: must be in the'],
      ['raiseBudget', { ...raise, subject: key_id }, 400, 'subject: must be the id of a member'],
      [
        'raiseBudget',
        { ...raise, subject: foreign.member_id },
        404,
        'subject: there is no such member',
      ],
      [
        'raiseBudget',
        { ...raise, budget_id: single, subject: member_id },
        400,
        'subject: is only for a budget that each one has',
      ],
      ['raiseBudget', { ...raise, budget_id: 'bud_none' }, 404, 'budget_id: there is no such'],
    ];
    for (const [name, input, status, message] of wrong) {
      const error: unknown = await gateway.call(name, input as never).then(
        () => 'it was accepted',
        (thrown: unknown) => thrown,
      );
      expect([name, input, error]).toEqual([
        name,
        input,
        expect.objectContaining({ status, message: expect.stringContaining(message) }),
      ]);
      expect((error as Error).message.startsWith(message)).toBe(true);
    }
    for (const budget_id of [each, single]) await gateway.call('endBudget', { budget_id });
  });

  it('a chain of budgets goes on with a reserve of the same account', async () => {
    const reserve = await budget({ scope: 'reserve' });
    const chained = await budget({ then: reserve.id });
    expect(chained).toMatchObject({ then: reserve.id });
    const unfit = {
      status: 400,
      message:
        'then: must be a reserve of the same account that has not ended; a chain has at most 4 ' +
        'budgets, none of them twice',
    };
    await expect(budget({ then: chained.id })).rejects.toMatchObject(unfit);
    const itself = { budget_id: reserve.id, then: reserve.id };
    await expect(gateway.call('updateBudget', itself)).rejects.toMatchObject(unfit);
    await expect(budget({ scope: 'reserve', subject: 'x' })).rejects.toMatchObject({
      message: 'subject: is not for a reserve',
    });
    for (const { id } of [chained, reserve]) await gateway.call('endBudget', { budget_id: id });
  });

  it('a closed account gets no groups, members and budgets', async () => {
    const { id } = await gateway.call('createAccount', { name: 'closed' });
    await gateway.call('closeAccount', { account_id: id, closing_id: id, reason: 'the end' });
    const of = { account_id: id, name: 'late' };
    for (const late of [
      () => gateway.call('createGroup', of),
      () => gateway.call('createMember', of),
      () => budget({ ...of, scope: 'account' }),
    ]) {
      await expect(late()).rejects.toMatchObject({
        status: 409,
        message: expect.stringMatching(/^account_id: this account is closed/),
      });
    }
  });

  it('the command line does the same', async () => {
    const cli = async (...args: readonly string[]) => {
      const { code, out, err } = await gatewayCommand(args, {
        ADMIN_URL: gateway.adminUrl,
        ADMIN_TOKEN: adminToken(),
      });
      expect([args, code, err]).toEqual([args, 0, '']);
      return out;
    };
    const made = async (...args: readonly string[]) =>
      JSON.parse(await cli(...args, '--json')) as { readonly id: string } & Record<string, unknown>;
    const of = ['--account', account_id];
    const top = await made('groups', 'create', ...of, '--name', 'Top', '--metadata', 'centre=9');
    const low = await made('groups', 'create', ...of, '--name', 'Low', '--parent', top.id);
    expect(low).toMatchObject({ parent_id: top.id });
    expect(await cli('groups', 'list', ...of, '--name', 'low')).toContain(low.id);
    expect(await cli('groups', 'update', top.id, '--name', 'Up')).toMatch(/^name +Up$/m);
    expect(await cli('groups', 'show', top.id)).toMatch(/^metadata +centre=9$/m);

    const person = await made('members', 'create', ...of, '--name', 'Eve', '--group', low.id);
    const named = ['--member', person.id, '--names-members', `create:${low.id}`];
    const owned = await made('keys', 'create', ...of, '--name', 'hers', ...named);
    expect(owned).toMatchObject({
      member_id: person.id,
      names_members: { unknown: 'create', group_id: low.id },
    });
    expect(await cli('keys', 'show', owned.id)).toMatch(
      new RegExp(`^names members +create:${low.id}$`, 'm'),
    );
    const none = await made('keys', 'update', owned.id, '--names-members', 'none');
    expect(none).toMatchObject({ names_members: null, member_id: person.id });
    const csv = await cli('members', 'list', ...of, '--group', low.id, '--csv');
    expect(csv.split('\r\n')).toEqual([
      expect.stringMatching(/^object,id,account_id,group_id,groups,name,external_id,email,state,/),
      expect.stringContaining(`member,${person.id},${account_id},${low.id},`),
      '',
    ]);

    const rule = ['--scope', 'member', '--within-group', top.id, '--amount', '20'];
    const often = ['--period', 'week', '--time-zone', 'Europe/Rome', '--shares', '50,80'];
    const each = await made('budgets', 'create', ...of, '--name', 'Weekly', ...rule, ...often);
    expect(each).toMatchObject({ amount_usd: '20', shares: [50, 80], within_group: top.id });
    const groups = `/${top.id}/${low.id}/`;
    const spent = await charge(owned.id, '3', { memberId: person.id, groups, tag: 'build' });
    const raised = ['--until', '2099-01-01', '--subject', person.id];
    expect(await cli('budgets', 'raise', each.id, '5', ...raised)).toMatch(/^amount \(USD\) +5$/m);
    const shown = await cli('budgets', 'show', each.id);
    expect(shown).toMatch(new RegExp(`^for +each member in ${top.id}$`, 'm'));
    expect(shown).toMatch(/^period +week \(Europe\/Rome\)$/m);
    expect(shown).toMatch(/│ Eve +│ +3 │ +25 │/);
    expect(await cli('budgets', 'list', ...of)).toContain(each.id);
    const quiet = await cli('budgets', 'update', each.id, '--action', 'notify', '--shares', 'none');
    expect(quiet).toMatch(/^when used up +notify$/m);
    expect(await cli('budgets', 'end', each.id)).toMatch(/^state +ended$/m);
    expect(await cli('budgets', 'list', ...of, '--with', 'ended')).toContain(each.id);

    const pays = ['--scope', 'reserve', '--amount', '9', '--period', 'month'];
    const reserve = await made('budgets', 'create', ...of, '--name', 'Chair', ...pays);
    const own = ['--scope', 'key', '--subject', owned.id, '--amount', '0.5', '--period', 'month'];
    const then = ['--then', reserve.id];
    const chained = await made('budgets', 'create', ...of, '--name', 'Own', ...own, ...then);
    expect(await cli('budgets', 'show', reserve.id)).toMatch(/^for +what other budgets pass on$/m);
    expect(await cli('budgets', 'show', chained.id)).toMatch(
      new RegExp(`^then +${reserve.id}$`, 'm'),
    );
    // It counts what was spent before in its month, of which no reserve paid a part.
    const paid = await cli('ledger', 'show', await charge(owned.id, '3'));
    expect(paid).toMatch(new RegExp(`^paid by +${reserve.id} 3 USD$`, 'm'));
    expect(await cli('budgets', 'show', reserve.id)).toMatch(/│ all +│ +3 │ +9 │/);
    const alone = await cli('budgets', 'update', chained.id, '--then', 'none');
    expect(alone).toMatch(/^then +none$/m);
    for (const { id } of [chained, reserve]) await cli('budgets', 'end', id);

    const entry = await cli('ledger', 'show', spent);
    expect(entry).toMatch(new RegExp(`^member +${person.id}$`, 'm'));
    expect(entry).toMatch(/^tag +build$/m);
    const moved = await cli('members', 'update', person.id, '--group', 'none');
    expect(moved).toMatch(/^group +none$/m);
    expect(await cli('members', 'end', person.id)).toContain('Keys that this revoked: 1');
    expect(await cli('members', 'show', person.id)).toMatch(/^state +ended$/m);
  });
});
