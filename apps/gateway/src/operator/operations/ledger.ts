/** Operations on the ledger: entries, sums, audit, holds, events and the trail. */

import { z } from 'zod';
import { EVENT_TYPES, SPENDING_DIMENSIONS, USAGE_DIMENSIONS } from '@gateway/balance-store';
import type {
  BalanceStore,
  SpendingDimension,
  SpendingQuery,
  UsageQuery,
} from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import { HOUR_MS } from '../../base/times.js';
import {
  someOf,
  MUST_BE_AFTER_FROM,
  anchor,
  help,
  hour,
  isInOrder,
  keyId,
  ofAccount,
  ofCursor,
  ofKey,
  pageSize,
  pagedFormat,
  rangeOf,
  time,
  wholeNumber,
} from '../../endpoints/fields.js';
import { OperationError, invalidInput, notFound } from '../../endpoints/operation-error.js';
import * as schema from '../../endpoints/schemas.js';
import { entryView } from '../../endpoints/schemas/entries.js';
import {
  ALSO_METADATA,
  SPENDER_GROUPS,
  filterFieldOf,
  metadataGroups,
  spenderDimensionOf,
  spenderFields,
  spenderFilterOf,
  spendingSumView,
} from '../../endpoints/spending.js';
import type { MetadataGroup } from '../../endpoints/spending.js';
import { line } from '../../endpoints/storable.js';
import { eventView, holdView, trailView } from '../../endpoints/schemas/ledger.js';
import { auditView, costedUsageSumView } from '../../endpoints/views.js';
import { chargesOf, findCharge } from '../../ledger/find-charge.js';
import type { ChargeEntry } from '../../ledger/find-charge.js';
import { auditWithEvent } from '../../observe/notifications/ledger-unsound.js';
import { withNames } from '../../endpoints/read-names.js';
import { list, operation } from './operation.js';
import { lostCharge, recharge } from './recharge.js';
import { compareWithWitness, witnessedUsage } from './witness.js';

/** The most usages in one request. This many fit into its body. */
export const WITNESS_BATCH = 200;

const number = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the next_cursor of the previous page')
  .transform(BigInt)
  .register(help, ofCursor);

const ofModel = line
  .min(1)
  .max(200)
  .optional()
  .register(help, { says: 'only those of this model' });
const entryRange = rangeOf(time);
const usageRange = rangeOf(hour);

/** The default end of a report, so that it includes everything until now. */
function endOfThisHour(): Date {
  return new Date((Math.floor(Date.now() / HOUR_MS) + 1) * HOUR_MS);
}

const USAGE_GROUPS = [...USAGE_DIMENSIONS, ...SPENDER_GROUPS] as const;

/** The most sums of one response. Writing them takes a part of a second of the event loop. */
const MAX_SUMS = 10_000;

export const ledgerOperations = {
  listLedger: operation({
    method: 'get',
    path: '/admin/ledger',
    summary: 'Entries of the ledger, newest first',
    right: 'read',
    input: z.strictObject({
      account_id: ofAccount,
      key_id: keyId.optional().register(help, {
        says: 'only charges of this key, and the entries of its account that are not charges',
      }),
      kind: z.enum(['charge', 'top_up', 'adjustment', 'expiry']).optional(),
      model: ofModel,
      from: entryRange.from.optional(),
      until: entryRange.until.optional(),
      limit: pageSize,
      cursor: z.string().min(1).max(200).optional().register(help, ofCursor),
      format: pagedFormat.optional(),
    }),
    output: schema.listOf(schema.entry).extend({ archived_until: schema.time.nullable() }),
    async run(input, { store }) {
      const { account_id, key_id, kind, model, from, until, limit, cursor } = input;
      const ofKey = key_id === undefined ? undefined : await store.getKey(key_id);
      if (key_id !== undefined && ofKey === undefined) throw notFound('key_id', 'key');
      const account = ofKey?.accountId ?? account_id;
      if (account_id !== undefined && account !== account_id) {
        throw invalidInput('key_id: belongs to another account than account_id');
      }
      const page = await store.listEntries({
        limit,
        ...(account === undefined ? {} : { accountId: account }),
        ...(key_id === undefined ? {} : { keyId: key_id }),
        ...(kind === undefined ? {} : { kind }),
        ...(model === undefined ? {} : { model }),
        ...(from === undefined ? {} : { from }),
        ...(until === undefined ? {} : { until }),
        ...(cursor === undefined ? {} : { cursor }),
      });
      return {
        ...list(page.entries.map(entryView), page.next),
        /** If given, charges of the requested range before this time are in an archive. */
        archived_until: page.archivedUntil?.toISOString() ?? null,
      };
    },
    isAlsoCsv: true,
  }),

  showEntry: operation({
    method: 'get',
    path: '/admin/ledger/:entry_id',
    summary: 'One entry of the ledger, by its id; a charge also by the id of its message',
    right: 'read',
    input: z.strictObject({ entry_id: line.min(1).max(200) }),
    output: schema.entry,
    async run({ entry_id }, { store }) {
      const [known] = await store.findEntries([entry_id]);
      const entry = known ?? (await chargeShownAs('entry_id', entry_id, store));
      if (entry === undefined)
        throw notFound('entry_id', `entry${await whereElse(entry_id, store)}`);
      return entryView(entry);
    },
  }),

  listUsage: operation({
    method: 'get',
    path: '/admin/usage',
    summary:
      'Sums of charges. As CSV, the headers x-gateway-from and x-gateway-until state the range',
    right: 'read',
    input: z
      .strictObject({
        by: someOf(USAGE_GROUPS, metadataGroups)
          .default(['day', 'model'])
          .register(help, {
            says: `what to group by: some of ${USAGE_GROUPS.join(', ')}, ${ALSO_METADATA}`,
          }),
        from: usageRange.from,
        until: usageRange.until
          .optional()
          .register(help, { says: 'before this whole hour or day; default: everything until now' }),
        account_id: ofAccount,
        key_id: ofKey,
        model: ofModel,
        ...spenderFields,
        /** The sums with the largest value come first. If absent, they are in the order of `by`. */
        sort: z
          .enum(['charged', 'requests', 'tokens'])
          .optional()
          .register(help, { says: 'largest first' }),
        top: wholeNumber.min(1).max(10_000).optional().register(help, {
          says: 'at most this many sums; or members, groups, tags or runs, and the rest as one',
        }),
        format: z.enum(['json', 'csv']).optional(),
      })
      .refine(
        ({ from, until = endOfThisHour() }) => isInOrder({ from, until }),
        MUST_BE_AFTER_FROM,
      ),
    output: schema.costedUsageSums,
    async run(input, { store }) {
      const { sort, top, until = endOfThisHour() } = input;
      const query = {
        from: input.from,
        until,
        accountId: input.account_id,
        keyId: input.key_id,
        model: input.model,
        sort,
        top,
        maxSums: top === undefined ? MAX_SUMS : undefined,
      };
      const filter = spenderFilterOf(input);
      const isBySpender = input.by.some((each) => spenderDimensionOf(each) !== undefined);
      const sums =
        isBySpender || filterFieldOf(filter) !== undefined
          ? await readSpendingViews(store, input.by, { ...query, ...filter })
          : await readUsageViews(store, input.by, query);
      return {
        ...list(await withNames<(typeof sums)[number]>(sums, store), undefined),
        from: input.from.toISOString(),
        until: until.toISOString(),
      };
    },
    isAlsoCsv: true,
  }),

  auditLedger: operation({
    method: 'get',
    path: '/admin/ledger/audit',
    summary: 'Audits the ledger, and answers when the audit is done',
    right: 'read',
    input: z.strictObject({ anchor: anchor.optional() }),
    output: schema.audit,
    async run(input, { store, onProgress }) {
      const audit = await auditWithEvent(store, {
        anchor: input.anchor,
        onProgress: ({ entries }) => onProgress?.(entries),
      });
      return auditView(audit);
    },
  }),

  compareWitness: operation({
    method: 'post',
    path: '/admin/ledger/witness',
    summary: 'Compares the ledger with usage that clients received',
    right: 'read',
    input: z.strictObject({ usages: z.array(witnessedUsage).min(1).max(WITNESS_BATCH) }),
    output: schema.witnessComparison,
    run: ({ usages }, { store }) => compareWithWitness(usages, store),
  }),

  rechargeUsages: operation({
    method: 'post',
    path: '/admin/ledger/recharge',
    summary: 'Books charges that the ledger lost, each of them once',
    right: 'change',
    input: z.strictObject({ charges: z.array(lostCharge).min(1).max(WITNESS_BATCH) }),
    output: schema.recharge,
    run: ({ charges }, context) => recharge(charges, context),
  }),

  listHolds: operation({
    method: 'get',
    path: '/admin/holds',
    summary: 'Money that is set aside for requests',
    right: 'read',
    input: z.strictObject({
      state: z.enum(['live', 'orphaned']).default('orphaned'),
      limit: pageSize,
    }),
    output: schema.listOf(schema.hold),
    async run({ state, limit }, { store }) {
      // One more than is shown, to know whether there are more.
      const holds = await store.listHolds({ state, limit: limit + 1 });
      const shown = list(holds.slice(0, limit).map(holdView), undefined);
      return { ...shown, has_more: holds.length > limit };
    },
  }),

  listEvents: operation({
    method: 'get',
    path: '/admin/events',
    summary: 'Events, oldest first unless order is newest',
    right: 'read',
    input: z.strictObject({
      state: z.enum(['pending', 'delivered', 'undelivered']).optional(),
      account_id: ofAccount,
      type: z.enum(EVENT_TYPES).optional(),
      order: z.enum(['oldest', 'newest']).optional(),
      limit: pageSize,
      cursor: number.optional(),
    }),
    output: schema.listOf(schema.event),
    async run({ state, account_id, type, order, limit, cursor }, { store }) {
      const events = await store.listEvents({
        order,
        state,
        accountId: account_id,
        after: cursor,
        limit,
      });
      const next = events.length === limit ? events.at(-1)?.seq.toString() : undefined;
      const wanted = type === undefined ? events : events.filter((event) => event.type === type);
      return list(wanted.map(eventView), next);
    },
  }),

  listTrail: operation({
    method: 'get',
    path: '/admin/trail',
    summary: 'The trail: who changed what, newest first',
    right: 'read',
    input: z.strictObject({
      account_id: ofAccount,
      key_id: ofKey,
      limit: pageSize,
      cursor: number.optional(),
    }),
    output: schema.listOf(schema.trailEntry),
    async run({ account_id, key_id, limit, cursor }, { store }) {
      const entries = await store.listTrail({
        accountId: account_id,
        keyId: key_id,
        before: cursor,
        limit,
      });
      const next = entries.length === limit ? entries.at(-1)?.seq.toString() : undefined;
      return list(await withNames(entries.map(trailView), store), next);
    },
  }),
} as const;

type UsageGroup = (typeof USAGE_GROUPS)[number] | MetadataGroup;

async function readUsageViews(
  store: Pick<BalanceStore, 'readUsage'>,
  groups: readonly UsageGroup[],
  query: Omit<UsageQuery, 'by'>,
) {
  const by = groups.filter((group) => isOneOf(USAGE_DIMENSIONS, group));
  const sums = await unlessTooMany(() => store.readUsage({ ...query, by }));
  return sums.map((sum) => costedUsageSumView(sum, by));
}

async function readSpendingViews(
  store: Pick<BalanceStore, 'readSpending'>,
  groups: readonly UsageGroup[],
  query: Omit<SpendingQuery, 'by'>,
) {
  const metadata = groups.flatMap((group) => spenderDimensionOf(group)?.metadata ?? []);
  if (metadata.length > 1) throw invalidInput('by: must not have metadata of several names');
  const by = groups.map((group): SpendingDimension => {
    const dimension = spenderDimensionOf(group)?.dimension ?? group;
    if (isOneOf(SPENDING_DIMENSIONS, dimension)) return dimension;
    throw invalidInput(`by: ${group} cannot be combined with members, groups, tags and runs`);
  });
  const sums = await unlessTooMany(() =>
    store.readSpending({ ...query, by, metadata: metadata[0] }),
  );
  return sums.map((sum) => spendingSumView(sum, by));
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}

async function unlessTooMany<Sum>(read: () => Promise<readonly Sum[]>): Promise<readonly Sum[]> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw invalidInput(`from: ${error.message}`);
  }
}

/** Says where an entry may be that was not found by this id. Empty if it can be nowhere else. */
export async function whereElse(
  id: string,
  store: Pick<BalanceStore, 'listArchives'>,
): Promise<string> {
  const archived = (await store.listArchives()).at(-1)?.until.toISOString();
  const notes = [
    // The provider's ids have the same form as the gateway's.
    ...(id.startsWith('req_') ? ["farthing requests --id also finds the provider's ids"] : []),
    ...(archived === undefined ? [] : [`charges before ${archived} are archived`]),
  ];
  return notes.map((note) => `; ${note}`).join('');
}

/**
 * The charge of a request, by any id that its client can know.
 *
 * @throws {OperationError} if several requests have a message with this id
 */
export async function chargeShownAs(
  field: string,
  shownId: string,
  store: Pick<BalanceStore, 'findEntries' | 'listEntries'>,
): Promise<ChargeEntry | undefined> {
  const found = await findCharge(shownId, chargesOf(store));
  switch (found.outcome) {
    case 'found':
      return found.charge;
    case 'none':
      return undefined;
    case 'several':
      throw new OperationError(
        newRefusal('several_charges', { field, request_ids: found.requestIds.join(', ') }),
      );
  }
}
