/** Operators who raise, raise for some seconds, and lower budgets, and move members. */

import { setTimeout as sleep } from 'node:timers/promises';
import { toUsd } from '../teams/operators.mjs';
import { LEAST } from './accounts.mjs';

const RAISED_MS = 20_000;

/**
 * @param {object} options
 * @param {import('../repeated-calls.mjs').RepeatedCalls['callAdmin']} options.callAdmin
 * @param {readonly any[]} options.accounts
 * @param {() => number} options.progress - 1 when as many requests were served or refused as are to
 * be served
 */
export function createBudgetOperators({ callAdmin, accounts, progress }, random) {
  const budgets = new Map(
    accounts.flatMap((account) => account.budgets.map((budget) => [budget.id, budget])),
  );
  const surprises = [];
  const done = {};
  let stopped = false;
  let ids = 0;

  async function send(method, path, body) {
    const { status, value } = await callAdmin(method, path, body);
    if (status !== 200) surprises.push({ path, status, value });
  }

  /** Only one operator changes a budget at a time, so that its amount is known. */
  async function withBudget(work) {
    const budget = random.pick([...budgets.values()].filter(({ isBusy }) => isBusy !== true));
    budget.isBusy = true;
    await work(budget);
    budget.isBusy = false;
  }

  /** The most that it allowed at any time. */
  function noteMost(budget) {
    budget.raises = budget.raises.filter(({ until }) => until > Date.now());
    const raised = budget.raises.reduce((sum, { amount }) => sum + amount, 0n);
    if (budget.current + raised > budget.most) budget.most = budget.current + raised;
  }

  const ACTIONS = {
    /**
     * Amounts grow with the requests, more slowly than these use them, so that every level refuses
     * some; refused requests count, too, so that no run waits forever for budgets that are used up.
     * The larger amount counts from now on, because the change may be made before its answer.
     */
    change: () =>
      withBudget(async (budget) => {
        const grown = (budget.first * BigInt(20 + Math.floor(90 * progress()))) / 100n;
        budget.amount = grown > LEAST ? grown : LEAST;
        const amount = (budget.amount * BigInt(50 + random.below(100))) / 100n;
        if (amount > budget.current) budget.current = amount;
        noteMost(budget);
        await send('PATCH', `budgets/${budget.id}`, { amount_usd: toUsd(amount) });
        budget.current = amount;
      }),
    raise: () =>
      withBudget(async (budget) => {
        const amount = budget.amount / 10n + 1n;
        const until = Date.now() + RAISED_MS;
        budget.raises.push({ amount, until });
        noteMost(budget);
        await send('POST', `budgets/${budget.id}/raises`, {
          amount_usd: toUsd(amount),
          until: new Date(until).toISOString(),
          idempotency_key: `raise-${(ids += 1)}`,
        });
      }),
    async move() {
      const { members, groups } = random.pick(accounts);
      const member = random.pick(members);
      const group = random.pick(groups);
      member.paths.add(group.path);
      await send('PATCH', `members/${member.id}`, { group_id: group.id });
    },
  };
  const OFTEN = ['move', 'move', 'change', 'change', 'change', 'raise'];

  async function operator() {
    while (!stopped) {
      const name = random.pick(OFTEN);
      await ACTIONS[name]();
      done[name] = (done[name] ?? 0) + 1;
      await sleep(random.below(200));
    }
  }

  return {
    budgets,
    surprises,
    done,
    stop() {
      stopped = true;
    },
    async run(parallel) {
      await Promise.all(Array.from({ length: parallel }, operator));
    },
  };
}
