/** What the customer's page and the console ask about members, groups and budgets. */

import type { Answer, Page } from '../api/api.js';
import type { ClientCalls, Sent } from '../api/gateway-types.js';
import type { KeyRequests } from '../keys/key-actions.js';

export type Group = Sent<'group'>;
export type Member = Sent<'member'>;
export type Budget = Sent<'budget'>;
export type OwnBudget = NonNullable<Member['budgets']>[number];

type Body<Name extends keyof ClientCalls> = NonNullable<
  Extract<ClientCalls[Name]['given'], { readonly body?: unknown }>['body']
>;
export type NewBudget = Body<'POST /v1/dashboard/budgets'>;
export type BudgetChange = Body<'PATCH /v1/dashboard/budgets/:budget_id'>;
export type NewRaise = Body<'POST /v1/dashboard/budgets/:budget_id/raises'>;
export type NewMember = Body<'POST /v1/dashboard/members'>;
export type MemberChange = Body<'PATCH /v1/dashboard/members/:member_id'>;

export interface MemberFilter {
  readonly name: string | undefined;
  readonly group_id: string | undefined;
  /** `undefined`: all. */
  readonly state: Member['state'] | undefined;
}

interface PageOf {
  readonly limit: number;
  readonly after: string | undefined;
  readonly signal: AbortSignal;
}

/** Each page implements this with its own endpoints, for one account. */
export interface MemberRequests {
  readonly groups: (page: PageOf) => Promise<Answer<Page<Group>>>;
  readonly createGroup: (
    group: { readonly name: string; readonly parent_id: string | undefined },
    actionId: string,
  ) => Promise<Answer<Group>>;
  readonly members: (filter: MemberFilter, page: PageOf) => Promise<Answer<Page<Member>>>;
  readonly createMember: (member: NewMember, actionId: string) => Promise<Answer<Member>>;
  readonly updateMember: (id: string, change: MemberChange) => Promise<Answer<Member>>;
  readonly endMember: (id: string) => Promise<Answer<Sent<'endedMember'>>>;
  /** A key of a member. */
  readonly createKey: (
    memberId: string,
    given: Parameters<KeyRequests['create']>[0],
  ) => ReturnType<KeyRequests['create']>;
  readonly budgets: (page: PageOf) => Promise<Answer<Page<Budget>>>;
  readonly budget: (id: string, signal: AbortSignal) => Promise<Answer<Sent<'budgetWithUses'>>>;
  readonly createBudget: (budget: NewBudget, actionId: string) => Promise<Answer<Budget>>;
  readonly updateBudget: (id: string, change: BudgetChange) => Promise<Answer<Budget>>;
  readonly raiseBudget: (
    id: string,
    raise: NewRaise,
    actionId: string,
  ) => Promise<Answer<Sent<'raise'>>>;
  readonly endBudget: (id: string) => Promise<Answer<Budget>>;
}

/** Who looks at the list. */
export interface Manager {
  readonly requests: MemberRequests;
  /** Whether the person may change anything. */
  readonly mayAct: boolean;
  /** Holders may change only budgets that a holder created. */
  readonly isOperator: boolean;
}

/** Whether the person may change the budget. */
export function mayChangeBudget(
  { mayAct, isOperator }: Manager,
  { created_by: by }: Pick<Budget, 'created_by'>,
): boolean {
  return mayAct && (isOperator || by === 'holder');
}
