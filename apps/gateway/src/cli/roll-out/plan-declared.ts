/** The steps that make the ledger what a declared file says. */

import type {
  CallOperation,
  OperationInput,
  OperationOutput,
} from '../../operator/operations/operations.js';
import { emptyAccount, readAccount } from './account-state.js';
import type { AccountState } from './account-state.js';
import { asSent } from './declared-file.js';
import type { Declared, Placed } from './declared-file.js';
import { pathText } from './group-tree.js';
import { planBudgets } from './plan-budgets.js';
import { planKeys } from './plan-keys.js';
import { mergedMetadata, metadataDifferences, planMembers } from './plan-members.js';
import type { MemberIds } from './plan-members.js';
import { STAGES, createPlan, differencesOf } from './steps.js';
import type { Plan, PlanBuilder } from './steps.js';

export async function planDeclared(declared: Declared, call: CallOperation): Promise<Plan> {
  const plan = createPlan();
  if (declared.prices !== undefined) await planPrices(declared.prices, call, plan);
  const accounts = new Map<string, AccountState>();
  for (const { item, at } of placed('accounts', declared.accounts)) {
    if (accounts.has(item.external_id)) plan.refuse(`${at}.external_id: is there twice`);
    else accounts.set(item.external_id, await planAccount(item, at, { call, plan }));
  }
  const [only, ...others] = declared.accounts;
  const usual = declared.account ?? (others.length === 0 ? only?.external_id : undefined);
  const parts = partsByAccount(declared, usual, plan);
  for (const [owner, part] of parts) {
    const account = accounts.get(owner) ?? (await findAccount(owner, call));
    if (account === undefined) plan.refuse(`${part.at}.account: there is no account ${owner}`);
    else planPart(part, account, plan);
  }
  return plan.finish();
}

function placed<Item>(list: string, items: readonly Item[]): readonly Placed<Item>[] {
  return items.map((item, n) => ({ item, at: `${list}[${String(n)}]` }));
}

async function planPrices(
  prices: NonNullable<Declared['prices']>,
  call: CallOperation,
  plan: PlanBuilder,
): Promise<void> {
  const { variables } = await call('showSettings', {});
  const before = variables.find(({ name }) => name === 'PRICES')?.value ?? null;
  const after = typeof prices === 'string' ? prices : JSON.stringify(prices);
  if (before === after || (before !== null && withoutBlanks(before) === after)) {
    plan.leave('settings');
    return;
  }
  plan.add({
    stage: STAGES.settings,
    does: 'change',
    what: 'setting PRICES',
    differences: [{ field: 'value', before, after }],
    async run(run) {
      await run('changeSetting', { name: 'PRICES', value: after });
    },
  });
}

/** JSON that a person wrote, as `JSON.stringify` writes it. */
function withoutBlanks(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

async function planAccount(
  item: Declared['accounts'][number],
  at: string,
  { call, plan }: { readonly call: CallOperation; readonly plan: PlanBuilder },
): Promise<AccountState> {
  const { external_id, metadata, ...rest } = item;
  const values = asSent(rest);
  const { data } = await call('listAccounts', { external_id });
  const [existing] = data;
  if (existing !== undefined) {
    planAccountChange({ existing, metadata, values }, plan);
    return readAccount(existing.id, call);
  }
  if (item.name === undefined) plan.refuse(`${at}.name: must be given for a new account`);
  let created: string | undefined;
  plan.add({
    stage: STAGES.accounts,
    does: 'create',
    what: `account ${external_id} (${item.name ?? ''})`,
    differences: differencesOf({ ...values, name: undefined }, {}),
    async run(run) {
      const given = Object.entries(values).filter(([, value]) => value !== null);
      const input = {
        ...Object.fromEntries(given),
        external_id,
      } as OperationInput<'createAccount'>;
      const pairs = mergedMetadata({ metadata }, undefined);
      ({ id: created } = await run('createAccount', { ...input, metadata: pairs }));
    },
  });
  return emptyAccount(() => {
    if (created === undefined) throw new Error(`account ${external_id} was not created`);
    return created;
  });
}

function planAccountChange(
  {
    existing,
    metadata,
    values,
  }: {
    readonly existing: OperationOutput<'listAccounts'>['data'][number];
    readonly metadata: Declared['accounts'][number]['metadata'];
    readonly values: Readonly<Record<string, unknown>>;
  },
  plan: PlanBuilder,
): void {
  const merged = mergedMetadata({ metadata }, existing);
  const pairs = metadata === undefined ? [] : metadataDifferences(existing.metadata, merged);
  const changed = differencesOf(values, existing);
  if (changed.length + pairs.length === 0) {
    plan.leave('accounts');
    return;
  }
  plan.add({
    stage: STAGES.accounts,
    does: 'change',
    what: `account ${existing.external_id ?? existing.id} (${existing.name})`,
    differences: [...changed, ...pairs],
    async run(run) {
      await run('updateAccount', {
        account_id: existing.id,
        ...Object.fromEntries(changed.map(({ field, after }) => [field, after])),
        ...(pairs.length === 0 ? {} : { metadata: merged }),
      });
    },
  });
}

interface Part {
  /** The first item. */
  readonly at: string;
  readonly groups: Placed<Declared['groups'][number]>[];
  readonly members: Placed<Declared['members'][number]>[];
  readonly keys: Placed<Declared['keys'][number]>[];
  readonly budgets: Placed<Declared['budgets'][number]>[];
}

const LISTS = ['groups', 'members', 'keys', 'budgets'] as const;

function partsByAccount(
  declared: Declared,
  usual: string | undefined,
  plan: PlanBuilder,
): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  for (const list of LISTS) {
    for (const { item, at } of placed<{ readonly account?: string | undefined }>(
      list,
      declared[list],
    )) {
      const owner = item.account ?? usual;
      if (owner === undefined) {
        plan.refuse(`${at}.account: must be given, here or for the whole file`);
        continue;
      }
      let part = parts.get(owner);
      if (part === undefined) {
        part = { at, groups: [], members: [], keys: [], budgets: [] };
        parts.set(owner, part);
      }
      (part[list] as Placed<unknown>[]).push({ item, at });
    }
  }
  return parts;
}

async function findAccount(owner: string, call: CallOperation): Promise<AccountState | undefined> {
  const { data } = await call('listAccounts', { external_id: owner });
  const [existing] = data;
  if (existing !== undefined) return readAccount(existing.id, call);
  if (!owner.startsWith('acct_')) return undefined;
  const { id } = await call('showAccount', { account_id: owner });
  return readAccount(id, call);
}

function planPart(part: Part, account: AccountState, plan: PlanBuilder): void {
  refuseTwice(part.groups, 'path', ({ path }) => pathText(path), plan);
  refuseTwice(part.members, 'external_id', (member) => member.external_id, plan);
  refuseTwice(part.keys, 'external_id', (key) => key.external_id, plan);
  refuseTwice(part.budgets, 'name', (budget) => budget.name, plan);
  for (const group of part.groups) planGroup(group, account, plan);
  const members: MemberIds = planMembers(
    part.members.map(({ item, at }) => {
      const { external_id: externalId, name, email, group, metadata, state } = item;
      const place = (field: string) => `${at}.${field}`;
      return { place, externalId, name, email, group, metadata, state };
    }),
    account,
    plan,
  );
  planKeys(part.keys, account, members, plan);
  planBudgets(part.budgets, account, members, plan);
}

function refuseTwice<Item>(
  items: readonly Placed<Item>[],
  field: string,
  identityOf: (item: Item) => string,
  plan: PlanBuilder,
): void {
  const first = new Map<string, string>();
  for (const { item, at } of items) {
    const before = first.get(identityOf(item));
    if (before === undefined) first.set(identityOf(item), at);
    else plan.refuse(`${at}.${field}: is that of ${before}, too`);
  }
}

function planGroup(
  { item, at }: Placed<Declared['groups'][number]>,
  account: AccountState,
  plan: PlanBuilder,
): void {
  const { path, external_id, metadata } = item;
  if (account.groups.isAmbiguous(path)) {
    plan.refuse(`${at}.path: several groups are called ${pathText(path)}: rename all but one`);
    return;
  }
  const existing = account.groups.get(path);
  account.groups.plan(path, account.id, plan);
  const merged = mergedMetadata({ metadata }, existing);
  const pairs = metadata === undefined ? [] : metadataDifferences(existing?.metadata ?? {}, merged);
  const changed = differencesOf({ external_id }, existing ?? {});
  if (changed.length + pairs.length === 0) {
    if (existing !== undefined) plan.leave('groups');
    return;
  }
  plan.add({
    // A new group is created without them, by its path alone, like those above it.
    stage: STAGES.members,
    does: 'change',
    what: `group ${pathText(path)}`,
    differences: [...changed, ...pairs],
    async run(call) {
      await call('updateGroup', {
        group_id: account.groups.idOf(path) ?? '',
        ...(changed.length === 0 ? {} : { external_id }),
        ...(pairs.length === 0 ? {} : { metadata: merged }),
      });
    },
  });
}
