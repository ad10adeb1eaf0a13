/** What an operator asks first: money, failures, the upstream, and accounts that need attention. */

import { z } from 'zod';
import type { AccountRecord, BalanceStore, RequestSum, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import manifest from '../../../package.json' with { type: 'json' };
import { DAY_MS, HOUR_MS } from '../../base/times.js';
import { lastsUntil, paceDays, paceOf } from '../../ledger/runway.js';
import * as schema from '../../endpoints/schemas.js';
import { operation } from './operation.js';
import { totalsOf } from './today.js';

/** Accounts that spend less than so many others are not looked at. */
const MAX_ACCOUNTS = 200;
const MAX_NEW = 10;
const MAX_LOSING = 10;
const RUNS_OUT_MS = 3 * DAY_MS;
/** Spend is unusual if it is so many times that of a usual day, and not small. */
const UNUSUAL_FACTOR = 5n;
const UNUSUAL_AMOUNT = 10n ** 14n;
/** So many failures in an hour are unusual, if most requests fail. */
const UNUSUAL_FAILURES = 50;

type Store = Pick<
  BalanceStore,
  'readUsage' | 'sumRequests' | 'getAccount' | 'readUnspent' | 'listAccounts'
>;

export const homeOperations = {
  showHome: operation({
    method: 'get',
    path: '/admin/home',
    summary: 'Money, failures, the upstream, and accounts that need attention',
    right: 'read',
    input: z.strictObject({}),
    output: schema.home,
    async run(_input, { store, now }) {
      const at = now();
      const [spend, lastHour, accounts, newest] = await Promise.all([
        readSpend(store, at),
        readLastHour(store, at),
        readAccounts(store, at),
        store.listAccounts({ limit: MAX_NEW, order: 'newest' }),
      ]);
      const failing = lastHour.byAccount;
      return {
        object: 'home' as const,
        version: manifest.version,
        spend,
        last_hour: lastHour.view,
        running_out: await runningOut(accounts, store, at),
        unusual: await unusual(accounts, failing, store),
        losing: await readLosses(store, at),
        new_accounts: newest
          .filter(({ createdAt }) => at - createdAt.getTime() < 7 * DAY_MS)
          .map(({ id, name, createdAt, balance }) => ({
            account_id: id,
            name,
            created_at: createdAt.toISOString(),
            balance_usd: formatUsd(balance),
          })),
      };
    },
  }),
} as const;

async function readSpend(store: Store, now: number) {
  const date = new Date(now);
  const monthStart = (back: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - back);
  const [today, thisMonth, lastMonth] = [dayOf(now), monthStart(0), monthStart(1)];
  const tomorrow = today + DAY_MS;
  const ranges = {
    today: [today, tomorrow],
    yesterday: [today - DAY_MS, today],
    this_month: [thisMonth, tomorrow],
    // The last month may be shorter.
    last_month_so_far: [lastMonth, Math.min(lastMonth + tomorrow - thisMonth, thisMonth)],
    last_month: [lastMonth, thisMonth],
  } as const;
  const sums = await store.readUsage({
    by: ['day'],
    from: new Date(Math.min(lastMonth, today - DAY_MS)),
    until: new Date(tomorrow),
  });
  const spendOf = ([from, until]: readonly [number, number]) => ({
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    ...totalsOf(
      sums.filter(({ start }) => start !== undefined && +start >= from && +start < until),
    ),
  });
  return {
    today: spendOf(ranges.today),
    yesterday: spendOf(ranges.yesterday),
    this_month: spendOf(ranges.this_month),
    last_month_so_far: spendOf(ranges.last_month_so_far),
    last_month: spendOf(ranges.last_month),
  };
}

async function readLastHour(store: Store, now: number) {
  const until = new Date(Math.ceil((now + 1) / FIVE_MINUTES_MS) * FIVE_MINUTES_MS);
  const from = new Date(until.getTime() - HOUR_MS);
  const maxSums = 10_000;
  const without = 'spend';
  const [sums, asked] = await Promise.all([
    store.sumRequests({ by: ['account', 'upstream', 'status'], from, until, without, maxSums }),
    store.sumRequests({
      by: ['upstream'],
      without,
      from: new Date(Math.floor((now - DAY_MS) / HOUR_MS) * HOUR_MS),
      until: new Date(Math.ceil((now + 1) / HOUR_MS) * HOUR_MS),
      maxSums,
    }),
  ]);
  const upstreams = asked
    .filter(({ upstreamAccount, firstBytes }) => upstreamAccount !== undefined || firstBytes > 0)
    .map(({ upstreamAccount: name }) => {
      const its = sums.filter(
        // Requests that the gateway refused by itself asked no upstream account.
        ({ upstreamAccount, firstBytes }) =>
          upstreamAccount === name && (name !== undefined || firstBytes > 0),
      );
      const firstBytes = total(its, 'firstBytes');
      return {
        upstream_account: name ?? null,
        requests: total(its, 'requests'),
        failed: total(
          its.filter(({ status = 0 }) => status >= 500),
          'requests',
        ),
        mean_first_byte_ms:
          firstBytes === 0 ? null : Math.round(total(its, 'firstByteMs') / firstBytes),
      };
    });
  return {
    byAccount: groupedByAccount(sums),
    view: {
      from: from.toISOString(),
      requests: total(sums, 'requests'),
      failed: total(sums, 'failed'),
      upstreams,
    },
  };
}

const FIVE_MINUTES_MS = 300_000;

function groupedByAccount(sums: readonly RequestSum[]): ReadonlyMap<string, readonly RequestSum[]> {
  const groups = new Map<string, RequestSum[]>();
  for (const sum of sums) {
    const { accountId } = sum;
    if (accountId === undefined) continue;
    const group = groups.get(accountId);
    if (group === undefined) groups.set(accountId, [sum]);
    else group.push(sum);
  }
  return groups;
}

function total(
  sums: readonly RequestSum[],
  figure: 'requests' | 'failed' | 'firstBytes' | 'firstByteMs',
): number {
  return sums.reduce((sum, each) => sum + each[figure], 0);
}

interface Spending {
  readonly accountId: string;
  readonly spent: bigint;
  readonly lastDay: bigint;
  readonly usual: bigint;
}

/** What the accounts that spent most in the days of the pace spent, and in the last 24 hours. */
async function readAccounts(store: Store, now: number): Promise<readonly Spending[]> {
  const hour = Math.ceil((now + 1) / HOUR_MS) * HOUR_MS;
  const [dayAgo, weekBefore] = [new Date(hour - DAY_MS), new Date(hour - 8 * DAY_MS)];
  const largest = { by: ['account'], sort: 'charged', top: MAX_ACCOUNTS } as const;
  const [pace, lastDay, before] = await Promise.all([
    store.readUsage({ ...largest, ...paceDays(now) }),
    store.readUsage({ ...largest, from: dayAgo, until: new Date(hour) }),
    store.readUsage({ by: ['account'], from: weekBefore, until: dayAgo }),
  ]);
  const [spent, spentLastDay, spentBefore] = [pace, lastDay, before].map(
    (sums) => new Map(sums.map((sum) => [sum.accountId ?? '', chargedOf(sum)])),
  );
  const ids = new Set([...(spent?.keys() ?? []), ...(spentLastDay?.keys() ?? [])]);
  return [...ids].map((accountId) => ({
    accountId,
    spent: spent?.get(accountId) ?? 0n,
    lastDay: spentLastDay?.get(accountId) ?? 0n,
    usual: (spentBefore?.get(accountId) ?? 0n) / 7n,
  }));
}

async function runningOut(accounts: readonly Spending[], store: Store, now: number) {
  const found = await Promise.all(
    accounts.map(async ({ accountId, spent }) => {
      const account = await store.getAccount(accountId);
      if (account === undefined || !mayRunOut(account, spent)) return [];
      const unspent = await store.readUnspent(accountId);
      const end = unspent && lastsUntil(unspent, paceOf(account.createdAt, spent, now));
      if (end === undefined || end.getTime() > now + RUNS_OUT_MS) return [];
      return [
        {
          account_id: accountId,
          name: account.name,
          balance_usd: formatUsd(account.balance),
          lasts_until: end.toISOString(),
        },
      ];
    }),
  );
  return found.flat().sort((a, b) => (a.lasts_until < b.lasts_until ? -1 : 1));
}

/** Spending was at most as fast as if all of it had been on one day. */
function mayRunOut({ balance, state }: AccountRecord, spent: bigint): boolean {
  return state === 'active' && balance <= spent * BigInt(RUNS_OUT_MS / DAY_MS);
}

/** Margins below zero this month. A sum with a charge that has no cost has no margin. */
async function readLosses(store: Store, now: number) {
  const date = new Date(now);
  const from = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()));
  const until = new Date(dayOf(now) + DAY_MS);
  const [byAccount, byModel] = await Promise.all([
    store.readUsage({ by: ['account'], from, until }),
    store.readUsage({ by: ['model'], from, until }),
  ]);
  const [accounts, models] = [byAccount, byModel].map((sums) =>
    sums
      .filter((sum) => sum.costed === sum.requests && sum.cost > chargedOf(sum))
      .map((sum) => ({ sum, margin: chargedOf(sum) - sum.cost }))
      .sort((a, b) => (a.margin < b.margin ? -1 : 1)),
  ) as [Loss[], Loss[]];
  const named = await Promise.all(
    accounts.slice(0, MAX_LOSING).map(async ({ sum: { accountId = '' }, margin }) => ({
      account_id: accountId,
      name: (await store.getAccount(accountId))?.name ?? '',
      margin_usd: formatUsd(margin),
    })),
  );
  return {
    accounts: named,
    accounts_in_all: accounts.length,
    models: models.map(({ sum: { model = '' }, margin }) => ({
      model,
      margin_usd: formatUsd(margin),
    })),
  };
}

interface Loss {
  readonly sum: UsageSum;
  readonly margin: bigint;
}

async function unusual(
  accounts: readonly Spending[],
  lastHour: ReadonlyMap<string, readonly RequestSum[]>,
  store: Store,
) {
  const spending = new Map(accounts.map((each) => [each.accountId, each]));
  const ids = new Set([...spending.keys(), ...lastHour.keys()]);
  const found = await Promise.all(
    [...ids].map(async (accountId) => {
      const { lastDay = 0n, usual = 0n } = spending.get(accountId) ?? {};
      const sums = lastHour.get(accountId) ?? [];
      const [requests, failed] = [total(sums, 'requests'), total(sums, 'failed')];
      const isSpend = lastDay >= UNUSUAL_AMOUNT && lastDay >= usual * UNUSUAL_FACTOR;
      const isFailing = failed >= UNUSUAL_FAILURES && failed * 2 > requests;
      if (!isSpend && !isFailing) return [];
      const account = await store.getAccount(accountId);
      if (account?.state !== 'active') return [];
      return [
        {
          account_id: accountId,
          name: account.name,
          reason: isSpend ? ('spend' as const) : ('failures' as const),
          charged_usd: formatUsd(lastDay),
          usual_usd: formatUsd(usual),
          failed,
          requests,
        },
      ];
    }),
  );
  return found.flat();
}

function chargedOf({ listPrice, writtenOff }: UsageSum): bigint {
  return listPrice - writtenOff;
}

function dayOf(now: number): number {
  return Math.floor(now / DAY_MS) * DAY_MS;
}
