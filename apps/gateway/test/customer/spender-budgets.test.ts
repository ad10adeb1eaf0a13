/** What a person who spends reads of his own budgets, on both ledgers. */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatUsd, parseUsd } from '@gateway/billing';
import { settlement } from '@gateway/balance-store/testing';
import { usePostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import type { PostgresServer } from '../../../../packages/balance-store/test/postgres-server.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { BY, TERM_END, createLaboratory } from '../support/laboratory.js';
import { untilSteady } from '../support/steady-time.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-budgets';

let server: PostgresServer;
beforeAll(async () => {
  server = await usePostgresServer();
});
afterAll(() => server.stop());

const monthStart = (later: number) => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later)).toISOString();
};

/** Tokens that cost this amount, or up to a token less. */
const tokensFor = (usd: string) =>
  Number(parseUsd(usd) / settlement('a key', { usage: { inputTokens: 1 } }).amount);

describe.each(['the embedded ledger', 'PostgreSQL'])('the budgets of a spender on %s', (ledger) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    await untilSteady('day');
    const env =
      ledger === 'PostgreSQL'
        ? { DATABASE_URL: await server.createDatabase(), KEY_PEPPER: 'pepper of these tests' }
        : {};
    gateway = await startTestGateway({ env: { ADMIN_TOKEN, ...env } });
  });
  afterAll(() => gateway.stop());

  async function read(apiKey: string, path: string) {
    const response = await fetch(`${gateway.url}/v1/dashboard/${path}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return { status: response.status, json: await response.json() };
  }
  const accountOf = async ({ apiKey }: { readonly apiKey: string }) =>
    (await read(apiKey, 'account')).json;

  it('are those of his account, group, membership and key, the nearest to empty first', async () => {
    const lab = await createLaboratory(gateway);
    const [ada, bob] = [await lab.student('Ada'), await lab.student('Bob')];
    await lab.budget({
      name: 'all of us',
      amount: parseUsd('0.5'),
      scope: 'account',
      period: 'week',
      action: 'notify',
    });
    await lab.budget({
      name: 'this laptop',
      amount: parseUsd('5'),
      scope: 'key',
      subject: ada.keyId,
      period: 'once',
    });
    await lab.budget({
      name: 'not hers',
      amount: parseUsd('1'),
      scope: 'member',
      subject: bob.memberId,
      period: 'day',
    });
    await lab.budget({
      name: 'only for tagged requests',
      amount: parseUsd('1'),
      scope: 'tag',
      subject: 'thesis',
      period: 'day',
    });
    const hers = (await ada.spend(1_234)) + (await ada.spend(1));
    const his = await bob.spend(77);
    const of = (usd: string, used: bigint) => ({
      amount_usd: usd,
      raises: [],
      used_usd: formatUsd(used),
      held_usd: '0',
      left_usd: formatUsd(parseUsd(usd) - used),
      then_name: null,
    });
    const expected = [
      {
        name: 'this laptop',
        scope: 'key',
        group_name: null,
        ...of('5', hers),
        action: 'refuse',
        starts_at: expect.any(String),
        renews_at: null,
        contact: null,
      },
      {
        name: 'course Databases',
        scope: 'member',
        group_name: null,
        ...of('20', hers),
        action: 'refuse',
        starts_at: monthStart(0),
        renews_at: monthStart(1),
        contact: 'Prof. Codd',
      },
      {
        name: 'term',
        scope: 'group',
        group_name: 'Databases',
        ...of('400', hers + his),
        action: 'refuse',
        starts_at: expect.any(String),
        renews_at: TERM_END.toISOString(),
        contact: 'chair@lab.example',
      },
      {
        name: 'all of us',
        scope: 'account',
        group_name: null,
        ...of('0.5', hers + his),
        action: 'notify',
        starts_at: expect.any(String),
        renews_at: expect.any(String),
        contact: null,
      },
    ];
    const { status, json } = await read(ada.apiKey, 'balance');
    expect([status, json.budgets]).toEqual([200, expected]);
    expect(json).toMatchObject({ object: 'balance', is_active: true });
    expect(json.balance_usd).toBeCloseTo(Number(formatUsd(parseUsd('1200') - hers - his)), 9);
    expect(await accountOf(ada)).toMatchObject({
      member: 'Ada',
      budgets: expected,
      key: { used_up_budget: null, used_up_cap: null, is_active: true },
    });
    const { budgets } = await accountOf(bob);
    expect(budgets).toMatchObject([
      { name: 'not hers' },
      { name: 'course Databases', ...of('20', his) },
      { name: 'term' },
      { name: 'all of us' },
    ]);
  });

  it('say when one refuses, of several the one that renews last, and never less than nothing', async () => {
    const lab = await createLaboratory(gateway);
    const [ada, bob] = [await lab.student('Ada'), await lab.student('Bob')];
    await lab.budget({
      name: 'each day',
      amount: parseUsd('1'),
      scope: 'member',
      period: 'day',
    });
    await lab.budget({
      name: 'a warning',
      amount: parseUsd('1'),
      scope: 'member',
      period: 'once',
      action: 'notify',
    });
    const used = await ada.spend(tokensFor('1.5'));
    expect(await accountOf(ada)).toMatchObject({
      key: {
        is_active: true,
        used_up_budget: { name: 'each day', amount_usd: '1', contact: null },
      },
      budgets: [
        { name: 'each day', used_usd: formatUsd(used), left_usd: '0' },
        { name: 'course Databases' },
        { name: 'term' },
        { name: 'a warning', used_usd: formatUsd(used), left_usd: '0' },
      ],
    });
    await lab.budget({
      name: 'never again',
      amount: parseUsd('20'),
      scope: 'member',
      subject: ada.memberId,
      period: 'once',
      contact: 'the dean',
    });
    await ada.spend(tokensFor('21'));
    expect((await accountOf(ada)).key).toMatchObject({
      used_up_budget: {
        name: 'never again',
        amount_usd: '20',
        renews_at: null,
        contact: 'the dean',
      },
    });
    // An empty budget disables no key: that follows the balance alone.
    expect((await read(ada.apiKey, 'balance')).json).toMatchObject({ is_active: true });
    expect((await accountOf(bob)).key).toMatchObject({ used_up_budget: null });
    // What they read is what requests meet.
    const refused = await postMessages(gateway, ada.apiKey, userMessage('Hello'));
    expect([refused.status, await refused.text()]).toEqual([
      402,
      expect.stringContaining('budget'),
    ]);
    const before = (await accountOf(bob)).budgets[0].used_usd as string;
    const served = await postMessages(gateway, bob.apiKey, userMessage('Hello'));
    expect([served.status, await served.text()]).toEqual([200, expect.any(String)]);
    await until(async () => (await accountOf(bob)).budgets[0].used_usd !== before);
  });

  it('include raises while these last, and what is held for requests in flight', async () => {
    const lab = await createLaboratory(gateway);
    const ada = await lab.student('Ada');
    const budgets = await lab.store.listBudgets({ accountId: lab.accountId, limit: 9 });
    const { id: budgetId } = budgets.find(({ name }) => name === 'course Databases')!;
    const until = new Date(Date.now() + 3_600_000);
    const raise = { budgetId, subject: ada.memberId, amount: parseUsd('10'), until };
    expect(await lab.store.raiseBudget(raise, { by: BY })).toMatchObject({ outcome: 'created' });
    const { memberId: subject } = await lab.student('Bob');
    await lab.store.raiseBudget({ ...raise, subject }, { by: BY });
    const used = await ada.spend(1_000);
    const { groups } = (await lab.store.getMember(ada.memberId))!;
    const held = parseUsd('1.25');
    const hold = { requestId: 'req_held', keyId: ada.keyId, amount: held };
    const spender = { memberId: ada.memberId, groups };
    expect(await lab.store.placeHold({ ...hold, spender })).toMatchObject({ outcome: 'held' });
    expect((await accountOf(ada)).budgets[0]).toMatchObject({
      name: 'course Databases',
      amount_usd: '30',
      raises: [{ amount_usd: '10', until: until.toISOString() }],
      used_usd: formatUsd(used),
      held_usd: '1.25',
      left_usd: formatUsd(parseUsd('30') - used),
    });
    lab.store.releaseHold('req_held');
  });

  it('are none for a key without any, whose answers are otherwise the same', async () => {
    const { apiKey } = await gateway.createKey();
    expect(await accountOf({ apiKey })).toMatchObject({ member: null, budgets: [] });
    expect((await read(apiKey, 'balance')).json.budgets).toEqual([]);
  });

  it('stand alone if the account hides its money from its members', async () => {
    const lab = await createLaboratory(gateway);
    const [ada, lead] = [await lab.student('Ada'), await lab.student('Lead', { scope: 'manage' })];
    const spent = formatUsd(await ada.spend(1_000));
    const set = (members_see_balance: boolean | null) =>
      gateway.call('updateAccount', { account_id: lab.accountId, members_see_balance });
    const shown = {
      balance_usd: formatUsd(parseUsd('1200') - parseUsd(spent)),
      lasts_until: expect.any(String),
      pace: { spent_usd: spent, spent_by_key_usd: spent },
    };
    expect(await accountOf(ada)).toMatchObject({ members_see_balance: null, ...shown });
    expect(await set(true)).toMatchObject({ members_see_balance: true });
    expect(await accountOf(ada)).toMatchObject({ members_see_balance: true, ...shown });
    await set(false);
    const hidden = await accountOf(ada);
    expect(hidden).toMatchObject({
      members_see_balance: false,
      balance_usd: null,
      allowance: null,
      expiring: [],
      lasts_until: null,
      pace: { spent_usd: null, spent_by_key_usd: spent },
    });
    expect(hidden.budgets).toMatchObject([{ name: 'course Databases' }, { name: 'term' }]);
    expect((await read(ada.apiKey, 'balance')).json.balance_usd).toBeCloseTo(1200 - Number(spent));
    expect(await accountOf(lead)).toMatchObject({ balance_usd: shown.balance_usd });
    const outside = await gateway.call('createKey', { name: 'x', account_id: lab.accountId });
    const ofNobody = await accountOf({ apiKey: outside.api_key ?? '' });
    expect(ofNobody).toMatchObject({ balance_usd: shown.balance_usd });
    expect(await set(null)).toMatchObject({ members_see_balance: null });
  });

  it('are his; the account is not, unless his key may manage it', async () => {
    const lab = await createLaboratory(gateway);
    const paths = [
      'usage?of=account',
      'statement?month=2026-11',
      'notices',
      'usage/summary?of=account',
    ];
    const ada = await lab.student('Ada');
    // Her key is the only one of the account.
    expect(await accountOf(ada)).toMatchObject({ may_see_account: false, is_shared: false });
    for (const path of paths) {
      expect([path, (await read(ada.apiKey, path)).status]).toEqual([path, 403]);
    }
    const lead = await lab.student('Lead', { scope: 'manage' });
    expect(await accountOf(lead)).toMatchObject({ may_see_account: true, member: 'Lead' });
    for (const path of paths) {
      expect([path, (await read(lead.apiKey, path)).status]).toEqual([path, 200]);
    }
    const alone = await gateway.createKey();
    expect(await accountOf(alone)).toMatchObject({ may_see_account: true });
  });
});
