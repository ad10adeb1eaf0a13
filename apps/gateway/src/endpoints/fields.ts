/** Fields of operations, with the rules that their values keep. */

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { KeyCaps, KeyRecord, Naming } from '@gateway/balance-store';
import { z } from 'zod';
import { parseUsd } from '@gateway/billing';
import { reasonOf } from '../base/error-code.js';
import {
  MAIL_ADDRESS,
  MAIL_ADDRESS_RULE,
  MAX_MAIL_ADDRESS,
  isMailAddress,
} from '../base/mail-address.js';
import { HOUR_MS } from '../base/times.js';
import { isZone, monthStart } from '../base/zones.js';
import { STORABLE_TIME_RULE, isStorableTime, line } from './storable.js';

/**
 * What the command line says about a member. A member of a schema without an entry of its own says
 * what the schema inside it says. The OpenAPI documents have no part of this.
 */
export const help = z.registry<{ readonly says: string }>();

/** Also takes the text of a number, as queries and the command line have it. */
export const wholeNumber = z.coerce.number<number>().int();

const MAX_AMOUNT = 10n ** 9n * 10n ** 14n;

/** The pattern is for the OpenAPI document. `transform` reports what is wrong with a value. */
const usd = z
  .string()
  .meta({ pattern: String.raw`^-?\d{1,10}(\.\d{1,14})?$` })
  .transform((text, context) => {
    try {
      const amount = parseUsd(text);
      if (amount !== 0n || !text.startsWith('-')) return amount;
      context.addIssue('must not be negative zero');
    } catch (error) {
      context.addIssue(reasonOf(error));
    }
    return z.NEVER;
  });

export const amountUsd = usd.refine((amount) => amount > 0n && amount <= MAX_AMOUNT, {
  error: 'must be above 0 and at most 1000000000',
});

/** An amount above or below 0. */
export const signedAmountUsd = usd.refine(
  (amount) => amount !== 0n && amount <= MAX_AMOUNT && amount >= -MAX_AMOUNT,
  { error: 'must be from -1000000000 to 1000000000 and not 0' },
);

/** An amount of at least 0. */
export const unsignedAmountUsd = usd.refine((amount) => amount >= 0n && amount <= MAX_AMOUNT, {
  error: 'must be at least 0 and at most 1000000000',
});

/** The largest sum of differences that a reconciliation with the provider tolerates. */
export const toleranceUsd = unsignedAmountUsd.default(0n);

export const keyId = z
  .string()
  .regex(/^key_[\w-]{1,64}$/, 'must be the id of a key, such as key_…');
export const accountId = z
  .string()
  .regex(
    /^acct_[\w-]{1,64}$/,
    'must be the id of an account, such as acct_…; to find it, list the accounts with your external_id',
  );

export const groupId = z
  .string()
  .regex(/^grp_[\w-]{1,64}$/, 'must be the id of a group, such as grp_…');
export const memberId = z
  .string()
  .regex(/^mem_[\w-]{1,64}$/, 'must be the id of a member, such as mem_…');
export const budgetId = z
  .string()
  .regex(/^bud_[\w-]{1,64}$/, 'must be the id of a budget, such as bud_…');

/** The account of what is created or listed. */
export const ofOneAccount = accountId.meta({ description: 'whose it is' });
help.add(ofOneAccount, { says: 'whose it is' });

/** A filter of lists. */
export const ofAccount = accountId
  .optional()
  .register(help, { says: 'only those of this account' });
/** A filter of lists. */
export const ofKey = keyId.optional().register(help, { says: 'only those of this key' });
/** A filter of lists. */
export const ofMember = memberId.optional().register(help, { says: 'only those of this member' });

const limit = wholeNumber.min(1);
export const limits = {
  concurrency: limit.max(100_000).optional().register(help, { says: 'requests in flight at once' }),
  burst: limit.max(1_000_000).optional().register(help, { says: 'requests at once after a pause' }),
  requests_per_minute: limit.max(10_000_000).optional().register(help, { says: 'sustained rate' }),
};

export const time = z.iso
  .datetime({ offset: true, error: 'must be a time such as 2026-12-31T23:59:59Z' })
  .transform((text) => new Date(text))
  .refine(isStorableTime, STORABLE_TIME_RULE)
  .register(help, { says: 'such as 2026-12-31T23:59:59Z' });

/** `2026-11-01`: its start in UTC. */
export const day = z.iso
  // Aborts on an error, so that a rule that compares two days gets valid days only.
  .date({ error: 'must be a day such as 2026-11-01', abort: true })
  .transform((text) => new Date(`${text}T00:00:00Z`))
  .refine(isStorableTime, STORABLE_TIME_RULE);

/** A time at the start of an hour: sums are kept by hour, so a part of one cannot be reported. */
export const hour = time.refine(
  (at) => at.getTime() % HOUR_MS === 0,
  'must be a whole hour, such as 2026-11-01T13:00:00Z, because sums are kept by hour',
);

/**
 * The members of each range: consecutive ranges add up to the whole.
 *
 * @param bound - `time`, `hour` or `day`
 */
export function rangeOf<Bound extends z.ZodType>(bound: Bound) {
  const from = bound.meta({ description: 'the beginning, which is included' });
  const until = bound.meta({ description: 'the end, which is not included' });
  help.add(from, { says: 'from this time or day on, such as 2026-11-01' });
  help.add(until, { says: 'before this time or day' });
  return { from, until };
}

/** The rule of every range: `.refine(isInOrder, MUST_BE_AFTER_FROM)`. */
export function isInOrder(range: {
  readonly from?: Date | undefined;
  readonly until?: Date | undefined;
}): boolean {
  return range.from === undefined || range.until === undefined || range.from < range.until;
}
export const MUST_BE_AFTER_FROM = { path: ['until'], error: 'must be after from' };

export const name = line
  .trim()
  .min(1)
  .max(200)
  .register(help, { says: 'a name for people to read' });
/** A filter of lists. */
export const partOfName = name
  .optional()
  .register(help, { says: 'only those whose name contains it' });
/** Chosen by the caller. A request that repeats an id changes nothing. */
export const idempotencyId = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 characters of A-Z a-z 0-9 _ . : -')
  .register(help, { says: 'an id of your choice; repeating the command with it changes nothing' });
export const note = line
  .trim()
  .min(1)
  .max(500)
  .register(help, { says: 'a note for your own records' });
/** The name of an account of the operator's money, such as `bank`: `cash:bank` in the books. */
export const paidThrough = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a name such as bank: a-z 0-9 _ -')
  .register(help, { says: 'how the money is paid, such as bank; the books have it as cash:bank' });
export const reference = line
  .trim()
  .min(1)
  .max(200)
  .register(help, { says: 'id of a payment, an order or an entry' });
export const externalId = line
  .trim()
  .min(1)
  .max(200)
  .register(help, { says: 'your own id for it' });
/** A filter of lists. */
export const withExternalId = externalId
  .optional()
  .register(help, { says: 'only the one with this id of your own' });
/** Whether there is such a table, or the factor gives exact prices, is checked when it is set. */
export const accountPrices = z
  .string()
  .regex(
    /^(\d{1,3}(\.\d{1,6})?|[a-z][a-z0-9_-]{0,39})$/,
    'must be a factor such as 0.9, or the name of a table of CUSTOMER_PRICES',
  );

const MAX_PAIRS = 50;
const MAX_METADATA_BYTES = 4_096;

export const metadata = z
  .record(line.min(1).max(100), line.max(1_000))
  .refine((pairs) => Object.keys(pairs).length <= MAX_PAIRS, `must have at most 50 pairs`)
  .refine(
    (pairs) => Buffer.byteLength(JSON.stringify(pairs)) <= MAX_METADATA_BYTES,
    'must be at most 4096 bytes of JSON',
  )
  .register(help, {
    says: 'a pair to search by; repeat it for more. An update replaces all earlier pairs',
  });

/** Metadata in a query, which cannot contain objects: `plan:pro`, or several, with commas. */
export const metadataQuery = z
  .string()
  .meta({ pattern: '^[^:,]+:[^,]*(,[^:,]+:[^,]*)*$' })
  .transform((text, context) => {
    const pairs = text.split(',').map((pair) => /^([^:]+):(.*)$/.exec(pair));
    if (pairs.some((pair) => pair === null)) {
      context.addIssue('must be pairs such as plan:pro,region:eu');
      return z.NEVER;
    }
    return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
  })
  .register(help, { says: 'only those with this metadata pair' });

export const pageSize = wholeNumber
  .min(1)
  .max(1000)
  .default(100)
  .register(help, { says: 'at most this many' });

/** The forms of a list that has pages. */
export const pagedFormat = z.enum(['json', 'csv']).meta({
  description:
    'csv: the whole list, unless limit is given; then the header x-gateway-next-cursor has the ' +
    'cursor of the next page. A CSV that breaks off is not whole',
});

/** Whether the query asks for a list as CSV, to its end. */
export function isWholeCsv(query: {
  readonly format?: unknown;
  readonly limit?: unknown;
}): boolean {
  return query.format === 'csv' && query.limit === undefined;
}

/** What comes first: the newest, the most spent, the lowest balance or the last charge. */
export const listOrder = z
  .enum(['newest', 'spent', 'balance', 'last_charged'])
  .default('newest')
  .register(help, { says: 'what comes first' });
/** What the command line says about each kind of cursor. */
export const ofCursor = { says: 'continue after the previous page' };
/** `next_cursor` of the previous page. Only the store can check it. */
export const after = line.min(1).max(300).register(help, ofCursor);

const DAY_SECONDS = 86_400;

/** In percent; sorted. */
export const noticeShares = z
  .array(z.int().min(1).max(100))
  .max(10)
  .refine((shares) => new Set(shares).size === shares.length, 'must be different from each other')
  .transform((shares) => shares.sort((one, other) => one - other));

export const noticeEmail = z
  .string()
  .max(MAX_MAIL_ADDRESS, MAIL_ADDRESS_RULE)
  .regex(MAIL_ADDRESS, MAIL_ADDRESS_RULE)
  .refine(isMailAddress, MAIL_ADDRESS_RULE);

/** Why an address for notices is refused where nothing is sent by mail. */
export const NO_MAIL = 'cannot be set, because this gateway sends no mail';

/** Whom a spender is told to ask for more. What looks like an address gets mail. */
export const contact = line
  .trim()
  .min(1)
  .max(200)
  .refine((text) => !/^\S+@\S*$/.test(text) || isMailAddress(text), MAIL_ADDRESS_RULE)
  .register(help, { says: 'whom a spender is told to ask for more; an address also gets notices' });

/** Offsets such as `+01:00` are no names. */
export const timeZone = line
  .max(100)
  .refine(
    (zone) => /^[A-Za-z]/.test(zone) && isZone(zone),
    'must be a time zone, such as Europe/Rome',
  );

/** How long a link with which others may read the dashboard of a key is valid. */
export const linkSeconds = wholeNumber
  .min(60)
  .max(366 * DAY_SECONDS)
  .default(30 * DAY_SECONDS);

/** How long a link that shows a key is valid. */
export const keyLinkSeconds = wholeNumber
  .min(60)
  .max(366 * DAY_SECONDS)
  .default(14 * DAY_SECONDS);

const capOf = (period: string) =>
  unsignedAmountUsd
    .nullable()
    .optional()
    .register(help, { says: `the most it may spend ${period}, or none for no cap` });

/** A network, or one address, which stands for the network of itself. */
const network = line.max(60).transform((text, context) => {
  const [address = ''] = text.split('/');
  const version = address.includes('%') ? 0 : isIP(address);
  const cidr = text.includes('/') ? text : `${text}/${version === 4 ? '32' : '128'}`;
  const read = version !== 0 && ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : undefined;
  // A client with an IPv4-mapped address counts as its IPv4 address.
  if (read === undefined || read[0].range() === 'ipv4Mapped') {
    context.addIssue('must be a network such as 192.0.2.0/24 or 2001:db8::/32, or an address');
    return z.NEVER;
  }
  const family = version === 4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const first = family.networkAddressFromCIDR(cidr).toString();
  const whole = `${first}/${String(read[1])}`;
  if (first === read[0].toString()) return whole;
  context.addIssue(`must begin with the first address of its network, as ${whole} does`);
  return z.NEVER;
});

/** The rules of a key that its holder may set, when it is created and later. */
export const holderRules = {
  models: z
    .array(line.min(1).max(200))
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .register(help, { says: 'the models it may use, separated by commas; all for every model' }),
  allowed_networks: z
    .array(network)
    .min(1)
    .max(100)
    .nullable()
    .optional()
    .register(help, { says: 'networks that it may be used from, such as 192.0.2.0/24; or all' }),
  cap_day_usd: capOf('per UTC day'),
  cap_week_usd: capOf('per week, from Monday'),
  cap_month_usd: capOf('per month'),
  cap_total_usd: capOf('in total'),
  ...limits,
};

/** Whether a key may name the members that spend, and what becomes of names that are not known. */
export const namesMembers = z
  .strictObject({ unknown: z.enum(['refuse', 'create']), group_id: groupId.optional() })
  .refine(({ unknown, group_id }) => group_id === undefined || unknown === 'create', {
    path: ['group_id'],
    error: 'is only for unknown: create',
  });

/** The rules of a key that an operator may set. */
export const keyRules = {
  scope: z
    .enum(['use', 'manage'])
    .optional()
    .register(help, { says: 'manage: also manages the keys of its account' }),
  ...holderRules,
  member_id: memberId
    .nullable()
    .optional()
    .register(help, { says: 'the member whose key it is, or none' }),
  names_members: namesMembers.nullable().optional().register(help, {
    says: 'let it name members: refuse or create unknown ones, create:grp_… in a group; or none',
  }),
};

type Given<Value> = Value | undefined;

/** What was given of {@link keyRules}, as the ledger takes it. */
export function rulesOf(
  input: Parameters<typeof limitsOf>[0] &
    Parameters<typeof capsOf>[0] & {
      readonly scope?: Given<KeyRecord['scope']>;
      readonly models?: Given<KeyRecord['models']>;
      readonly allowed_networks?: Given<KeyRecord['allowedNetworks']>;
      readonly member_id?: Given<string | null>;
      readonly names_members?: Given<z.output<typeof namesMembers> | null>;
    },
) {
  const { scope, models, allowed_networks: allowedNetworks } = input;
  const { member_id: memberId, names_members: naming } = input;
  return {
    limits: limitsOf(input),
    caps: capsOf(input),
    ...(scope === undefined ? {} : { scope }),
    ...(models === undefined ? {} : { models }),
    ...(allowedNetworks === undefined ? {} : { allowedNetworks }),
    ...(memberId === undefined ? {} : { memberId }),
    ...(naming === undefined ? {} : { naming: naming === null ? null : namingOf(naming) }),
  };
}

function namingOf({ unknown, group_id: groupId }: z.output<typeof namesMembers>): Naming {
  return groupId === undefined ? { unknown } : { unknown, groupId };
}

export function limitsOf(input: {
  readonly concurrency?: Given<number>;
  readonly burst?: Given<number>;
  readonly requests_per_minute?: Given<number>;
}): Partial<KeyRecord['limits']> {
  return {
    ...(input.concurrency === undefined ? {} : { concurrency: input.concurrency }),
    ...(input.burst === undefined ? {} : { burst: input.burst }),
    ...(input.requests_per_minute === undefined
      ? {}
      : { requestsPerMinute: input.requests_per_minute }),
  };
}

export function capsOf(input: {
  readonly cap_day_usd?: Given<bigint | null>;
  readonly cap_week_usd?: Given<bigint | null>;
  readonly cap_month_usd?: Given<bigint | null>;
  readonly cap_total_usd?: Given<bigint | null>;
}): Partial<KeyCaps> {
  return {
    ...(input.cap_day_usd === undefined ? {} : { day: input.cap_day_usd }),
    ...(input.cap_week_usd === undefined ? {} : { week: input.cap_week_usd }),
    ...(input.cap_month_usd === undefined ? {} : { month: input.cap_month_usd }),
    ...(input.cap_total_usd === undefined ? {} : { total: input.cap_total_usd }),
  };
}

/** The end of the hash chain, as the log or an earlier audit reported it. */
export const anchor = z
  .string()
  .regex(/^\d{1,18}:[0-9a-f]{64}$/, 'must be <block>:<hash>, as an audit prints it')
  .transform((text) => {
    const [block = '', hash = ''] = text.split(':');
    return { block: BigInt(block), hash };
  });

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

/**
 * `2026-11`: from the start of the month, included, to the start of the next, excluded. In UTC: see
 * {@link monthIn}.
 */
export const month = z
  .string()
  .meta({ pattern: MONTH.source })
  .transform((text, context) => {
    const [, year, number] = MONTH.exec(text) ?? [];
    if (year === undefined || number === undefined || Number(year) < 1970) {
      context.addIssue('must be a month such as 2026-11');
      return z.NEVER;
    }
    return {
      month: text,
      from: new Date(Date.UTC(Number(year), Number(number) - 1)),
      until: new Date(Date.UTC(Number(year), Number(number))),
    };
  });
export type Month = z.output<typeof month>;

/** The same month in a time zone. */
export function monthIn(zone: string, { month: name }: Pick<Month, 'month'>): Month {
  const [year = 0, number = 0] = name.split('-').map(Number);
  const [from, until] = [number - 1, number].map((of) => new Date(monthStart(zone, year, of)));
  if (from === undefined || until === undefined) throw new Error('a month has two ends');
  return { month: name, from, until };
}

/** Further names than those of a list. */
interface MoreNames<Name extends string> {
  readonly pattern: string;
  readonly includes: (name: string) => name is Name;
  /** For people. */
  readonly says: string;
}

/** Some of these dimensions, separated by commas. */
export function someOf<Name extends string, More extends string = never>(
  names: readonly Name[],
  more?: MoreNames<More>,
) {
  const one = `(${[...names, ...(more === undefined ? [] : [more.pattern])].join('|')})`;
  const isKnown = (part: string): part is Name | More =>
    (names as readonly string[]).includes(part) || more?.includes(part) === true;
  const says = [...names, ...(more === undefined ? [] : [more.says])].join(', ');
  return z
    .string()
    .meta({ pattern: `^${one}(,${one})*$` })
    .transform((text, context): readonly (Name | More)[] => {
      const given = text.split(',').map((part) => part.trim());
      const known = given.filter(isKnown);
      if (known.length !== given.length || new Set(known).size !== known.length) {
        context.addIssue(`must be some of ${says}, each once`);
        return z.NEVER;
      }
      if (['day', 'hour'].every((each) => (known as readonly string[]).includes(each))) {
        context.addIssue('must not have both day and hour');
        return z.NEVER;
      }
      return known;
    });
}
