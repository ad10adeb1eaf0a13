/** Usage and breakdowns by who spent, as operators and holders read them. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Spender } from '@gateway/balance-store';
import { settlement } from '@gateway/balance-store/testing';
import { parseUsd } from '@gateway/billing';
import { startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';

const DAY_MS = 86_400_000;
const BY = { by: { name: 'tests' } } as const;

let gateway: TestGateway;
let manager: { readonly id: string; readonly apiKey: string };
let accountId: string;
let course: string;
const members: { readonly id: string; readonly name: string; readonly groups: string }[] = [];
let range: { readonly from: string; readonly until: string };

beforeAll(async () => {
  await untilSteady('day');
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  range = { from: new Date(today).toISOString(), until: new Date(today + DAY_MS).toISOString() };
  gateway = await startTestGateway();
  const { store } = gateway.running;
  manager = await gateway.createKey({ scope: 'manage' });
  ({ account_id: accountId } = await gateway.call('showKey', { key_id: manager.id }));
  const group = await store.createGroup({ accountId, name: 'Databases' }, BY);
  if (group.outcome !== 'created') throw new Error(group.outcome);
  course = group.record.id;
  for (const [name, centre] of [
    ['Ada', '17'],
    ['Bea', '17'],
    ['Cyd', '42'],
  ] as const) {
    const created = await store.createMember(
      {
        accountId,
        name,
        metadata: { cost_center: centre },
        groupId: name === 'Cyd' ? undefined : course,
      },
      BY,
    );
    if (created.outcome !== 'created') throw new Error(created.outcome);
    members.push(created.record);
  }
  const [ada, bea, cyd] = members.map(({ id, groups }) => ({ memberId: id, groups }));
  const charges: readonly (Spender | undefined)[] = [
    { ...ada, tag: '=1+1' },
    { ...ada, tag: '=1+1', run: 'run-1' },
    { ...ada },
    { ...bea, tag: 'shop' },
    { ...bea },
    { ...cyd },
    undefined,
  ];
  for (const spender of charges) {
    await store.settle(settlement(manager.id, { spender, cost: 5n }), { deadlineMs: 20_000 });
  }
});
afterAll(() => gateway.stop());

const usage = async (query: Readonly<Record<string, unknown>>) =>
  (await gateway.call('listUsage', { ...range, account_id: accountId, ...query })).data;

const breakdown = (query: Readonly<Record<string, unknown>>) =>
  gateway.call('breakDown', { ...range, account_id: accountId, ...query });

async function get(path: string, query: Readonly<Record<string, string>>) {
  const response = await fetch(`${gateway.url}${path}?${new URLSearchParams(query).toString()}`, {
    headers: { authorization: `Bearer ${manager.apiKey}` },
  });
  return { status: response.status, text: await response.text() };
}

it('sums usage by member with the names, and what names nobody; together they are all usage', async () => {
  const sums = await usage({ by: 'member', sort: 'requests' });
  expect(sums.map((sum) => [sum.member_name, sum.requests])).toEqual([
    ['Ada', 3],
    ['Bea', 2],
    [null, 1],
    ['Cyd', 1],
  ]);
  const total = (rows: readonly { readonly charged_usd: string }[]) =>
    rows.reduce((sum, { charged_usd: usd }) => sum + parseUsd(usd), 0n);
  const all = total(await usage({ by: 'key' }));
  expect(all).toBeGreaterThan(0n);
  for (const by of ['member', 'group', 'tag', 'run', 'member,tag', 'day,group,model']) {
    expect([by, total(await usage({ by }))]).toEqual([by, all]);
  }
  expect(sums[0]).toHaveProperty('margin_usd');
});

it('sums usage by the values of metadata, of the first groups, and of a group or a tag', async () => {
  const rows = async (query: Readonly<Record<string, unknown>>) =>
    (await usage({ sort: 'requests', ...query })).map((sum) => [
      sum.metadata ?? sum.tag ?? sum.group_name ?? sum.member_name ?? null,
      sum.requests,
      sum.others,
    ]);
  expect(await rows({ by: 'member.metadata.cost_center' })).toEqual([
    ['17', 5, 0],
    [null, 1, 0],
    ['42', 1, 0],
  ]);
  expect(await rows({ by: 'member', top: 1 })).toEqual([
    ['Ada', 3, 0],
    [null, 1, 0],
    [null, 3, 2],
  ]);
  expect(await rows({ by: 'group', group_id: course })).toEqual([['Databases', 5, 0]]);
  expect(await rows({ by: 'member', tag: '=1+1' })).toEqual([['Ada', 2, 0]]);
  expect(await rows({ by: 'tag', member_id: members[1]?.id })).toEqual([
    [null, 1, 0],
    ['shop', 1, 0],
  ]);
});

it('breaks down by member, group, tag and run, with names, and nothing is missing', async () => {
  const { data } = await gateway.call('listUsage', {
    ...range,
    by: 'account',
    account_id: accountId,
  });
  const of = async (by: string) => {
    const found = await breakdown({ by });
    expect(found.total.charged_usd).toBe(data[0]?.charged_usd);
    expect(found.not_recorded?.total.charged_usd).toBe('0');
    expect(found.recorded_from).toBe(null);
    expect(found.named_from).not.toBe(null);
    return found.groups.map(({ value, name, total }) => [name ?? value, total.charges]);
  };
  expect(await of('member')).toEqual([
    ['Ada', 3],
    ['Bea', 2],
    [null, 1],
    ['Cyd', 1],
  ]);
  expect(await of('group')).toEqual([
    ['Databases', 5],
    [null, 2],
  ]);
  expect(await of('run')).toEqual([
    [null, 6],
    ['run-1', 1],
  ]);
  expect(await of('tag')).toEqual([
    [null, 4],
    ['=1+1', 2],
    ['shop', 1],
  ]);
  expect(await of('group.metadata.none')).toEqual([[null, 7]]);
  const first = await breakdown({ by: 'member', top: 1, sort: 'charges' });
  expect(first.groups.map(({ name, others, total }) => [name, others, total.charges])).toEqual([
    ['Ada', 0, 3],
    [null, 3, 4],
  ]);
  // By the hour too, which the record of requests does not know.
  const hourly = await breakdown({ by: 'tag', every: 'hour' });
  const charges = hourly.groups.flatMap(({ spans }) => spans.map((span) => span?.charges ?? 0));
  expect(charges.reduce((sum, count) => sum + count, 0)).toBe(7);
});

it('breaks down the charges of a member, a group or a tag, and refuses what it cannot know', async () => {
  const charges = async (query: Readonly<Record<string, unknown>>) =>
    (await breakdown(query)).total.charges;
  expect(await charges({ by: 'model', member_id: members[0]?.id })).toBe(3);
  expect(await charges({ by: 'key', group_id: course })).toBe(5);
  expect(await charges({ by: 'member', tag: 'shop' })).toBe(1);
  expect(await charges({ by: 'tag', run: 'run-1' })).toBe(1);
  for (const [query, message] of [
    [{ by: 'endpoint', member_id: members[0]?.id }, /^member_id: cannot be combined with by=end/],
    [{ by: 'member', sort: 'failed' }, /^sort: must be another figure/],
    [{ by: 'member.metadata.' }, /^by: must be one of/],
    [{ by: 'model', group_id: 'x' }, /^group_id: must be the id of a group/],
  ] as const) {
    await expect(breakdown(query)).rejects.toThrow(message);
  }
  await expect(usage({ by: 'member,endpoint' })).rejects.toThrow(
    /^by: endpoint cannot be combined/,
  );
  await expect(usage({ by: 'member,member.metadata.' })).rejects.toThrow(/^by: must be some of/);
  await expect(usage({ by: 'member.metadata.a,group.metadata.b' })).rejects.toThrow(
    /^by: must not have metadata of several names/,
  );
});

it('is also a table, whose rows add up, for operators and for holders', async () => {
  const holder = await get('/v1/dashboard/breakdown', { ...range, by: 'member', of: 'account' });
  expect(holder.status).toBe(200);
  const { groups } = JSON.parse(holder.text) as { groups: { name: string | null }[] };
  expect(groups.map(({ name }) => name)).toEqual(['Ada', 'Bea', null, 'Cyd']);
  const csv = await get('/v1/dashboard/breakdown', {
    ...range,
    by: 'tag',
    of: 'account',
    format: 'csv',
  });
  const [header = '', ...rows] = csv.text.trimEnd().split('\r\n');
  expect(header).toMatch(/^tag,name,start,charged_usd,charges,/);
  expect(header).not.toMatch(/cost/);
  // No cell is a formula.
  expect(rows.map((row) => row.split(',')[0])).toEqual(['', "'=1+1", 'shop']);
  expect(rows.map((row) => Number(row.split(',')[4]))).toEqual([4, 2, 1]);
  const token = gateway.running.dataDir?.secret('admin-token') ?? '';
  const asked = new URLSearchParams({
    ...range,
    by: 'member',
    format: 'csv',
    account_id: accountId,
  });
  const operator = await fetch(`${gateway.adminUrl}/admin/breakdown?${asked.toString()}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const lines = (await operator.text()).trimEnd().split('\r\n');
  expect(lines[0]).toMatch(/^member,name,start,.*cost_usd/);
  expect(lines.slice(1).map((line) => line.split(',')[1])).toEqual(['Ada', 'Bea', 'none', 'Cyd']);
});

it('is a table of a statement, which adds up to its charges', async () => {
  const month = range.from.slice(0, 7);
  const statement = await gateway.call('showStatement', { account_id: accountId, month });
  const rows = statement.by_member ?? [];
  expect(rows.map(({ name, requests }) => [name, requests])).toEqual([
    ['Ada', 3],
    ['Bea', 2],
    [null, 1],
    ['Cyd', 1],
  ]);
  const total = rows.reduce((sum, { amount_usd: usd }) => sum - parseUsd(usd), 0n);
  expect(total).toBe(parseUsd(statement.charged_usd));
  const page = await get('/v1/dashboard/statement', { month, format: 'html' });
  expect(page.text).toMatch(/Charges by member.*<td>Ada<\/td><td class="n">3<\/td>/s);
  expect(page.text).toMatch(/<td>no member<\/td><td class="n">1<\/td>/);
  const other = await gateway.createKey();
  const { account_id: otherId } = await gateway.call('showKey', { key_id: other.id });
  const without = await gateway.call('showStatement', { account_id: otherId, month });
  expect(without).not.toHaveProperty('by_member');
});
