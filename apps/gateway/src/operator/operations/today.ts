/** The overview that the console shows first: spend, balances and traffic of today. */

import { z } from 'zod';
import type { LedgerSummary, UsageSum } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { DAY_MS } from '../../base/times.js';
import * as schema from '../../endpoints/schemas.js';
import { costFigures } from '../../endpoints/views.js';
import type { TrafficToday } from '../../observe/traffic-today.js';
import type { LiveGateway } from './live.js';
import { operation } from './operation.js';

const DAYS = { today: 1, last_7_days: 7, last_30_days: 30 } as const;

export const todayOperations = {
  showToday: operation({
    method: 'get',
    path: '/admin/today',
    summary: 'Spend, balances and requests at a glance',
    right: 'read',
    input: z.strictObject({}),
    output: schema.today,
    async run(_input, { store, live, now, sendsEvents }) {
      const today = Math.floor(now() / DAY_MS) * DAY_MS;
      const until = new Date(today + DAY_MS);
      const from = new Date(today - (DAYS.last_30_days - 1) * DAY_MS);
      const [sums, summary, traffic] = await Promise.all([
        store.readUsage({ by: ['day', 'model'], from, until }),
        live?.ledger() ?? store.summarize(),
        live?.traffic(),
      ]);
      const spendOf = (days: number) => {
        const first = until.getTime() - days * DAY_MS;
        return spendView(sums.filter(({ start }) => (start?.getTime() ?? 0) >= first));
      };
      return {
        object: 'today' as const,
        /** In UTC, like all days. */
        day: new Date(today).toISOString().slice(0, 10),
        spend: {
          today: spendOf(DAYS.today),
          last_7_days: spendOf(DAYS.last_7_days),
          last_30_days: spendOf(DAYS.last_30_days),
        },
        /** Without a receiver, events are only listed, and none is undelivered. */
        sends_events: sendsEvents,
        ledger: ledgerView(summary),
        gateway:
          live === undefined || traffic === undefined
            ? null
            : trafficView(traffic, live.credentials()),
      };
    },
  }),
} as const;

function spendView(sums: readonly UsageSum[]) {
  const models = [...new Set(sums.map(({ model }) => model ?? ''))];
  const byModel = models.map((model) => ({
    model,
    ...totalsOf(sums.filter((sum) => sum.model === model)),
  }));
  return { ...totalsOf(sums), by_model: byModel };
}

export function totalsOf(sums: readonly UsageSum[]) {
  const total = (amountOf: (sum: UsageSum) => bigint) =>
    sums.reduce((amount, sum) => amount + amountOf(sum), 0n);
  const requests = sums.reduce((count, sum) => count + sum.requests, 0);
  const charged = total(({ listPrice, writtenOff }) => listPrice - writtenOff);
  return {
    requests,
    charged_usd: formatUsd(charged),
    written_off_usd: formatUsd(total(({ writtenOff }) => writtenOff)),
    ...costFigures({
      charged,
      requests,
      cost: total(({ cost }) => cost),
      costed: sums.reduce((count, sum) => count + sum.costed, 0),
    }),
  };
}

function ledgerView(summary: LedgerSummary) {
  return {
    accounts: summary.accounts,
    keys: { ...summary.keys },
    unspent_usd: formatUsd(summary.unspent),
    overdrawn_usd: formatUsd(summary.overdrawn),
    expired_usd: formatUsd(summary.expired),
    written_off_usd: formatUsd(summary.writtenOff),
    quarantined: summary.quarantined,
    conflicts: summary.conflicts,
    orphaned_holds: summary.orphanedHolds,
    undelivered_events: summary.undeliveredEvents,
    last_seal_at: summary.lastSealAt?.toISOString() ?? null,
  };
}

function trafficView(traffic: TrafficToday, checks: ReturnType<LiveGateway['credentials']>) {
  return {
    since: traffic.since.toISOString(),
    requests: [...traffic.requests].map(([status, requests]) => ({ status, requests })),
    unbilled: [...traffic.unbilled].map(([reason, responses]) => ({ reason, responses })),
    first_byte_ms: { p50: traffic.firstByteMs.p50, p95: traffic.firstByteMs.p95 },
    upstream: {
      responses: [...traffic.upstreamResponses].map(([status, responses]) => ({
        status,
        responses,
      })),
      account_refused: traffic.upstreamRefusals,
      credentials: checks.map(({ account, outcome, reason, checkedAt }) => ({
        account: account ?? null,
        outcome,
        reason: reason ?? null,
        checked_at: checkedAt.toISOString(),
      })),
    },
  };
}
