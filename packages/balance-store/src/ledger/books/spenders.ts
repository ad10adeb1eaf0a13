/** Creates and changes groups, members and budgets. None of it changes a balance. */

import type { Actor } from '../../account.js';
import { MAX_CHAIN, MAX_RUN_BUDGETS, MAX_RUN_BUDGETS_OF_ONE } from '../../budget.js';
import type {
  BudgetChange,
  BudgetRaise,
  BudgetRecord,
  NewBudget,
  NewRaise,
  NewRunBudget,
  RunBudgetOutcome,
} from '../../budget.js';
import { MAX_BUDGETS, MAX_DEPTH, MAX_GROUPS, MAX_MEMBERS, mostOf } from '../../spender.js';
import type {
  GroupChange,
  GroupRecord,
  MemberChange,
  MemberRecord,
  NewGroup,
  NewMember,
  SpenderOutcome,
} from '../../spender.js';
import { DAY_MS, HOUR_MS } from '../base/hours.js';
import { bookingHash } from '../rows/contents-hash.js';
import { detailsText } from '../rows/stored-trail.js';
import {
  PASSED,
  budgetRecordOf,
  countingTermsOf,
  groupRecordOf,
  memberRecordOf,
  raiseOf,
} from '../rows/spenders.js';
import { personalOf, rightsOf } from '../rows/spender-rights.js';
import type { SpenderModel, SpentSum } from '../rows/spender-rows.js';
import { periodAt, subjectOf } from '../rules/budgets.js';
import type { Row } from '../tables/tables.js';
import { revokeKeys } from './accounts.js';
import { beforeAndAfter, recordChange, recordChanges } from './trail.js';
import type { Change } from './trail.js';
import type { LedgerTransaction } from './transaction.js';

const TAKEN = 'external_id_taken';

/** A creation, with the id that the store has made for it. */
export interface Prepared<New> {
  readonly id: string;
  readonly of: New;
  readonly creationId: string | undefined;
  readonly by: Actor;
}

export async function createGroup(
  transaction: LedgerTransaction,
  prepared: Prepared<NewGroup>,
): Promise<SpenderOutcome<GroupRecord>> {
  const { id, of } = prepared;
  return createOne(transaction, 'SpendGroup', prepared, {
    most: MAX_GROUPS,
    async rowAt(createdAt) {
      const { accountId, parentId, name, externalId = null, metadata = {} } = of;
      const parent = await groupOf(transaction, accountId, parentId);
      if (parent === 'unknown_group') return parent;
      const path = `${parent?.path ?? '/'}${id}/`;
      // The path begins and ends with a slash.
      if (path.split('/').length - 2 > MAX_DEPTH) return 'too_many';
      return { id, accountId, path, name, externalId, metadata, createdAt };
    },
    recordOf: (row) => Promise.resolve(groupRecordOf(row)),
  });
}

/**
 * Creates members of one account, each with an outcome of its own, in a number of statements that
 * does not grow with theirs. One at a time, 10,000 members took minutes.
 */
export async function createMembers(
  transaction: LedgerTransaction,
  accountId: string,
  all: readonly Prepared<NewMember>[],
): Promise<readonly SpenderOutcome<MemberRecord>[]> {
  const groups = new Map<string | null, ReturnType<typeof groupOf>>();
  const knownGroup = (id: string | null) => {
    const known = groups.get(id) ?? groupOf(transaction, accountId, id);
    groups.set(id, known);
    return known;
  };
  return createAll(transaction, 'Member', accountId, all, {
    most: MAX_MEMBERS,
    async rowAt(createdAt, { id, of }) {
      const { groupId = null, externalId = null, email = null, name, metadata = {} } = of;
      const group = await knownGroup(groupId);
      if (group === 'unknown_group') return group;
      const texts = { name, externalId, email, metadata };
      return { id, accountId, groupId, ...texts, state: 'active', createdAt };
    },
    async recordOf(row) {
      const group = await knownGroup(row.groupId);
      return memberRecordOf(row, typeof group === 'object' ? group.path : null);
    },
  });
}

/** @throws {RangeError} if it counts nothing from now on */
export async function createBudget(
  transaction: LedgerTransaction,
  prepared: Prepared<NewBudget>,
): Promise<SpenderOutcome<BudgetRecord>> {
  const { id, of, by } = prepared;
  return createOne(transaction, 'Budget', prepared, {
    most: MAX_BUDGETS,
    async rowAt(createdAt) {
      const { accountId, name, scope, subject = null, withinGroup = null, amount, period } = of;
      const { zone = 'UTC', from, until, action = 'refuse', shares = [], contact = null } = of;
      const { thenId = null, onlyFor = null } = of;
      if ((await groupOf(transaction, accountId, withinGroup)) === 'unknown_group') {
        return 'unknown_group';
      }
      if (!(await isSubject(transaction, accountId, { scope, subject }))) return 'unknown_subject';
      if (!(await isFitNext(transaction, { id, accountId, thenId }))) return 'unfit_next';
      const isReserve = scope === 'reserve';
      const counted = isReserve ? { scope: 'account', counts: PASSED } : { scope, counts: null };
      const terms = { ...counted, subject, withinGroup, onlyFor, thenId, period, zone };
      const fromAt = from ?? (period === 'once' ? createdAt : null);
      const times = { fromAt, untilAt: until ?? null, createdAt, endedSeq: null };
      const createdBy = by.holderOf === undefined ? 'operator' : 'holder';
      const settings = { name, amount, action, shares, contact, isCap: false };
      return { id, accountId, ...terms, ...settings, ...times, createdBy };
    },
    async whenInserted(row) {
      await countBefore(transaction, row);
      await transaction.updateAccount(of.accountId, { budgeted: true });
    },
    recordOf: (row) => Promise.resolve(budgetRecordOf(row)),
  });
}

/** Adds the charges of the first period that were made before the budget was created. */
async function countBefore(transaction: LedgerTransaction, row: Row<'Budget'>): Promise<void> {
  const terms = countingTermsOf(row);
  const period = periodAt(terms, row.createdAt.getTime());
  if (period === undefined || terms.scope === 'reserve') return;
  const used = new Map<string, bigint>();
  for (const { keyId, spender, amount } of await chargesFrom(transaction, row, period.start)) {
    const subject = subjectOf(terms, keyId, spender);
    if (subject !== undefined) used.set(subject, (used.get(subject) ?? 0n) + amount);
  }
  for (const [subject, amount] of used) {
    await transaction.spenders.insert('BudgetUse', {
      budgetId: row.id,
      subject,
      startAt: BigInt(period.start),
      accountId: row.accountId,
      used: amount,
    });
  }
}

/** Those of a run that a request names are found without reading all charges since then. */
async function chargesFrom(
  { spenders }: LedgerTransaction,
  { accountId, subject, onlyFor }: Row<'Budget'>,
  startMs: number,
): Promise<readonly SpentSum[]> {
  return onlyFor !== null && subject !== null && startMs % HOUR_MS === 0
    ? spenders.chargesOfRunSince(accountId, subject, startMs / HOUR_MS)
    : spenders.chargesSince(accountId, new Date(startMs));
}

/** Whether a budget can have this next one. Call it under the lock of the account. */
async function isFitNext(
  { spenders }: LedgerTransaction,
  { id, accountId, thenId }: Pick<Row<'Budget'>, 'id' | 'accountId' | 'thenId'>,
): Promise<boolean> {
  if (thenId === null) return true;
  const next = await spenders.find('Budget', thenId);
  if (next?.accountId !== accountId || next.counts !== PASSED || next.endedSeq !== null) {
    return false;
  }
  const nexts = new Map((await spenders.chained(accountId)).map((of) => [of.id, of.thenId]));
  nexts.set(id, thenId);
  // A chain that came back to one of its budgets would have no end.
  return [...nexts.keys()].every((first) => {
    let length = 0;
    for (let at: string | null | undefined = first; at != null && length <= MAX_CHAIN;) {
      length += 1;
      at = nexts.get(at);
    }
    return length <= MAX_CHAIN;
  });
}

/** How long the budget of a run counts: what was spent before it was set, and after. */
const RUN_COUNTS_BEFORE_MS = 7 * DAY_MS;
const RUN_ENDS_AFTER_MS = 3 * DAY_MS;
/** Each new one ends some that have expired, so that those that have not ended stay few. */
const ENDED_AT_ONCE = 10;

export async function setRunBudget(
  transaction: LedgerTransaction,
  { id, of, by }: { readonly id: string; readonly of: NewRunBudget; readonly by: Actor },
): Promise<RunBudgetOutcome> {
  const { accountId, run, onlyFor, name, amount } = of;
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return { outcome: 'unknown_account' };
  if (account.state === 'closed') return { outcome: 'account_closed' };
  const { spenders } = transaction;
  const at = await transaction.now();
  const known = await spenders.runBudget({ accountId, run, onlyFor }, at);
  if (known !== undefined) {
    const changed =
      amount < known.amount
        ? await changeOne(transaction, 'Budget', known.id, { change: { amount }, by })
        : known;
    return {
      outcome: 'set',
      record: budgetRecordOf(typeof changed === 'object' ? changed : known),
    };
  }
  for (const { id: expired } of await spenders.expiredRunBudgets(accountId, at, ENDED_AT_ONCE)) {
    await endBudget(transaction, expired, by);
  }
  const ofOne = await spenders.countRunBudgets({ accountId, onlyFor }, at);
  const ofAll = await spenders.countRunBudgets({ accountId }, at);
  if (ofOne >= MAX_RUN_BUDGETS_OF_ONE || ofAll >= MAX_RUN_BUDGETS) {
    return { outcome: 'too_many' };
  }
  const from = Math.floor((at.getTime() - RUN_COUNTS_BEFORE_MS) / HOUR_MS) * HOUR_MS;
  const row: Row<'Budget'> = {
    id,
    accountId,
    name,
    scope: 'run',
    subject: run,
    withinGroup: null,
    onlyFor,
    counts: null,
    amount,
    period: 'once',
    zone: 'UTC',
    fromAt: new Date(from),
    untilAt: new Date(at.getTime() + RUN_ENDS_AFTER_MS),
    action: 'refuse',
    shares: [],
    contact: null,
    thenId: null,
    createdAt: at,
    endedSeq: null,
    isCap: false,
    createdBy: 'holder',
  };
  await insertOne(transaction, 'Budget', row, { by, at });
  await countBefore(transaction, row);
  await transaction.updateAccount(accountId, { budgeted: true });
  return { outcome: 'set', record: budgetRecordOf(row) };
}

export async function raiseBudget(
  transaction: LedgerTransaction,
  prepared: Prepared<NewRaise>,
): Promise<SpenderOutcome<BudgetRaise> | { readonly outcome: 'unknown_budget' | 'budget_ended' }> {
  const { id, of } = prepared;
  const budget = await transaction.spenders.find('Budget', of.budgetId);
  if (budget === undefined || budget.isCap) return { outcome: 'unknown_budget' };
  if (budget.endedSeq !== null) return { outcome: 'budget_ended' };
  const { accountId } = budget;
  return createOne(
    transaction,
    'BudgetRaise',
    { ...prepared, of: { ...of, accountId } },
    {
      most: MAX_BUDGETS,
      rowAt(fromAt) {
        const { budgetId, subject = null, amount, until } = of;
        return Promise.resolve({
          id,
          budgetId,
          accountId,
          subject,
          amount,
          fromAt,
          untilAt: until,
        });
      },
      recordOf: (row) => Promise.resolve(raiseOf(row)),
    },
  );
}

interface Kind<Of extends SpenderModel, New, Record> {
  /** How many of them an account may have. */
  readonly most: number;
  readonly rowAt: (
    at: Date,
    prepared: Prepared<New>,
  ) => Promise<Row<Of> | 'unknown_group' | 'unknown_subject' | 'unfit_next' | 'too_many'>;
  readonly whenInserted?: (row: Row<Of>) => Promise<void>;
  readonly recordOf: (row: Row<Of>) => Promise<Record>;
}

async function createOne<Of extends SpenderModel, New extends OfAccount, Record>(
  transaction: LedgerTransaction,
  model: Of,
  prepared: Prepared<New>,
  kind: Kind<Of, New, Record>,
): Promise<SpenderOutcome<Record>> {
  const { accountId } = prepared.of;
  const [outcome] = await createAll(transaction, model, accountId, [prepared], kind);
  if (outcome === undefined) throw new Error(`${prepared.id} has no outcome`);
  return outcome;
}

interface OfAccount {
  readonly accountId: string;
}

/** A row to insert, and by which creation it is found again. */
interface NewRow<Of extends SpenderModel> {
  readonly row: Row<Of>;
  readonly hash: string;
  readonly creationId: string | undefined;
}

/** Creates rows of one account. What one of them refuses does not keep the others from it. */
async function createAll<Of extends SpenderModel, New extends OfAccount, Record>(
  transaction: LedgerTransaction,
  model: Of,
  accountId: string,
  all: readonly Prepared<New>[],
  { most, rowAt, whenInserted, recordOf }: Kind<Of, New, Record>,
): Promise<readonly SpenderOutcome<Record>[]> {
  const { spenders } = transaction;
  const account = (await transaction.lockAccounts([accountId])).get(accountId);
  if (account === undefined) return all.map(() => ({ outcome: 'unknown_account' }));
  const at = await transaction.now();
  const room = mostOf(most, all[0]?.by ?? {}) - (await spenders.count(model, accountId));
  const taken = await takenIds(transaction, model, accountId, all);
  const made = new Map<Prepared<New>, NewRow<Of>>();

  async function createNext(prepared: Prepared<New>): Promise<SpenderOutcome<Record>> {
    const { of, creationId } = prepared;
    const hash = bookingHash(ACTIONS[model].create, detailsText(plain(of)));
    const known = await foundRow(transaction, model, { creationId, hash }, [...made.values()]);
    if (typeof known === 'string') return { outcome: known };
    if (known !== undefined) return { outcome: 'replayed', record: await recordOf(known) };
    if (account?.state === 'closed') return { outcome: 'account_closed' };
    if (made.size >= room) return { outcome: 'too_many' };
    const row = await rowAt(at, prepared);
    if (typeof row === 'string') return { outcome: row };
    const externalId = externalIdOf(row);
    if (externalId !== undefined && taken.has(externalId)) return { outcome: TAKEN };
    if (externalId !== undefined) taken.add(externalId);
    made.set(prepared, { row, hash, creationId });
    return { outcome: 'created', record: await recordOf(row) };
  }

  const outcomes: SpenderOutcome<Record>[] = [];
  for (const prepared of all) outcomes.push(await createNext(prepared));
  if (made.size === 0) return outcomes;
  const rows = [...made.values()].map(({ row }) => row);
  await spenders.insertAll(model, rows);
  if (whenInserted !== undefined) for (const row of rows) await whenInserted(row);
  // In one order, so that two transactions with the same ids do not wait for each other.
  const ids = [...made.values()].flatMap(({ creationId, ...of }) =>
    creationId === undefined ? [] : [[creationId, of] as const],
  );
  for (const [id, { row, hash }] of ids.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await transaction.insertCreation(id, { hash, accountId, keyId: row.id });
  }
  await recordChanges(
    transaction,
    [...made].map(([{ by }, { row }]) => creationOf(model, row, { by, at })),
  );
  return outcomes;
}

/** The row that an earlier creation with this id made, or one of these rows. */
async function foundRow<Of extends SpenderModel>(
  transaction: LedgerTransaction,
  model: Of,
  { creationId, hash }: Pick<NewRow<Of>, 'creationId' | 'hash'>,
  made: readonly NewRow<Of>[],
): Promise<Row<Of> | 'conflict' | undefined> {
  if (creationId === undefined) return undefined;
  const now = made.find((one) => one.creationId === creationId);
  if (now !== undefined) return now.hash === hash ? now.row : 'conflict';
  const known = await transaction.findCreation(creationId);
  if (known === undefined) return undefined;
  if (known.hash !== hash || known.keyId === null) return 'conflict';
  return (await transaction.spenders.find(model, known.keyId)) ?? 'conflict';
}

/** Which external ids of these creations the account has already. */
async function takenIds(
  transaction: LedgerTransaction,
  model: SpenderModel,
  accountId: string,
  all: readonly Prepared<OfAccount>[],
): Promise<Set<string>> {
  if (model !== 'SpendGroup' && model !== 'Member') return new Set();
  const wanted = all.flatMap(({ of }) => externalIdOf(of) ?? []);
  return new Set(await transaction.spenders.takenExternalIds(model, accountId, wanted));
}

function externalIdOf(of: object): string | undefined {
  return 'externalId' in of && typeof of.externalId === 'string' ? of.externalId : undefined;
}

/** Inserts a row, and records it in the trail. */
async function insertOne<Of extends SpenderModel>(
  transaction: LedgerTransaction,
  model: Of,
  row: Row<Of>,
  { by, at }: { readonly by: Actor; readonly at: Date },
): Promise<void> {
  await transaction.spenders.insert(model, row);
  await recordChange(transaction, creationOf(model, row, { by, at }));
}

/** What the trail says of a new row. */
function creationOf<Of extends SpenderModel>(
  model: Of,
  row: Row<Of>,
  { by, at }: { readonly by: Actor; readonly at: Date },
): Change {
  return {
    action: ACTIONS[model].create,
    accountId: String(row.accountId),
    by,
    at,
    details: { of: row.id, ...rightsOf(model, row) },
    personal: personalOf(model, row),
  };
}

const ACTIONS = {
  SpendGroup: { create: 'group.create', update: 'group.update' },
  Member: { create: 'member.create', update: 'member.update' },
  Budget: { create: 'budget.create', update: 'budget.update' },
  BudgetRaise: { create: 'budget.raise', update: 'budget.raise' },
} as const;

export async function updateGroup(
  transaction: LedgerTransaction,
  id: string,
  change: GroupChange,
  by: Actor,
): Promise<GroupRecord | typeof TAKEN | undefined> {
  const changed = await changeOne(transaction, 'SpendGroup', id, { change, by });
  return typeof changed === 'object' ? groupRecordOf(changed) : changed;
}

export async function updateMember(
  transaction: LedgerTransaction,
  id: string,
  change: MemberChange,
  by: Actor,
): Promise<MemberRecord | typeof TAKEN | 'unknown_group' | undefined> {
  const before = await lockOne(transaction, 'Member', id);
  if (before === undefined) return undefined;
  const group = await groupOf(transaction, before.accountId, change.groupId);
  if (group === 'unknown_group') return group;
  const changed = await changeOne(transaction, 'Member', id, { change, by });
  return typeof changed === 'object' ? memberOf(transaction, changed) : changed;
}

/** Ends a member, and revokes its keys. */
export async function endMember(
  transaction: LedgerTransaction,
  id: string,
  by: Actor,
): Promise<MemberRecord | undefined> {
  const before = await lockOne(transaction, 'Member', id);
  if (before === undefined) return undefined;
  if (before.state === 'ended') return memberOf(transaction, before);
  const { accountId } = before;
  const at = await transaction.now();
  await transaction.spenders.update('Member', id, { state: 'ended' });
  const revoked = await revokeKeys(transaction, await transaction.spenders.keyIdsOf(id), {
    accountId,
    by,
    at,
  });
  for (const change of revoked) await recordChange(transaction, change);
  await recordChange(transaction, {
    action: 'member.end',
    accountId,
    by,
    at,
    details: { of: id, state: { before: before.state, after: 'ended' } },
  });
  return memberOf(transaction, { ...before, state: 'ended' });
}

export async function updateBudget(
  transaction: LedgerTransaction,
  id: string,
  change: BudgetChange,
  by: Actor,
): Promise<BudgetRecord | 'unfit_next' | undefined> {
  const { thenId = null } = change;
  const before = thenId === null ? undefined : await lockOne(transaction, 'Budget', id);
  if (before !== undefined && !(await isFitNext(transaction, { ...before, thenId }))) {
    return 'unfit_next';
  }
  const changed = await changeOne(transaction, 'Budget', id, { change, by });
  return typeof changed === 'object' ? budgetRecordOf(changed) : undefined;
}

export async function endBudget(
  transaction: LedgerTransaction,
  id: string,
  by: Actor,
): Promise<BudgetRecord | undefined> {
  const before = await lockOne(transaction, 'Budget', id);
  if (before === undefined) return undefined;
  if (before.endedSeq !== null) return budgetRecordOf(before);
  const { accountId } = before;
  const endedSeq = (await transaction.lockAccounts([accountId])).get(accountId)?.seq ?? 0n;
  await transaction.spenders.update('Budget', id, { endedSeq });
  const isBudgeted = await transaction.spenders.hasBudgets(accountId);
  await transaction.updateAccount(accountId, { budgeted: isBudgeted });
  await recordChange(transaction, {
    action: 'budget.end',
    accountId,
    by,
    at: await transaction.now(),
    details: { of: id, ended_seq: { before: null, after: String(endedSeq) } },
  });
  return budgetRecordOf({ ...before, endedSeq });
}

async function changeOne<Of extends Exclude<SpenderModel, 'BudgetRaise'>>(
  transaction: LedgerTransaction,
  model: Of,
  id: string,
  { change, by }: { readonly change: object; readonly by: Actor },
): Promise<Row<Of> | typeof TAKEN | undefined> {
  const before = await lockOne(transaction, model, id);
  if (before === undefined) return undefined;
  const given = plain(change) as Partial<Row<Of>>;
  const after = { ...before, ...given };
  if (await isTaken(transaction, model, after, id)) return TAKEN;
  await transaction.spenders.update(model, id, given);
  const [rights, personal] = [rightsOf(model, given), personalOf(model, given)];
  await recordChange(transaction, {
    action: ACTIONS[model].update,
    accountId: before.accountId,
    by,
    at: await transaction.now(),
    details: {
      of: id,
      ...beforeAndAfter(rightsOf(model, before), rights),
      ...('shares' in given ? { shares: given.shares } : {}),
    },
    personal: beforeAndAfter(personalOf(model, before), personal),
  });
  return after;
}

/** @returns the row, read under the lock of its account */
async function lockOne<Of extends SpenderModel>(
  transaction: LedgerTransaction,
  model: Of,
  id: string,
): Promise<Row<Of> | undefined> {
  const found = await transaction.spenders.find(model, id);
  // A cap is changed through its key.
  if (found === undefined || ('isCap' in found && found.isCap === true)) return undefined;
  await transaction.lockAccounts([String(found.accountId)]);
  return transaction.spenders.find(model, id);
}

async function groupOf(
  transaction: LedgerTransaction,
  accountId: string,
  groupId: string | null | undefined,
): Promise<Row<'SpendGroup'> | 'unknown_group' | undefined> {
  if (groupId === undefined || groupId === null) return undefined;
  const group = await transaction.spenders.find('SpendGroup', groupId);
  return group?.accountId === accountId ? group : 'unknown_group';
}

async function isSubject(
  transaction: LedgerTransaction,
  accountId: string,
  { scope, subject }: Pick<Row<'Budget'>, 'scope' | 'subject'>,
): Promise<boolean> {
  if (subject === null) return true;
  switch (scope) {
    case 'group':
      return (await groupOf(transaction, accountId, subject)) !== 'unknown_group';
    case 'member':
      return (await transaction.spenders.find('Member', subject))?.accountId === accountId;
    case 'key':
      return (await transaction.keyRecord(subject))?.accountId === accountId;
    default:
      return true;
  }
}

async function memberOf(transaction: LedgerTransaction, row: Row<'Member'>): Promise<MemberRecord> {
  const group = await groupOf(transaction, row.accountId, row.groupId);
  return memberRecordOf(row, typeof group === 'object' ? group.path : null);
}

async function isTaken<Of extends SpenderModel>(
  transaction: LedgerTransaction,
  model: Of,
  row: object,
  id: string,
): Promise<boolean> {
  if (model !== 'SpendGroup' && model !== 'Member') return false;
  const { accountId, externalId } = row as Row<'Member'>;
  return (
    externalId !== null &&
    (await transaction.spenders.isExternalIdTaken(model, { accountId, externalId, id }))
  );
}

/** Without what is `undefined`. */
function plain(values: object): Readonly<Record<string, unknown>> {
  const members: readonly [string, unknown][] = Object.entries(values);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}
