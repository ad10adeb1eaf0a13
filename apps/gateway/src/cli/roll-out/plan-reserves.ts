/**
 * The reserves that the budgets of a declared file name in `then`. A reserve is made before the
 * budgets that it pays for, and a chain that could not be made refuses the whole file.
 */

import { MAX_CHAIN } from '@gateway/balance-store';
import type { AccountState } from './account-state.js';
import type { Declared, Placed } from './declared-file.js';
import type { PlanBuilder } from './steps.js';

type DeclaredBudget = Declared['budgets'][number];

export interface Reserves {
  /** How many reserves pay after the budget of this name. */
  after(name: string): number;
  /** The id of a reserve, once it is there. */
  idOf(name: string): string | undefined;
  /** The name of a reserve; its id if it has ended, and `null` for none. */
  nameOf(id: string | null): string | null;
  isCreated(name: string, id: string): void;
}

/** Refuses each `then` that names no reserve, or makes a chain too long or without an end. */
export function planReserves(
  declared: readonly Placed<DeclaredBudget>[],
  { budgets }: AccountState,
  plan: PlanBuilder,
): Reserves {
  const byId = new Map(budgets.map((budget) => [budget.id, budget]));
  const ids = new Map(budgets.map(({ name, id }) => [name, id]));
  const items = new Map(declared.map((one) => [one.item.name, one]));
  /** Of each budget the next one: existing ones by their ids, new ones by their names. */
  const placeOf = (name: string) => ids.get(name) ?? `new ${name}`;
  const nexts = new Map<string, string | null>(budgets.map(({ id, then }) => [id, then]));

  function problemOf(reserve: string): string | undefined {
    if (budgets.filter(({ name }) => name === reserve).length > 1) {
      return `several budgets are called ${reserve}: rename all but one`;
    }
    const existing = byId.get(ids.get(reserve) ?? '');
    const item = items.get(reserve)?.item;
    const scope = existing?.scope ?? item?.scope;
    if (scope === undefined) return `the account has no budget ${reserve}`;
    if (scope !== 'reserve') return `${reserve} is for ${scope}: only a reserve pays for others`;
    return item?.state === 'ended' ? `${reserve} is ended by this file` : undefined;
  }

  for (const { item, at } of declared) {
    if (item.state === 'ended') nexts.delete(placeOf(item.name));
    else if (item.then !== undefined) {
      const problem = item.then === null ? undefined : problemOf(item.then);
      if (problem !== undefined) plan.refuse(`${at}.then: ${problem}`);
      else nexts.set(placeOf(item.name), item.then === null ? null : placeOf(item.then));
    }
  }
  /** The budget and its reserves; one more than a chain has if it is too long. */
  function chainFrom(place: string): readonly string[] {
    const chain: string[] = [];
    for (let at: string | null = place; at !== null && chain.length <= MAX_CHAIN;) {
      chain.push(at);
      at = nexts.get(at) ?? null;
    }
    return chain;
  }
  const tooLong = [...nexts.keys()].map(chainFrom).filter(({ length }) => length > MAX_CHAIN);
  const linked = declared.filter(({ item: { then } }) => then != null);
  const atFault = tooLong.flatMap(
    (chain) => linked.find(({ item: { name } }) => chain.includes(placeOf(name))) ?? [],
  );
  for (const { at } of new Set(atFault)) {
    const rule = `a chain has at most ${String(MAX_CHAIN)} budgets, none of them twice`;
    plan.refuse(`${at}.then: ${rule}`);
  }
  return {
    after: (name) => chainFrom(placeOf(name)).length - 1,
    idOf: (name) => ids.get(name),
    nameOf: (id) => (id === null ? null : (byId.get(id)?.name ?? id)),
    isCreated(name, id) {
      ids.set(name, id);
    },
  };
}
