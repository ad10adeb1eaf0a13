/** The breakdown of usage as customers and operators read it. */

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { breakdownView, readBreakdown } from '../../src/endpoints/breakdown.js';
import type { BreakdownQuery } from '../../src/endpoints/breakdown.js';
import { MODEL, postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';
import { untilSteady } from '../support/steady-time.js';
import { until } from '../support/until.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let gateway: TestGateway;
/** Two keys of one account; the first may see both. */
let manager: { readonly id: string; readonly apiKey: string };
let member: { readonly id: string; readonly apiKey: string };
let accountId: string;

beforeAll(async () => {
  await untilSteady('day');
  gateway = await startTestGateway();
  manager = await gateway.createKey({ scope: 'manage' });
  ({ account_id: accountId } = await gateway.call('showKey', { key_id: manager.id }));
  member = await gateway.createKey({ account_id: accountId, balance_usd: undefined });
  const stranger = await gateway.createKey();
  for (const apiKey of [manager.apiKey, member.apiKey, member.apiKey, stranger.apiKey]) {
    await (
      await postMessages(gateway, apiKey, userMessage('Hello'), {
        'x-session-id': 'session-one',
        'user-agent': 'tests/1.0 more',
      })
    ).text();
  }
  gateway.simulator.script({ error: { type: 'invalid_request_error', message: 'no' } });
  await (await postMessages(gateway, member.apiKey, userMessage('Hello'))).text();
  await until(async () => (await gateway.call('listRequests', {})).data.length === 5);
});
afterAll(() => gateway.stop());

const today = () => Math.floor(Date.now() / DAY_MS) * DAY_MS;
const iso = (ms: number) => new Date(ms).toISOString();
const range = () => ({ from: new Date(today()), until: new Date(today() + DAY_MS) });
const week = () => `from=${iso(today() - 6 * DAY_MS)}&until=${iso(today() + DAY_MS)}`;

interface Shown {
  readonly groups: readonly {
    readonly value: string | null;
    readonly total: Readonly<Record<string, unknown>>;
    readonly spans: readonly unknown[];
  }[];
  readonly total: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

async function read(apiKey: string, query: string) {
  const response = await fetch(`${gateway.url}/v1/dashboard/breakdown?${query}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  return { status: response.status, ...((await response.json()) as Shown) };
}

it('has the money of the ledger and the failures of the record, of the keys that one may see', async () => {
  const all = await read(manager.apiKey, `by=key&of=account&${week()}`);
  const { data } = await gateway.call('listUsage', {
    by: 'key',
    from: iso(today()),
    account_id: accountId,
  });
  const charged = new Map(data.map(({ key_id, charged_usd }) => [key_id, charged_usd]));
  expect(all.groups.map(({ value, total }) => [value, total])).toEqual([
    [member.id, expect.objectContaining({ charges: 2, requests: 3, failed: 1 })],
    [manager.id, expect.objectContaining({ charges: 1, requests: 1, failed: 0 })],
  ]);
  for (const { value, total, spans } of all.groups) {
    expect(total['charged_usd']).toBe(charged.get(value ?? ''));
    expect(spans).toEqual([null, null, null, null, null, null, total]);
    // What a request costs the operator is not for its customers.
    expect(total).not.toHaveProperty('cost_usd');
  }
  expect(all.total).toMatchObject({ charges: 3, requests: 4, failed: 1 });
  expect((await read(member.apiKey, `by=key&of=account&${week()}`)).status).toBe(403);
  const own = await read(member.apiKey, `by=model&${week()}`);
  expect(own.groups).toMatchObject([{ value: MODEL, total: { charges: 2, requests: 3 } }]);
});

it('has programs, sessions and errors, which only the record knows', async () => {
  const by = async (name: string) =>
    (await read(manager.apiKey, `by=${name}&of=account&sort=requests&${week()}`)).groups.map(
      ({ value, total }) => [value, total['requests']],
    );
  expect(await by('session')).toEqual([
    ['session-one', 3],
    [null, 1],
  ]);
  expect(await by('client')).toEqual([
    ['tests/1.0', 3],
    ['node', 1],
  ]);
  expect(await by('error')).toEqual([['invalid_request_error', 1]]);
});

it('has the tags and runs that clients name, also after the record of requests has ended', async () => {
  const named = { 'x-gateway-tag': 'customer 17', 'x-session-id': 'session-two' };
  const response = await postMessages(gateway, manager.apiKey, userMessage('Hello'), named);
  await response.text();
  const { store } = gateway.running;
  const spent = () => store.readSpending({ ...range(), by: ['tag'], accountId });
  await until(async () => (await spent()).some(({ tag }) => tag === 'customer 17'));
  await store.pruneRequests({ before: new Date(today() + DAY_MS), maxKept: 0 });
  const by = async (name: string) =>
    (await read(manager.apiKey, `by=${name}&of=account&sort=charges&${week()}`)).groups.map(
      ({ value, total }) => [value, total['charges']],
    );
  expect(await by('tag')).toEqual([
    [null, 3],
    ['customer 17', 1],
  ]);
  expect(await by('run')).toEqual([
    ['session-one', 3],
    ['session-two', 1],
  ]);
});

it('names the member that it refuses', async () => {
  for (const [query, message] of [
    [`by=account&${week()}`, /^by: /],
    [`by=session&every=hour&${week()}`, /^by: session is summed by whole days/],
    [`zone=Nowhere/Else&${week()}`, /^zone: must be a time zone/],
    [`zone=Asia/Kolkata&${week()}`, /^zone: must be whole hours from UTC/],
    [`every=hour&from=${iso(today() - 90 * DAY_MS)}&until=${iso(today())}`, /^from: covers more/],
    [`from=${iso(today() + 1)}&until=${iso(today() + DAY_MS)}`, /^from: must be a whole hour/],
    [`from=${iso(today())}&until=${iso(today())}`, /^until: must be after from/],
  ] as const) {
    const { status, error } = await read(manager.apiKey, query);
    expect([status, error?.message]).toEqual([400, expect.stringMatching(message)]);
  }
  await expect(
    gateway.call('breakDown', { by: 'upstream', from: iso(today()), until: iso(today() + 1) }),
  ).rejects.toThrow('until: must be a whole hour');
});

/** A store that has one charge of one US dollar at each of these hours. */
function storeWith(hours: readonly number[]) {
  const unit = 10n ** 14n;
  const none = {
    inputTokens: 1n,
    outputTokens: 0n,
    cacheReadInputTokens: 0n,
    cacheCreationInputTokens: 0n,
    cacheCreation1hInputTokens: 0n,
  };
  return {
    readUsage: ({ by, from, until: end }: { by: readonly string[]; from: Date; until: Date }) => {
      const found = hours.filter((hour) => hour >= from.getTime() && hour < end.getTime());
      const step = by.includes('day') ? DAY_MS : HOUR_MS;
      const isWhole = !by.includes('day') && !by.includes('hour');
      return Promise.resolve(
        found.map((hour, index) => ({
          ...(isWhole ? {} : { start: new Date(Math.floor(hour / step) * step) }),
          model: `model ${String(index % 3)}`,
          requests: 1,
          usage: none,
          listPrice: unit,
          fees: 0n,
          cost: unit / 2n,
          costed: 1,
          writtenOff: 0n,
        })),
      );
    },
    readSpending: () => Promise.reject(new Error('is not asked')),
    spendingNamedSince: () => Promise.resolve(undefined),
    sumRequests: () => Promise.resolve([]),
    requestsRecordedFrom: () => Promise.resolve(undefined),
  };
}

async function breakDown(hours: readonly string[], query: Partial<BreakdownQuery>, now?: string) {
  const asked: BreakdownQuery = {
    by: 'model',
    from: new Date('2026-10-24T22:00:00Z'),
    until: new Date('2026-10-26T23:00:00Z'),
    every: 'day',
    zone: 'Europe/Berlin',
    sort: 'charged',
    top: 1,
    ...query,
  };
  const store = storeWith(hours.map((hour) => Date.parse(hour)));
  const at = Date.parse(now ?? '2026-11-01T00:00:00Z');
  return breakdownView(await readBreakdown(asked, {}, { store, now: at }));
}

// F255: a day of the viewer begins at another hour of UTC, and has 25 hours when summer time ends:
// each hour is in exactly one day, and all others than the largest groups are one.
it('sums days in the time zone of the viewer', async () => {
  const hours = Array.from({ length: 49 }, (_, index) =>
    iso(Date.parse('2026-10-24T22:00:00Z') + index * HOUR_MS),
  );
  const { starts, groups, total } = await breakDown(hours, {});
  expect(starts).toEqual(['2026-10-24T22:00:00.000Z', '2026-10-25T23:00:00.000Z']);
  const perDay = [0, 1].map((day) =>
    groups.reduce((sum, { spans }) => sum + (spans[day]?.charges ?? 0), 0),
  );
  expect(perDay).toEqual([25, 24]);
  expect(groups.map(({ value, others }) => [value, others])).toEqual([
    ['model 0', 0],
    [null, 2],
  ]);
  expect(total.charged_usd).toBe('49');
});

// F256: today is not over: it is compared with the same part of the earlier day, not all of it.
it('compares with as much time before as has passed', async () => {
  const found = await breakDown(
    ['2026-11-02T05:00:00Z', '2026-11-01T05:00:00Z', '2026-11-01T20:00:00Z'],
    {
      from: new Date('2026-11-02T00:00:00Z'),
      until: new Date('2026-11-03T00:00:00Z'),
      zone: 'UTC',
    },
    '2026-11-02T09:30:00Z',
  );
  expect(found.before).toEqual({
    from: '2026-11-01T00:00:00.000Z',
    until: '2026-11-01T10:00:00.000Z',
  });
  expect([found.total.charged_usd, found.total_before.charged_usd]).toEqual(['1', '1']);
});
