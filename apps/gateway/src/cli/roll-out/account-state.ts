/** What an account has now, to be compared with what a file declares. */

import type { ListName } from '../../operator/operations/list-csv.js';
import { pagesOf } from '../../operator/operations/list-pages.js';
import type {
  CallOperation,
  OperationInput,
  OperationOutput,
} from '../../operator/operations/operations.js';
import { createGroupTree } from './group-tree.js';
import type { GroupTree } from './group-tree.js';

export type Member = OperationOutput<'listMembers'>['data'][number];
export type Key = OperationOutput<'listKeys'>['data'][number];
export type Budget = OperationOutput<'listBudgets'>['data'][number];

export interface AccountState {
  /** Known once the account was created, if it is new. */
  readonly id: () => string;
  readonly groups: GroupTree;
  /** Those that have an external id, by it. */
  readonly members: ReadonlyMap<string, Member>;
  /** How many members there are, with or without an external id. */
  readonly memberCount: number;
  /** Without revoked ones. */
  readonly keys: readonly Key[];
  /** Without those that requests gave to their runs. */
  readonly budgets: readonly Budget[];
}

export function emptyAccount(id: () => string): AccountState {
  const groups = createGroupTree([]);
  return { id, groups, members: new Map(), memberCount: 0, keys: [], budgets: [] };
}

/** Reads pages of a thousand: ten for as many thousand members. */
export async function readAccount(account_id: string, call: CallOperation): Promise<AccountState> {
  const of = { account_id };
  const [groups, members, keys, budgets] = await Promise.all([
    wholeList('listGroups', of, call),
    wholeList('listMembers', of, call),
    wholeList('listKeys', of, call),
    wholeList('listBudgets', of, call),
  ]);
  return {
    id: () => account_id,
    groups: createGroupTree(groups),
    members: new Map(
      members.flatMap((member) =>
        member.external_id === null ? [] : [[member.external_id, member] as const],
      ),
    ),
    memberCount: members.length,
    keys: keys.filter(({ state }) => state !== 'revoked'),
    budgets: budgets.filter(({ only_for: onlyFor }) => onlyFor === null),
  };
}

async function wholeList<Name extends ListName>(
  name: Name,
  input: OperationInput<Name>,
  call: CallOperation,
): Promise<OperationOutput<Name>['data'][number][]> {
  const all: OperationOutput<Name>['data'][number][] = [];
  const ask = (page: OperationInput<Name>) => call(name, page);
  for await (const { data } of pagesOf(name, input, ask)) all.push(...data);
  return all;
}
