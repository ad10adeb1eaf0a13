/** `farthing apply`, beside a running gateway on both ledgers. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { usePostgresServer } from '../../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../../packages/balance-store/test/postgres-server.js';
import { createRemoteCaller } from '../../../src/operator/operations/callers.js';
import type { CallOperation } from '../../../src/operator/operations/operations.js';
import { readDeclared } from '../../../src/cli/roll-out/declared-file.js';
import { planDeclared } from '../../../src/cli/roll-out/plan-declared.js';
import { runSteps } from '../../../src/cli/roll-out/steps.js';
import { gatewayCommand } from '../../support/gateway-process.js';
import { startTestGateway } from '../../support/gateway.js';
import type { TestGateway } from '../../support/gateway.js';
import { ledgerEnv } from '../../support/ledger-env.js';

const folder = mkdtempSync(join(tmpdir(), 'apply-'));
let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await usePostgresServer();
});
afterAll(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A chair with a course, as each test has it under another id. */
const chair = (id: string) => ({
  accounts: [{ external_id: id, name: 'Chair', metadata: { cost_centre: '17' }, prices: '0.9' }],
  groups: [{ path: 'Databases', external_id: 'db' }, { path: 'Databases/Team A' }],
  members: [
    { external_id: 'ada', name: 'Ada', email: 'ada@example.com', group: 'Databases/Team A' },
    { external_id: 'bob', name: 'Bob', metadata: { role: 'tutor' } },
  ],
  budgets: [
    {
      name: 'course',
      scope: 'group',
      subject: 'Databases',
      amount_usd: '400.00',
      period: 'once',
      until: '2099-03-31T22:00:00Z',
    },
    {
      name: 'students',
      scope: 'member',
      within_group: 'Databases',
      amount_usd: '20',
      period: 'month',
      time_zone: 'Europe/Berlin',
      shares: [80, 50],
      contact: 'chair@example.com',
    },
    { name: 'tutor', scope: 'member', subject: 'bob', amount_usd: '5', period: 'day' },
  ],
});

describe.each(['embedded', 'PostgreSQL'] as const)('on the %s ledger', (ledger) => {
  let gateway: TestGateway;
  let env: Readonly<Record<string, string>>;
  let call: CallOperation;
  beforeAll(async () => {
    gateway = await startTestGateway({ env: await ledgerEnv(ledger, postgres) });
    const token = gateway.running.dataDir?.secret('admin-token') ?? 'admin-token-of-the-tests';
    env = { ADMIN_URL: gateway.adminUrl, ADMIN_TOKEN: token };
    call = createRemoteCaller({ url: gateway.adminUrl, token });
  });
  afterAll(() => gateway.stop());

  async function applying(declared: object | string, ...options: readonly string[]) {
    const file = join(folder, `${ledger}.json`);
    writeFileSync(file, typeof declared === 'string' ? declared : JSON.stringify(declared));
    const { code, out, err } = await gatewayCommand(['apply', file, ...options], env);
    return { code, lines: out.trimEnd().split('\n'), err: err.replaceAll(file, 'FILE') };
  }
  const accountOf = async (external_id: string) => {
    const { data } = await call('listAccounts', { external_id });
    return data[0];
  };

  it('a dry run prints the difference, a run makes it, and a second run changes nothing', async () => {
    const declared = chair('first');
    const dry = await applying(declared, '--dry-run');
    expect([dry.code, dry.lines]).toEqual([
      1,
      [
        'create account first (Chair): prices 0.9',
        'create group Databases',
        'create group Databases/Team A',
        'change group Databases: external_id none → db',
        'create member ada (Ada): group Databases/Team A; email ada@example.com',
        'create member bob (Bob)',
        'create budget course: scope group; subject Databases; amount_usd 400; period once; until 2099-03-31T22:00:00.000Z',
        'create budget students: scope member; within_group Databases; amount_usd 20; period month; time_zone Europe/Berlin; shares [50,80]; contact chair@example.com',
        'create budget tutor: scope member; subject bob; amount_usd 5; period day',
        '9 changes. Nothing was changed: this was a dry run.',
      ],
    ]);
    expect(await accountOf('first')).toBeUndefined();
    const done = await applying(declared);
    expect([done.code, done.err, done.lines.at(-1)]).toEqual([0, '', '9 changes made.']);
    const account = await accountOf('first');
    expect(account).toMatchObject({ prices: '0.9', metadata: { cost_centre: '17' } });
    const of = { account_id: account?.id ?? '' };
    const groups = (await call('listGroups', of)).data;
    const members = (await call('listMembers', of)).data;
    const budgets = (await call('listBudgets', of)).data;
    expect(groups.map(({ name, external_id }) => [name, external_id])).toEqual([
      ['Databases', 'db'],
      ['Team A', null],
    ]);
    expect(budgets).toMatchObject([
      { scope: 'group', subject: groups[0]?.id, until: '2099-03-31T22:00:00.000Z' },
      { subject: null, within_group: groups[0]?.id, shares: [50, 80], time_zone: 'Europe/Berlin' },
      { subject: members.find(({ name }) => name === 'Bob')?.id, amount_usd: '5' },
    ]);
    const again = await applying(declared, '--dry-run');
    expect([again.code, again.lines]).toEqual([
      0,
      ['left   1 accounts, 2 groups, 2 members, 3 budgets', 'Nothing to change.'],
    ]);
    const trail = async () => (await call('listTrail', { ...of, limit: 1000 })).data.length;
    const before = await trail();
    expect((await applying(declared)).code).toBe(0);
    expect(await trail()).toBe(before);
  });

  it('only what is declared changes, and nothing ends that is not declared to', async () => {
    await applying(chair('second'));
    const key = await call('createKey', {
      account_id: (await accountOf('second'))?.id ?? '',
      name: 'k',
      external_id: `key-${ledger}`,
      models: ['claude-haiku-4-5'],
    });
    const change = {
      account: 'second',
      members: [
        { external_id: 'ada', group: null, metadata: { role: 'student' } },
        { external_id: 'bob', state: 'ended' },
      ],
      keys: [{ external_id: `key-${ledger}`, member: 'ada', cap_month_usd: '5.0', burst: 7 }],
      budgets: [
        { name: 'students', amount_usd: '25', contact: null },
        { name: 'tutor', state: 'ended' },
      ],
    };
    const { lines, code } = await applying(change);
    const burst = String(key.limits.burst);
    expect(code).toBe(0);
    expect(lines).toEqual([
      'change member ada (Ada): group Databases/Team A → none; metadata.role none → student',
      `change key key-${ledger} (k): cap_month_usd none → 5; burst ${burst} → 7; member none → ada`,
      'change budget students: amount_usd 20 → 25; contact chair@example.com → none',
      'end    member bob (Bob), and revoke the keys',
      'end    budget tutor',
      '5 changes made.',
    ]);
    expect(await call('showKey', { key_id: key.id })).toMatchObject({
      models: ['claude-haiku-4-5'],
      caps: { month: { cap_usd: '5' } },
    });
    const again = await applying(change, '--dry-run');
    expect([again.code, again.lines]).toEqual([
      0,
      ['left   2 members, 1 keys, 2 budgets', 'Nothing to change.'],
    ]);
  });

  it('a wrong file is refused with the place of each error, and changes nothing', async () => {
    const wrong = chair('third') as Record<string, unknown>;
    const { code, err } = await applying({
      ...wrong,
      budgets: [
        { name: 'a', scope: 'member', amount_usd: 'much', period: 'month' },
        { name: 'b', scope: 'planet', amount_usd: '1', period: 'month', colour: 'red' },
      ],
      members: [{ external_id: 'x', email: 'x@localhost', group: 'a//b' }],
    });
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('FILE cannot be used, and nothing was changed:'),
    ]);
    for (const place of [
      'budgets[0].amount_usd: ',
      'budgets[1].scope: ',
      'budgets[1].colour: is not known',
      'members[0].email: must be an address',
      'members[0].group: must be names with / between them',
    ]) {
      expect(err).toContain(place);
    }
    const unknown = await applying({
      ...wrong,
      budgets: [
        { name: 'a', scope: 'member', subject: 'nobody', amount_usd: '1', period: 'month' },
        { name: 'b', scope: 'group', subject: 'Nowhere', amount_usd: '1', period: 'month' },
        { name: 'c', scope: 'group', amount_usd: '1', period: 'month' },
        { name: 'd', scope: 'account' },
        { name: 'd', scope: 'account', amount_usd: '1', period: 'month' },
      ],
      keys: [{ external_id: 'no-key' }],
      members: [{ external_id: 'x' }],
    });
    expect([
      unknown.code,
      unknown.err
        .split('\n')
        .slice(1, -1)
        .map((line) => line.trim()),
    ]).toEqual([
      2,
      [
        'budgets[4].name: is that of budgets[3], too',
        'members[0].name: must be given for a new member',
        'keys[0].external_id: the account has no such key: make it with keys create or members import',
        'budgets[0].subject: the account has no member nobody',
        'budgets[1].subject: the account has no group Nowhere',
        'budgets[2].subject: must be given: a budget of a group names the group',
        'budgets[3].amount_usd: must be given for a new budget',
        'budgets[3].period: must be given for a new budget',
      ],
    ]);
    expect((await applying('{"accounts": [')).err).toContain('is not JSON');
    expect((await applying({ members: [{ external_id: 'x' }] })).err).toContain(
      'members[0].account: must be given, here or for the whole file',
    );
    expect((await applying({ account: 'nobody', members: [{ external_id: 'x' }] })).err).toContain(
      'members[0].account: there is no account nobody',
    );
    expect(await accountOf('third')).toBeUndefined();
  });

  it('what a budget counts never changes', async () => {
    await applying(chair('fourth'));
    const other = { account: 'fourth', budgets: [{ name: 'students', period: 'week' }] };
    const { code, err } = await applying(other);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(
        'budgets[0].period: what a budget counts never changes: end the budget',
      ),
    ]);
  });

  it('a reserve is made before the budgets that it pays for, and a chain can be changed', async () => {
    const each = { amount_usd: '1', period: 'month' };
    const reserve = { ...each, scope: 'reserve' };
    const declared = {
      accounts: [{ external_id: 'chains', name: 'Chair' }],
      budgets: [
        { name: 'course', ...each, scope: 'account', then: 'of the chair' },
        { name: 'of the chair', ...reserve, then: 'of the faculty' },
        { name: 'of the faculty', ...reserve },
      ],
    };
    const dry = await applying(declared, '--dry-run');
    expect([dry.code, dry.lines.slice(1, 4)]).toEqual([
      1,
      [
        'create budget of the faculty: scope reserve; amount_usd 1; period month',
        'create budget of the chair: scope reserve; amount_usd 1; period month; then of the faculty',
        'create budget course: scope account; amount_usd 1; period month; then of the chair',
      ],
    ]);
    expect((await applying(declared)).code).toBe(0);
    const account_id = (await accountOf('chains'))?.id ?? '';
    const [faculty, chair, course] = (await call('listBudgets', { account_id })).data;
    expect([course?.then, chair?.then, faculty?.then]).toEqual([chair?.id, faculty?.id, null]);
    expect((await applying(declared, '--dry-run')).lines.at(-1)).toBe('Nothing to change.');

    const change = {
      account: 'chains',
      budgets: [
        { name: 'course', then: 'of the dean' },
        { name: 'of the chair', then: null },
        { name: 'of the dean', ...reserve, then: 'of the faculty' },
      ],
    };
    expect((await applying(change)).lines).toEqual([
      'change budget of the chair: then of the faculty → none',
      'create budget of the dean: scope reserve; amount_usd 1; period month; then of the faculty',
      'change budget course: then of the chair → of the dean',
      '3 changes made.',
    ]);
    const again = await applying(change, '--dry-run');
    expect([again.code, again.lines]).toEqual([0, ['left   3 budgets', 'Nothing to change.']]);
  });

  it('a chain that cannot be is refused before anything is changed', async () => {
    await applying(chair('wrong chains'));
    const each = { amount_usd: '1', period: 'once' };
    const reserve = { ...each, scope: 'reserve' };
    const { code, err } = await applying({
      account: 'wrong chains',
      budgets: [
        { name: 'students', then: 'course' },
        { name: 'course', then: 'nowhere' },
        { name: 'tutor', then: 'ended' },
        { name: 'a', ...reserve, then: 'b' },
        { name: 'b', ...reserve, then: 'a' },
        { name: 'ended', scope: 'reserve', state: 'ended' },
        { name: 'c', ...reserve, subject: 'x' },
        { name: 'd', ...each, scope: 'account', then: 'e' },
        { name: 'e', ...reserve, then: 'f' },
        { name: 'f', ...reserve, then: 'g' },
        { name: 'g', ...reserve, then: 'h' },
        { name: 'h', ...reserve },
      ],
    });
    const tooLong = 'a chain has at most 4 budgets, none of them twice';
    expect([
      code,
      err
        .split('\n')
        .slice(1, -1)
        .map((line) => line.trim()),
    ]).toEqual([
      2,
      [
        'budgets[0].then: course is for group: only a reserve pays for others',
        'budgets[1].then: the account has no budget nowhere',
        'budgets[2].then: ended is ended by this file',
        `budgets[3].then: ${tooLong}`,
        `budgets[7].then: ${tooLong}`,
        'budgets[6].subject: is not for a reserve',
      ],
    ]);
  });

  it('a budget that a request gave to its run is none of the file', async () => {
    await applying(chair('runs'));
    const accountId = (await accountOf('runs'))?.id ?? '';
    const { store } = gateway.running;
    for (const run of ['build-1', 'build-2']) {
      const of = { accountId, run, onlyFor: 'mem_1', name: 'tutor', amount: 1n };
      expect((await store.setRunBudget(of, { name: 'tests' })).outcome).toBe('set');
    }
    const { lines } = await applying(chair('runs'), '--dry-run');
    expect(lines.at(-1)).toBe('Nothing to change.');
  });

  it('a run that stops half way is finished by running it again', async () => {
    const read = readDeclared(JSON.stringify(chair('fifth')));
    if (!('declared' in read)) throw new Error('the file is right');
    let calls = 0;
    const breaking = ((name: string, input: never) => {
      calls += name.startsWith('create') || name.startsWith('update') ? 1 : 0;
      if (calls > 4) return Promise.reject(new Error('the connection is lost'));
      return call(name as never, input);
    }) as CallOperation;
    const plan = await planDeclared(read.declared, breaking);
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await expect(runSteps(plan.steps, breaking)).rejects.toThrow('the connection is lost');
    const [[text] = []] = said.mock.calls;
    said.mockRestore();
    expect(text).toBe('4 of 9 changes were made; run the same command again to make the rest\n');
    const rest = await applying(chair('fifth'));
    expect([rest.code, rest.err]).toEqual([0, '']);
    const { lines } = await applying(chair('fifth'), '--dry-run');
    expect(lines.at(-1)).toBe('Nothing to change.');
    const of = { account_id: (await accountOf('fifth'))?.id ?? '' };
    expect((await call('listMembers', of)).data.length).toBe(2);
    expect((await call('listGroups', of)).data.length).toBe(2);
  });

  it('prices are declared, too', async () => {
    const factor = { prices: { extends: 'list', factor: '1.25' } };
    expect((await applying(factor)).lines[0]).toContain('change setting PRICES');
    expect((await applying(factor)).lines).toEqual(['left   1 settings', 'Nothing to change.']);
    const settings = await call('showSettings', {});
    expect(settings.variables.find(({ name }) => name === 'PRICES')?.set_in).toBe('gateway');
    await call('changeSetting', { name: 'PRICES', value: null });
  });
});
