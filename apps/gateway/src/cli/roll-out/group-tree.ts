/**
 * The groups of an account by their paths: `Databases/Team A` is the group `Team A` below the group
 * `Databases`. Names are those that people read; a name that has a slash cannot be in a path.
 */

import { MAX_DEPTH, MAX_GROUPS } from '@gateway/balance-store';
import { name } from '../../endpoints/fields.js';
import type { OperationOutput } from '../../operator/operations/operations.js';
import { STAGES } from './steps.js';
import type { PlanBuilder } from './steps.js';

export type Group = OperationOutput<'listGroups'>['data'][number];

/** Names from the top down. */
export type GroupPath = readonly string[];

export interface GroupTree {
  /** @returns `undefined` if there is none yet */
  idOf(path: GroupPath): string | undefined;
  get(path: GroupPath): Group | undefined;
  /** Whether there is one, or a plan creates it. */
  has(path: GroupPath): boolean;
  /** Whether several groups have this path. */
  isAmbiguous(path: GroupPath): boolean;
  /** The path of a group of the account, for people. */
  pathOf(id: string): string;
  /** Plans the groups of a path that do not exist, each once. */
  plan(path: GroupPath, accountId: () => string, plan: PlanBuilder): void;
}

export const pathText = (path: GroupPath): string => path.join('/');

/** @returns the problem, if the text is not a path */
export function readPath(
  text: string,
): { readonly path: GroupPath } | { readonly problem: string } {
  const path: string[] = [];
  for (const part of text.split('/')) {
    const parsed = name.safeParse(part);
    if (!parsed.success) {
      const problem = `must be names with / between them, such as Databases/Team A: “${part}” is none`;
      return { problem };
    }
    path.push(parsed.data);
  }
  if (path.length <= MAX_DEPTH) return { path };
  return { problem: `groups are at most ${String(MAX_DEPTH)} levels deep` };
}

export function createGroupTree(groups: readonly Group[]): GroupTree {
  const byId = new Map(groups.map((group) => [group.id, group]));
  const pathOf = (id: string): string =>
    pathText(byId.get(id)?.groups.map((above) => byId.get(above)?.name ?? above) ?? [id]);
  const byPath = new Map<string, Group>();
  const ambiguous = new Set<string>();
  for (const group of groups) {
    const path = pathOf(group.id);
    if (byPath.has(path)) ambiguous.add(path);
    else byPath.set(path, group);
  }
  /** Of groups that a plan creates, when they are created. */
  const created = new Map<string, string>();
  const planned = new Set<string>();
  const idOf = (path: GroupPath) => byPath.get(pathText(path))?.id ?? created.get(pathText(path));

  return {
    idOf,
    get: (path) => byPath.get(pathText(path)),
    has: (path) => byPath.has(pathText(path)) || planned.has(pathText(path)),
    isAmbiguous: (path) => ambiguous.has(pathText(path)),
    pathOf,
    plan(path, accountId, plan) {
      for (let depth = 1; depth <= path.length; depth += 1) {
        const [part, above] = [path.slice(0, depth), path.slice(0, depth - 1)];
        const text = pathText(part);
        if (byPath.has(text) || planned.has(text)) continue;
        planned.add(text);
        if (groups.length + planned.size === MAX_GROUPS + 1) {
          plan.refuse(`an account has at most ${String(MAX_GROUPS)} groups`);
        }
        plan.add({
          stage: STAGES.groups + depth,
          does: 'create',
          what: `group ${text}`,
          differences: [],
          async run(call) {
            const parent_id = above.length === 0 ? undefined : idOf(above);
            const of = { account_id: accountId(), parent_id };
            const { id } = await call('createGroup', { ...of, name: part.at(-1) ?? '' });
            created.set(text, id);
          },
        });
      }
    },
  };
}
