/** Who spends the money of the account, and within which budgets, for a key that may manage it. */

import { Members } from '../shared/members/members.js';
import type { MemberRequests } from '../shared/members/member-requests.js';
import { call } from './session.js';

const repeatable = (actionId: string) => ({ 'Idempotency-Key': actionId });
const ofMember = (id: string) => ({ member_id: id });
const ofBudget = (id: string) => ({ budget_id: id });

const requests: MemberRequests = {
  groups: ({ signal, ...page }) =>
    call('GET /v1/dashboard/groups', { query: { ...page, with: 'budgets' }, signal }),
  createGroup: (body, actionId) =>
    call('POST /v1/dashboard/groups', { headers: repeatable(actionId), body }),
  members: (filter, { signal, ...page }) =>
    call('GET /v1/dashboard/members', { query: { ...filter, ...page, with: 'budgets' }, signal }),
  createMember: (body, actionId) =>
    call('POST /v1/dashboard/members', { headers: repeatable(actionId), body }),
  updateMember: (id, body) =>
    call('PATCH /v1/dashboard/members/:member_id', { path: ofMember(id), body }),
  endMember: (id) => call('POST /v1/dashboard/members/:member_id/end', { path: ofMember(id) }),
  createKey: (memberId, { name, caps, actionId }) =>
    call('POST /v1/dashboard/keys', {
      headers: repeatable(actionId),
      body: { name, ...caps, member_id: memberId },
    }),
  budgets: ({ signal, ...page }) => call('GET /v1/dashboard/budgets', { query: page, signal }),
  budget: (id, signal) =>
    call('GET /v1/dashboard/budgets/:budget_id', { path: ofBudget(id), query: MOST, signal }),
  createBudget: (body, actionId) =>
    call('POST /v1/dashboard/budgets', { headers: repeatable(actionId), body }),
  updateBudget: (id, body) =>
    call('PATCH /v1/dashboard/budgets/:budget_id', { path: ofBudget(id), body }),
  raiseBudget: (id, body, actionId) =>
    call('POST /v1/dashboard/budgets/:budget_id/raises', {
      path: ofBudget(id),
      headers: repeatable(actionId),
      body,
    }),
  endBudget: (id) => call('POST /v1/dashboard/budgets/:budget_id/end', { path: ofBudget(id) }),
};

/** So many of those who used most of a budget are shown. */
const MOST = { top: 20 } as const;

export function CustomerMembers() {
  return <Members place={['members']} manager={{ requests, mayAct: true, isOperator: false }} />;
}
