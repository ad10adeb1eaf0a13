/** What the address chooses of usage, and where bars and groups of it lead. */

import { optionOf } from '../controls/parts.js';
import { RANGES, rangeOf } from '../plots/range.js';
import type { Range, RangeName } from '../plots/range.js';
import { route, to } from '../api/router.js';
import type { Route } from '../api/router.js';

export type Dimension =
  | 'model'
  | 'key'
  | 'endpoint'
  | 'member'
  | 'group'
  | 'tag'
  | 'session'
  | 'client'
  | 'error'
  | 'account'
  | 'upstream';

/** Also names the filter of the list of requests. */
export const DIMENSIONS = {
  model: { label: 'Model', filter: 'model', none: 'no model' },
  key: { label: 'Key', filter: 'key_id', none: 'no key' },
  endpoint: { label: 'Endpoint', filter: 'endpoint', none: 'no endpoint' },
  member: { label: 'Member', filter: 'member_id', none: 'no member' },
  group: { label: 'Group', filter: 'group_id', none: 'no group' },
  session: { label: 'Session', filter: 'session', none: 'no session' },
  tag: { label: 'Tag', filter: 'tag', none: 'no tag' },
  client: { label: 'Program', filter: 'client', none: 'no program' },
  error: { label: 'Type of error', filter: 'error', none: 'no error' },
  account: { label: 'Account', filter: 'account_id', none: 'no account' },
  upstream: { label: 'Upstream account', filter: 'upstream', none: 'none named' },
} as const satisfies Record<Dimension, { label: string; filter: string; none: string }>;

/** The record of requests has these by whole days in UTC only. */
const DAILY: ReadonlySet<string> = new Set(['session', 'client']);

export const MEASURES = [
  ['spend', 'Spend'],
  ['tokens', 'Tokens'],
  ['requests', 'Requests'],
  ['errors', 'Errors'],
  ['latency', 'Latency'],
] as const;
export type Measure = (typeof MEASURES)[number][0];

/** Which groups are shown if there are many. The first three need no other reading. */
export const SORTS = {
  spend: 'charged',
  tokens: 'charged',
  requests: 'charged',
  errors: 'failed',
  latency: 'requests',
} as const;

/** What the ledger is summed by. The record of requests has all other groups. */
export const LEDGER: ReadonlySet<string> = new Set([
  'model',
  'key',
  'endpoint',
  'account',
  'upstream',
  'member',
  'group',
  'tag',
]);

/** The ledger has these since charges name who spent, but neither failed requests nor times. */
export const SPENT_BY: ReadonlySet<string> = new Set(['member', 'group', 'tag']);

/** What usage can be grouped by, if this is plotted. */
export function groupsFor<By extends Dimension>(
  measure: Measure,
  dimensions: readonly By[],
): readonly By[] {
  return dimensions.filter((name) => !(FROM_RECORD.has(measure) && SPENT_BY.has(name)));
}

/** These the ledger does not know, whatever they are grouped by. */
export const FROM_RECORD: ReadonlySet<Measure> = new Set(['errors', 'latency']);

export const TITLES: Readonly<Record<Measure, string>> = {
  spend: 'Spend in USD',
  tokens: 'Tokens',
  requests: 'Charged requests',
  errors: 'Failed requests',
  latency: 'Mean duration of requests',
};

export type GroupSort = 'charged' | 'tokens' | 'charges' | 'requests' | 'failed' | 'margin';
export type GroupOrder = 'most' | 'least';

/** By which figure of the gateway the column of a measure is sorted. */
export const COLUMN_SORTS = {
  spend: 'charged',
  tokens: 'tokens',
  requests: 'charges',
  errors: 'failed',
  latency: 'requests',
} as const satisfies Record<Measure, GroupSort>;

/** The order of the groups that the address asks for. The gateway sorts all of them. */
export function sortOf(
  query: Route['query'],
  { measure, by }: Pick<BreakdownChoice, 'measure' | 'by'>,
): { readonly sort: GroupSort; readonly order: GroupOrder | undefined } {
  const others = SPENT_BY.has(by) ? ['margin'] : ['failed', 'margin'];
  const chosen = [COLUMN_SORTS[measure], ...others].find((name) => name === query['sort']);
  const { order } = query;
  return {
    sort: (chosen as GroupSort | undefined) ?? SORTS[measure],
    order: chosen !== undefined && (order === 'most' || order === 'least') ? order : undefined,
  };
}

export interface BreakdownChoice<By extends Dimension = Dimension> {
  readonly measure: Measure;
  readonly by: By;
  /** The classes of tokens are plotted, but the groups below are those of `by`. */
  readonly chosen: By | 'class';
  readonly rangeName: RangeName;
  readonly isDaily: boolean;
  readonly range: Range;
}

export function breakdownChoice<By extends Dimension>(
  query: Route['query'],
  dimensions: readonly [By, ...By[]],
): BreakdownChoice<By> {
  const measure = optionOf(MEASURES, query['measure']);
  const by = groupsFor(measure, dimensions).find((name) => name === query['by']) ?? dimensions[0];
  const rangeName = optionOf(RANGES, query['range'] ?? '30');
  const isDaily = DAILY.has(by);
  const asOf = isDaily ? { ...query, zone: '', every: '' } : query;
  return {
    measure,
    by,
    chosen: measure === 'tokens' && query['by'] === 'class' ? 'class' : by,
    rangeName,
    isDaily,
    range: rangeOf(asOf, isDaily && rangeName === '24h' ? '7' : rangeName, Date.now()),
  };
}

export const labelOf = (chosen: Dimension | 'class') =>
  chosen === 'class' ? 'class' : DIMENSIONS[chosen].label.toLowerCase();

interface Leading {
  readonly by: Dimension;
  readonly filters?: Readonly<Record<string, string>> | undefined;
  readonly measure: Measure;
}

/** The address of the requests of a range, and of a group. */
export function requestsOf(
  { by, filters, measure }: Leading,
  range: { readonly from: string; readonly until: string },
  group?: { readonly value: string | null },
): string {
  const { model = '', key_id: keyId = '' } = route.value.query;
  return to(['requests'], {
    ...filters,
    model,
    key_id: keyId,
    ...(group?.value == null ? {} : { [DIMENSIONS[by].filter]: group.value }),
    from: range.from,
    until: range.until,
    outcome: measure === 'errors' ? 'failed' : '',
  });
}
