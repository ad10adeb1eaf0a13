/** Operations on budgets: how much a part of an account may spend in a period. */

import { z } from 'zod';
import { BUDGET_PERIODS, BUDGET_SCOPES, MAX_BUDGETS, mostOf } from '@gateway/balance-store';
import type { BudgetRecord, BudgetScope } from '@gateway/balance-store';
import { newRefusal } from '../../base/errors/refusal.js';
import { creationIdBy } from '../../base/repeat-ids.js';
import {
  MUST_BE_AFTER_FROM,
  amountUsd,
  budgetId,
  contact,
  groupId,
  help,
  idempotencyId,
  isInOrder,
  keyId,
  memberId,
  name,
  noticeShares,
  ofCursor,
  ofOneAccount,
  pageSize,
  partOfName,
  rangeOf,
  time,
  timeZone,
  unsignedAmountUsd,
  wholeNumber,
} from '../fields.js';
import { lastOf, list } from '../list.js';
import { OperationError, invalidInput, notFound } from '../operation-error.js';
import * as schema from '../schemas.js';
import { budgetView, raiseView, useView } from '../schemas/spenders.js';
import { line } from '../storable.js';
import { readNames } from '../read-names.js';
import { createdBy } from './created-spender.js';
import { amountFor } from './own-budgets.js';
import { operation } from './spender-operation.js';
import type { SpenderContext } from './spender-operation.js';

const oneBudget = z.strictObject({ budget_id: budgetId });

/** An id, or the text of a tag or a run. */
const subject = line.min(1).max(200);
const range = rangeOf(time);
const amount = unsignedAmountUsd.meta({ description: 'the most that is spent in one period' });
help.add(amount, { says: 'the most that is spent in one period' });
const action = z
  .enum(['refuse', 'notify'])
  .register(help, { says: 'what happens when it is used up' });
const thenHelp = {
  says: 'the reserve that pays when it is used up: a budget with the scope reserve',
};
const sharesHelp = {
  says: 'write events when these percents of it are used, such as 50,80; or none',
};

const newBudget = z
  .strictObject({
    account_id: ofOneAccount,
    name,
    scope: z.enum(BUDGET_SCOPES).register(help, { says: 'whose spending it bounds' }),
    subject: subject.optional().register(help, {
      says: 'the id of the group, member or key, or the text of the tag or run; default: each one has its own budget',
    }),
    within_group: groupId
      .optional()
      .register(help, { says: 'for each one: only those of this group and the groups below it' }),
    amount_usd: amount,
    period: z.enum(BUDGET_PERIODS).register(help, { says: 'when it begins anew' }),
    time_zone: timeZone.default('UTC').register(help, { says: 'in which periods begin' }),
    from: range.from
      .optional()
      .register(help, { says: 'for once: when it begins to count; default: now' }),
    until: range.until.optional().register(help, { says: 'when it ends to count; default: never' }),
    action: action.default('refuse'),
    shares: noticeShares.optional().register(help, sharesHelp),
    contact: contact.optional(),
    then: budgetId.optional().register(help, thenHelp),
    idempotency_key: idempotencyId.optional(),
  })
  .refine(isInOrder, MUST_BE_AFTER_FROM)
  .superRefine((input, context) => {
    for (const [field, message] of problemsOfTerms(input)) {
      context.addIssue({ code: 'custom', path: [field], message });
    }
  });

interface Terms {
  readonly scope: BudgetScope;
  readonly subject?: string | undefined;
  readonly within_group?: string | undefined;
  readonly period: string;
  readonly from?: Date | undefined;
}

/** Fields that do not fit each other. */
export function problemsOfTerms(
  terms: Terms,
): readonly (readonly [field: string, message: string])[] {
  const { scope, subject: of, within_group: within, period, from } = terms;
  const problems: (readonly [string, string])[] = [];
  if (scope === 'account' || scope === 'reserve') {
    const message = `is not for a ${scope === 'reserve' ? 'reserve' : 'budget of the whole account'}`;
    if (of !== undefined) problems.push(['subject', message]);
    if (within !== undefined) problems.push(['within_group', message]);
  } else if (scope === 'group' && of === undefined) {
    problems.push(['subject', 'must be given: a budget of a group names the group']);
  } else if (of !== undefined) {
    const problem = problemOfId(scope, of);
    if (problem !== undefined) problems.push(['subject', problem]);
    if (within !== undefined) {
      problems.push(['within_group', 'is only for a budget that each one has, without subject']);
    }
  }
  if (from !== undefined && period !== 'once') {
    problems.push(['from', 'is only for the period once']);
  }
  return problems;
}

const SUBJECT_IDS: Partial<Record<BudgetScope, z.ZodString>> = {
  group: groupId,
  member: memberId,
  key: keyId,
};

function problemOfId(scope: BudgetScope, id: string): string | undefined {
  return SUBJECT_IDS[scope]?.safeParse(id).error?.issues[0]?.message;
}

export const budgetOperations = {
  createBudget: operation({
    method: 'post',
    path: '/admin/budgets',
    summary: 'A new budget. What was spent before in its first period counts',
    right: 'change',
    input: newBudget,
    output: schema.newBudget,
    async run(input, { store, now, by }) {
      if (input.until !== undefined) assertFuture(input.until, now);
      const result = await store.createBudget(
        {
          accountId: input.account_id,
          name: input.name,
          scope: input.scope,
          subject: input.subject ?? null,
          withinGroup: input.within_group ?? null,
          amount: input.amount_usd,
          period: input.period,
          zone: input.time_zone,
          from: input.from ?? null,
          until: input.until ?? null,
          action: input.action,
          shares: input.shares ?? [],
          contact: input.contact ?? null,
          ...(input.then === undefined ? {} : { thenId: input.then }),
        },
        { creationId: creationIdBy(by, input.idempotency_key), by },
      );
      const { record, replayed } = createdBy(result, {
        groupField: 'within_group',
        subject: input.scope,
        most: mostOf(MAX_BUDGETS, by),
        what: 'budgets',
      });
      return { ...budgetView(record), replayed };
    },
  }),

  listBudgets: operation({
    method: 'get',
    path: '/admin/budgets',
    summary: 'The budgets of an account, the oldest first',
    right: 'read',
    input: z.strictObject({
      account_id: ofOneAccount,
      limit: pageSize,
      after: budgetId.optional().register(help, ofCursor),
      name: partOfName,
      with: z.enum(['ended']).optional().register(help, { says: 'also those that were ended' }),
    }),
    output: schema.listOf(schema.budget),
    async run({ account_id, with: also, ...page }, { store }) {
      const budgets = await store.listBudgets({
        ...page,
        accountId: account_id,
        withEnded: also === 'ended',
      });
      const names = await readNames(budgets.flatMap(idsOf), store);
      const named = budgets.map((budget) => budgetView({ ...budget, names }));
      return list(named, lastOf(budgets, page));
    },
  }),

  showBudget: operation({
    method: 'get',
    path: '/admin/budgets/:budget_id',
    summary: 'One budget, with its raises, and what each one has used of it',
    right: 'read',
    input: z.strictObject({
      budget_id: budgetId,
      top: wholeNumber
        .min(1)
        .max(1_000)
        .default(100)
        .register(help, { says: 'at most this many uses' }),
    }),
    output: schema.budgetWithUses,
    async run({ budget_id, top }, { store, now }) {
      const budget = await found(store.getBudget(budget_id));
      const [raises, uses] = await Promise.all([
        store.listRaises(budget_id),
        store.listBudgetUses(budget_id, top),
      ]);
      const isOfSpenders = budget.scope === 'member' || budget.scope === 'key';
      const spenders = isOfSpenders ? uses.map(({ subject: id }) => id) : [];
      const names = await readNames([...idsOf(budget), ...spenders], store);
      return {
        ...budgetView({ ...budget, names }),
        raises: raises.map(raiseView),
        uses: uses.map((use) => {
          const amount = amountFor(use.subject, { budget, raises, at: now() });
          return useView({ ...use, amount, name: names.get(use.subject) });
        }),
      };
    },
  }),

  updateBudget: operation({
    method: 'patch',
    path: '/admin/budgets/:budget_id',
    summary: 'Changes the name, the amount and what happens when a budget is used up',
    right: 'change',
    input: z.strictObject({
      budget_id: budgetId,
      name: name.optional(),
      amount_usd: amount.optional(),
      action: action.optional(),
      shares: noticeShares.optional().register(help, sharesHelp),
      contact: contact
        .nullable()
        .optional()
        .register(help, { says: 'whom a spender is told to ask for more, or none' }),
      then: budgetId
        .nullable()
        .optional()
        .register(help, { says: `${thenHelp.says}, or none` }),
    }),
    output: schema.budget,
    async run({ budget_id, name, amount_usd, action, shares, contact, then }, { store, by }) {
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(amount_usd === undefined ? {} : { amount: amount_usd }),
        ...(action === undefined ? {} : { action }),
        ...(shares === undefined ? {} : { shares }),
        ...(contact === undefined ? {} : { contact }),
        ...(then === undefined ? {} : { thenId: then }),
      };
      const updated = await store.updateBudget(budget_id, change, by);
      if (updated === 'unfit_next') throw new OperationError(newRefusal('unfit_reserve'));
      return budgetView(await found(Promise.resolve(updated)));
    },
  }),

  endBudget: operation({
    method: 'post',
    path: '/admin/budgets/:budget_id/end',
    summary: 'Ends a budget for good: it counts and refuses nothing more',
    right: 'change',
    input: oneBudget,
    output: schema.budget,
    run: async ({ budget_id }, { store, by }) =>
      budgetView(await found(store.endBudget(budget_id, by))),
  }),

  raiseBudget: operation({
    method: 'post',
    path: '/admin/budgets/:budget_id/raises',
    summary: 'Adds an amount to a budget until a time',
    right: 'change',
    input: z.strictObject({
      budget_id: budgetId,
      amount_usd: amountUsd,
      until: range.until,
      subject: subject.optional().register(help, {
        says: 'of a budget that each one has: for whom; default: for all',
      }),
      idempotency_key: idempotencyId.optional(),
    }),
    output: schema.newRaise,
    async run(input, { store, now, by }) {
      const { budget_id: id, until, subject: whose } = input;
      assertFuture(until, now);
      const budget = await found(store.getBudget(id));
      if (whose !== undefined) await assertSubject(budget, whose, store);
      const result = await store.raiseBudget(
        {
          budgetId: id,
          amount: input.amount_usd,
          until,
          ...(whose === undefined ? {} : { subject: whose }),
        },
        { creationId: creationIdBy(by, input.idempotency_key), by },
      );
      switch (result.outcome) {
        case 'unknown_budget':
          throw unknownBudget();
        case 'budget_ended':
          throw new OperationError(newRefusal('budget_ended'));
        default: {
          const most = mostOf(MAX_BUDGETS, by);
          const described = { groupField: 'budget_id', most, what: 'raises' };
          const { record, replayed } = createdBy(result, described);
          return { ...raiseView(record), replayed };
        }
      }
    },
  }),
} as const;

/** What it names of its account. The text of a tag or a run may look like any id. */
function idsOf(budget: BudgetRecord): readonly (string | null)[] {
  const { scope, subject: id, withinGroup, onlyFor, thenId } = budget;
  return [SUBJECT_IDS[scope] === undefined ? null : id, withinGroup, onlyFor, thenId];
}

/** @throws {OperationError} The time has passed, so nothing would come of it. */
function assertFuture(until: Date, now: () => number): void {
  if (until.getTime() <= now()) throw invalidInput('until: must be in the future');
}

/**
 * A raise for one who does not have the budget would change nothing.
 *
 * @throws {OperationError} names the subject
 */
async function assertSubject(
  { scope, subject: only, accountId: owner }: BudgetRecord,
  whose: string,
  store: Pick<SpenderContext['store'], 'getMember' | 'getKey'>,
): Promise<void> {
  if (only !== null || scope === 'account' || scope === 'reserve') {
    throw invalidInput('subject: is only for a budget that each one has');
  }
  const problem = problemOfId(scope, whose);
  if (problem !== undefined) throw invalidInput(`subject: ${problem}`);
  if (scope !== 'member' && scope !== 'key') return;
  const known = scope === 'member' ? await store.getMember(whose) : await store.getKey(whose);
  if (known?.accountId !== owner) throw notFound('subject', scope);
}

function unknownBudget(): OperationError {
  return notFound('budget_id', 'budget');
}

async function found(budget: Promise<BudgetRecord | undefined>): Promise<BudgetRecord> {
  const record = await budget;
  if (record === undefined) throw unknownBudget();
  return record;
}
