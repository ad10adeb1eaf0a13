/** What accounts brought in thirty days, by their ids, from one sum of the ledger. */

import { useMemo } from 'preact/hooks';
import type { Sent } from '../shared/api/gateway-types.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { rangeOf } from '../shared/plots/range.js';
import { DAY_MS } from '../shared/text/times.js';
import { parseUsd } from '../shared/text/usd.js';
import { call } from './session.js';

interface AccountFigures {
  readonly revenue: string;
  /** `undefined` if a charge has no recorded cost. */
  readonly margin: string | undefined;
  readonly failed: number;
  readonly requests: number;
  /** What was charged on each day, the oldest first. */
  readonly days: readonly bigint[];
}

export interface FiguresOfAccounts {
  /** @returns `undefined` if they are not known; those of an account without charges are zeros */
  readonly of: (id: string) => AccountFigures | undefined;
}

/** The endpoint sums so many accounts one by one. */
const MOST = 100;
const PACE_DAYS = 7;

export function useAccountFigures(): Resource<FiguresOfAccounts> {
  const { from, until } = rangeOf({}, '30', Date.now());
  const query = {
    by: 'account',
    from: new Date(from).toISOString(),
    until: new Date(until).toISOString(),
    top: MOST,
  } as const;
  const found = useResource(`accounts ${JSON.stringify(query)}`, (signal) =>
    call('GET /admin/breakdown', { query, signal }),
  );
  const value = useMemo(() => found.value && figuresOf(found.value), [found.value]);
  return { ...found, value };
}

function figuresOf({ groups, starts }: Sent<'costedBreakdown'>): FiguresOfAccounts {
  const known = new Map(
    groups.flatMap(({ value, total, spans }) =>
      value === null
        ? []
        : [
            [
              value,
              {
                revenue: total.charged_usd,
                margin: total.margin_usd,
                failed: total.failed,
                requests: total.requests,
                days: spans.map((span) => parseUsd(span?.charged_usd ?? '0')),
              },
            ] as const,
          ],
    ),
  );
  const isWhole = groups.every(({ others }) => others === 0);
  const nothing = {
    revenue: '0',
    margin: '0',
    failed: 0,
    requests: 0,
    days: starts.map(() => 0n),
  };
  return { of: (id) => known.get(id) ?? (isWhole ? nothing : undefined) };
}

type Account = Pick<Sent<'account'>, 'balance_usd' | 'created_at'>;

/**
 * At the pace of the last days, as the gateway foresees it, but without what expires before.
 *
 * @returns `undefined` if nothing was spent
 */
export function daysLeft(
  { balance_usd: usd, created_at: createdAt }: Account,
  { days }: AccountFigures,
  nowMs: number,
): number | undefined {
  const balance = parseUsd(usd);
  if (balance <= 0n) return 0;
  const spent = days.slice(-PACE_DAYS).reduce((sum, each) => sum + each, 0n);
  if (spent === 0n) return undefined;
  const firstDay = (Math.floor(nowMs / DAY_MS) - PACE_DAYS + 1) * DAY_MS;
  // A new account has spent all of it in less time, but less than a day says nothing of a pace.
  const from = Math.min(Math.max(firstDay, Date.parse(createdAt)), nowMs - DAY_MS);
  return Number((balance * BigInt(nowMs - from)) / spent / BigInt(DAY_MS));
}
