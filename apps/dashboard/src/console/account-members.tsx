/** Who spends the money of one account, and within which budgets. */

import type { Sent } from '../shared/api/gateway-types.js';
import { useResource } from '../shared/api/resource.js';
import { to } from '../shared/api/router.js';
import { Loaded } from '../shared/controls/parts.js';
import { Members } from '../shared/members/members.js';
import type { MemberRequests } from '../shared/members/member-requests.js';
import { call, may } from './session.js';

const repeatable = (actionId: string) => ({ 'Idempotency-Key': actionId });
const ofMember = (id: string) => ({ member_id: id });
const ofBudget = (id: string) => ({ budget_id: id });

function requestsOf(account_id: string): MemberRequests {
  const of = { account_id };
  return {
    groups: ({ signal, ...page }) =>
      call('GET /admin/groups', { query: { ...of, ...page, with: 'budgets' }, signal }),
    createGroup: (group, actionId) =>
      call('POST /admin/groups', { headers: repeatable(actionId), body: { ...of, ...group } }),
    members: (filter, { signal, ...page }) =>
      call('GET /admin/members', {
        query: { ...of, ...filter, ...page, with: 'budgets' },
        signal,
      }),
    createMember: (member, actionId) =>
      call('POST /admin/members', { headers: repeatable(actionId), body: { ...of, ...member } }),
    updateMember: (id, body) =>
      call('PATCH /admin/members/:member_id', { path: ofMember(id), body }),
    endMember: (id) => call('POST /admin/members/:member_id/end', { path: ofMember(id) }),
    createKey: (member_id, { name, caps, actionId }) =>
      call('POST /admin/keys', {
        headers: repeatable(actionId),
        body: { ...of, name, ...caps, member_id },
      }),
    budgets: ({ signal, ...page }) =>
      call('GET /admin/budgets', { query: { ...of, ...page }, signal }),
    budget: (id, signal) =>
      call('GET /admin/budgets/:budget_id', { path: ofBudget(id), query: MOST, signal }),
    createBudget: (budget, actionId) =>
      call('POST /admin/budgets', { headers: repeatable(actionId), body: { ...of, ...budget } }),
    updateBudget: (id, body) =>
      call('PATCH /admin/budgets/:budget_id', { path: ofBudget(id), body }),
    raiseBudget: (id, body, actionId) =>
      call('POST /admin/budgets/:budget_id/raises', {
        path: ofBudget(id),
        headers: repeatable(actionId),
        body,
      }),
    endBudget: (id) => call('POST /admin/budgets/:budget_id/end', { path: ofBudget(id) }),
  };
}

/** So many of those who used most of a budget are shown. */
const MOST = { top: 20 } as const;

/** The place of this part on the console. */
export function membersOf(accountId: string): readonly string[] {
  return ['accounts', accountId, 'members'];
}

export function AccountMembers({ id }: { readonly id: string }) {
  const account = useResource(`account ${id}`, (signal) =>
    call('GET /admin/accounts/:account_id', { path: { account_id: id }, signal }),
  );
  return (
    <Loaded of={account} what="the account">
      {(value: Sent<'accountWithCredits'>) => (
        <div class="stack">
          <p>
            <a href={to(['accounts', id])}>Account {value.name}</a>
          </p>
          <Members
            place={membersOf(id)}
            manager={{ requests: requestsOf(id), mayAct: may('change'), isOperator: true }}
          />
        </div>
      )}
    </Loaded>
  );
}
