/** Keys, links to them and sessions. */

import { z } from 'zod';
import type { CapPeriod, Naming, OperatorBounds } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import type { KeyWithUse } from '../../ledger/used-by-keys.js';
import { cellsOf, linesOf, membersFrom, pageColumnsOf, viewFor } from '../resource.js';
import { account } from './accounts.js';
import { count, firstCredit, isoOf, metadataText, orNull, text, time, usd } from './basics.js';

const capUse = z.strictObject({ cap_usd: orNull(usd), used_usd: usd });
const seenBy = membersFrom<KeyWithUse>();

export const keyMembers = {
  object: seenBy.everyone(z.literal('api_key'), () => 'api_key' as const),
  id: seenBy.everyone(text, ({ id }) => id, 'id'),
  account_id: seenBy.everyone(text, ({ accountId }) => accountId, 'account'),
  name: seenBy.everyone(text, ({ name }) => name, 'name'),
  metadata: seenBy.everyone(z.record(text, text), ({ metadata }) => metadata, 'metadata'),
  hint: seenBy.everyone(
    text.meta({ description: 'the first and last characters of its credential' }),
    ({ hint }) => hint,
    'key',
  ),
  state: seenBy.everyone(z.enum(['active', 'suspended', 'revoked']), ({ state }) => state, 'state'),
  standing: seenBy.everyone(
    z.enum(['active', 'exhausted', 'suspended', 'revoked', 'expired']).meta({
      description:
        'whether the key works, and if not, why: a suspended account and a used-up balance count too',
    }),
    ({ standing }) => standing,
    'state',
  ),
  is_active: seenBy.everyone(
    z.boolean().meta({
      description: 'whether its standing is active; a cap that is used up does not change this',
    }),
    ({ isActive }) => isActive,
  ),
  scope: seenBy.everyone(z.enum(['use', 'manage']), ({ scope }) => scope, 'scope'),
  member_id: seenBy.everyone(
    orNull(text).meta({ description: 'whose key it is' }),
    ({ memberId }) => memberId,
    'member',
  ),
  names_members: seenBy.operators(
    orNull(
      z.strictObject({ unknown: z.enum(['refuse', 'create']), group_id: text.exactOptional() }),
    ).meta({
      description:
        'whether its requests may name the members that spend, and what becomes of an unknown ' +
        'name: it is refused, or a member is created, in the group if there is one',
    }),
    ({ naming }) => (naming === null ? null : namingView(naming)),
    'names members',
  ),
  models: seenBy.everyone(
    orNull(z.array(text)).meta({ description: 'null: all' }),
    ({ models }) => models,
    'models',
  ),
  allowed_networks: seenBy.everyone(
    orNull(z.array(text)).meta({ description: 'null: all' }),
    ({ allowedNetworks }) => allowedNetworks,
    'networks',
    'all',
  ),
  /** The balance of its account, which other keys may share. */
  balance_usd: seenBy.everyone(usd, ({ balance }) => formatUsd(balance), 'balance'),
  spent_usd: seenBy.everyone(usd, ({ spent }) => formatUsd(spent), 'spent'),
  credited_usd: seenBy.everyone(usd, ({ credited }) => formatUsd(credited), 'credited'),
  written_off_usd: seenBy.everyone(usd, ({ writtenOff }) => formatUsd(writtenOff), 'written off'),
  limits: seenBy.everyone(
    z.strictObject({ concurrency: count, burst: count, requests_per_minute: count }),
    ({ limits: { concurrency, burst, requestsPerMinute } }) => ({
      concurrency,
      burst,
      requests_per_minute: requestsPerMinute,
    }),
    'limits',
  ),
  caps: seenBy.everyone(
    z.strictObject({ day: capUse, week: capUse, month: capUse, total: capUse }),
    (key) => ({
      day: capView(key, 'day'),
      week: capView(key, 'week'),
      month: capView(key, 'month'),
      total: capView(key, 'total'),
    }),
    'caps',
  ),
  expires_at: seenBy.everyone(
    orNull(time),
    ({ expiresAt }) => isoOf(expiresAt),
    'expires',
    'never',
  ),
  previous_credential_until: seenBy.everyone(orNull(time), ({ previousUntil }) =>
    isoOf(previousUntil),
  ),
  created_at: seenBy.everyone(time, ({ createdAt }) => createdAt.toISOString(), 'created'),
  last_charged_at: seenBy.everyone(
    orNull(time),
    ({ lastChargedAt }) => isoOf(lastChargedAt),
    'last charge',
    'never',
  ),
  external_id: seenBy.operators(orNull(text), ({ externalId }) => externalId, 'external id'),
} as const;

function namingView({ unknown, groupId }: Naming) {
  return groupId === undefined ? { unknown } : { unknown, group_id: groupId };
}

/** The amount used is reported even if there is no cap. */
function capView({ caps, used }: KeyWithUse, period: CapPeriod) {
  const cap = caps[period];
  return { cap_usd: cap === null ? null : formatUsd(cap), used_usd: formatUsd(used[period]) };
}

export const { schema: key, view: keyView } = viewFor('operators', keyMembers, { id: 'Key' });

/** A key in the command line. */
export const keyLines = linesOf(keyMembers, [
  'id',
  'account_id',
  'name',
  'hint',
  ['state', stateText],
  'balance_usd',
  'spent_usd',
  'written_off_usd',
  'credited_usd',
  [
    'limits',
    ({ limits: { concurrency, burst, requests_per_minute: perMinute } }) =>
      `${String(concurrency)} at once, burst ${String(burst)}, ${String(perMinute)} per minute`,
  ],
  ['caps', ({ caps }) => capsText(caps)],
  ['models', ({ models }) => models?.join(', ') ?? 'all'],
  'allowed_networks',
  'scope',
  'member_id',
  [
    'names_members',
    ({ names_members: naming }) =>
      naming === null
        ? undefined
        : [naming.unknown, ...(naming.group_id === undefined ? [] : [naming.group_id])].join(':'),
  ],
  'external_id',
  ['metadata', metadataText],
  'expires_at',
  'created_at',
  'last_charged_at',
]);

/** A list of keys in the command line. */
export const keyCells = cellsOf(
  keyMembers,
  ['name', 'hint', ['state', stateText], 'balance_usd', 'spent_usd'],
  ['hint', 'spent_usd', 'state', 'id, account'],
);

/** A list of keys on the pages. */
export const keyColumns = pageColumnsOf(keyMembers, [
  'name',
  'account_id',
  'standing',
  'balance_usd',
  'spent_usd',
  'caps',
  'last_charged_at',
]);

function stateText({ state, is_active }: { readonly state: string; readonly is_active: boolean }) {
  return state === 'active' && !is_active ? 'inactive (spent or expired)' : state;
}

type Caps = Readonly<
  Record<CapPeriod, { readonly cap_usd: string | null; readonly used_usd: string }>
>;

function capsText(caps: Caps): string {
  const set = Object.entries(caps).filter(([, { cap_usd }]) => cap_usd !== null);
  if (set.length === 0) return 'none';
  return set
    .map(([period, { cap_usd, used_usd }]) => {
      const per = period === 'total' ? 'in total' : `per ${period}`;
      return `${used_usd} of ${cap_usd ?? ''} USD ${per}`;
    })
    .join(', ');
}

const operatorBounds = z.strictObject({
  suspended: z.boolean().meta({ description: 'only the operator can resume the key' }),
  cap_day_usd: orNull(usd),
  cap_week_usd: orNull(usd),
  cap_month_usd: orNull(usd),
  cap_total_usd: orNull(usd),
  concurrency: orNull(count),
  burst: orNull(count),
  requests_per_minute: orNull(count),
  expires_at: orNull(time),
  models: orNull(z.array(text)),
  allowed_networks: orNull(z.array(text)),
});

const ofHolder = viewFor('holders', keyMembers, { id: 'OwnKey' });

/** A key as its holder sees it, with what the operator decided about it. */
export const holderKey = ofHolder.schema
  .extend({
    operator_bounds: orNull(operatorBounds).meta({
      description:
        'what the operator set: keys with the scope manage may make it stricter, but not looser',
    }),
  })
  .meta({ id: 'HolderKey' });

/** @param bounds - `undefined` if no operator decided anything about the key. */
export function holderKeyView(key: KeyWithUse, bounds: OperatorBounds | undefined) {
  return {
    ...ofHolder.view(key),
    operator_bounds: bounds === undefined ? null : boundsView(bounds),
  };
}

function boundsView(bounds: OperatorBounds) {
  const { isSuspended, caps, limits, expiresAt, models, allowedNetworks } = bounds;
  const capOf = (cap: bigint | undefined) => (cap === undefined ? null : formatUsd(cap));
  return {
    suspended: isSuspended,
    cap_day_usd: capOf(caps.day),
    cap_week_usd: capOf(caps.week),
    cap_month_usd: capOf(caps.month),
    cap_total_usd: capOf(caps.total),
    concurrency: limits.concurrency ?? null,
    burst: limits.burst ?? null,
    requests_per_minute: limits.requestsPerMinute ?? null,
    expires_at: isoOf(expiresAt),
    models,
    allowed_networks: allowedNetworks,
  };
}

export const newHolderKey = holderKey
  .extend({ api_key: orNull(text) })
  .meta({ id: 'NewHolderKey', description: 'api_key: shown only once' });

const rotation = {
  members: { replayed: z.boolean(), api_key: orNull(text) },
  description: 'api_key: null if this rotation was done before',
};

export const rotatedKey = key
  .extend(rotation.members)
  .meta({ id: 'RotatedKey', description: rotation.description });

export const rotatedHolderKey = holderKey
  .extend(rotation.members)
  .meta({ id: 'RotatedHolderKey', description: rotation.description });

export const newKey = key
  .extend({
    account,
    first_credit: orNull(firstCredit),
    replayed: z.boolean(),
    api_key: orNull(text),
    message: text.exactOptional(),
  })
  .meta({ id: 'NewKey' });

export const link = z
  .strictObject({
    object: z.literal('link'),
    key_id: text,
    link: text,
    path: text.meta({ description: 'below the address that clients use' }),
    expires_at: time,
  })
  .meta({ id: 'Link' });

export const keyLink = z
  .strictObject({
    object: z.literal('key_link'),
    key_id: text,
    link: text,
    path: text.meta({ description: 'below the address that clients use' }),
    url: orNull(text).meta({ description: 'null if PUBLIC_URL is not set' }),
    expires_at: time,
    mailed_to: orNull(text).meta({ description: 'the member who was sent the link' }),
    mail_problem: orNull(text).meta({
      description: 'why the mail that was asked for was not sent',
    }),
  })
  .meta({ id: 'KeyLink' });

export const openedKeyLink = z
  .strictObject({
    object: z.literal('opened_key_link'),
    key_id: text,
    name: text,
    api_key: text.meta({ description: 'shown here and never again' }),
  })
  .meta({ id: 'OpenedKeyLink' });

export const pageSession = z
  .strictObject({
    object: z.literal('page_session'),
    key_id: text,
    reads_only: z.boolean().meta({ description: 'whether it began with a read-only link' }),
  })
  .meta({ id: 'PageSession' });

export const pageSessionEnd = z
  .strictObject({ object: z.literal('page_session'), deleted: z.literal(true) })
  .meta({ id: 'PageSessionEnd' });
