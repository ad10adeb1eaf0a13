/** What a response was charged, by the outcomes of its settlements. */

import type { SettleOutcome, SettledPricing, Settlement } from '@gateway/balance-store';
import type { Usage, UsageRemark } from '@gateway/translator';
import type { PricedUsage } from './price-usage.js';

/** A detail that a person should look into. Its message is only for the ledger. */
export type ChargeRemark =
  UsageRemark | { readonly detail: 'unknown_members'; readonly message: string };

export interface Charge {
  /** The counts of the message. They do not include the tokens listed in `parts`. */
  readonly usage: Usage;
  /** How the rates of the message were chosen, and its fees. */
  readonly pricing: SettledPricing | undefined;
  /** The charge of the key, with all parts, in units of 10^-14 USD, like all amounts here. */
  readonly charge: bigint;
  /** The part of the price that the balance did not cover; only with `OVERDRAFT=none`. */
  readonly writtenOff: bigint;
  /** What it cost the operator, with all parts; `undefined` if that of one is not known. */
  readonly cost: bigint | undefined;
  readonly balance: bigint;
  /** The parts that have a ledger entry of their own. */
  readonly parts: readonly ChargedPart[];
  /** Details of the usage that contradict its counts, and what is unknown to this version. */
  readonly remarks: readonly ChargeRemark[];
  /** How many parts of the usage were set aside for the operator: most have no known price. */
  readonly setAside: number;
}

/**
 * Tokens of another model than the request's own, or work that the counts of the message do not
 * include. The amounts are included in those of the {@link Charge}.
 */
export interface ChargedPart extends Pick<
  Settlement,
  'requestId' | 'model' | 'usage' | 'pricing' | 'cost'
> {
  readonly charge: bigint;
  readonly writtenOff: bigint;
}

export type Charged = Charge & { readonly outcome: 'charged' };

/**
 * @param plan.unpriced - How many parts of the usage have no settlement, for want of a price.
 * @param outcomes - Those of the settlements, in their order.
 * @returns `undefined` if the charge of the message was refused
 */
export function foldOutcomes(
  plan: {
    readonly message: PricedUsage;
    /** The first is that of the message. */
    readonly settlements: readonly Settlement[];
    readonly unpriced: number;
    readonly remarks: readonly ChargeRemark[];
  },
  outcomes: readonly SettleOutcome[],
): Charged | undefined {
  const { settlements, remarks } = plan;
  const { usage, pricing } = plan.message;
  let [charge, writtenOff, balance] = [0n, 0n, 0n];
  let cost: bigint | undefined = 0n;
  const parts: ChargedPart[] = [];
  let setAside = plan.unpriced;
  for (const [index, settlement] of settlements.entries()) {
    const outcome = outcomes[index];
    if (outcome === undefined) throw new Error('a settlement has no outcome');
    if (outcome.outcome === 'conflict' || outcome.outcome === 'quarantined') {
      if (index === 0) return undefined;
      // The message is charged already, so only this part of it is lost.
      setAside += 1;
      continue;
    }
    const charged = {
      charge: settlement.amount - outcome.writtenOff,
      writtenOff: outcome.writtenOff,
    };
    if (index > 0) parts.push({ ...settlement, ...charged });
    charge += charged.charge;
    writtenOff += charged.writtenOff;
    cost = sumOfCosts(cost, settlement.cost);
    balance = outcome.balance;
  }
  return {
    outcome: 'charged',
    usage,
    pricing,
    charge,
    writtenOff,
    cost,
    balance,
    parts,
    remarks,
    setAside,
  };
}

function sumOfCosts(one: bigint | undefined, other: bigint | undefined): bigint | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}
