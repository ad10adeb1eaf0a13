/** Compares what the provider reports with sums of the ledger, by UTC day, model and item. */

import type { SettledRates, UsageSum } from '@gateway/balance-store';
import { TOKEN_CLASSES } from '../provider-reports/reports.js';
import type { ReportedCost, ReportedUsage, TokenClass } from '../provider-reports/reports.js';

/** The figures of both sides for one item. Amounts are in units of 10^-14 USD. */
export interface ComparedItem {
  /** A {@link TokenClass}, {@link WRITTEN_OFF}, or the provider's word for another cost. */
  readonly item: string;
  readonly providerTokens: bigint;
  readonly ledgerTokens: bigint;
  readonly providerCost: bigint;
  readonly ledgerCost: bigint;
  /**
   * The worth of the difference: the difference of the costs or that of the tokens at their price,
   * whichever is larger. `undefined` if only the tokens differ, and their model has no price.
   */
  readonly worth: bigint | undefined;
}

export interface ComparedModel {
  readonly day: string;
  /** `null` for costs that belong to no model. */
  readonly model: string | null;
  /** The items that differ. */
  readonly differences: readonly ComparedItem[];
}

export interface UsageComparison {
  /** How many combinations of day, model and item were compared. */
  readonly compared: number;
  readonly providerCost: bigint;
  /** The charged amounts, without the amounts that were written off. */
  readonly ledgerCost: bigint;
  /** By day and model. */
  readonly models: readonly ComparedModel[];
}

/**
 * The part of the usage that was not charged, because of a balance or a cap. The provider bills it.
 */
export const WRITTEN_OFF = 'written_off';

/** The provider's word for what the fees of the ledger are for. It bills them without a model. */
const SEARCHES = 'web_search';

/**
 * If all charges have a cost, the bill is compared with the costs, day by day: what customers pay
 * is another matter. Costs of tokens and of searches are one figure then.
 */
const COST = 'cost';

export interface ComparedSources {
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
  /** By day, model and rates. */
  readonly ledger: readonly UsageSum[];
  /** The name that the ledger has for a model, given that name or an alias. */
  readonly nameOf: (model: string) => string;
  /** The rates at the end of a day, at which a difference in tokens is valued. */
  readonly ratesOf: (model: string, day: string) => SettledRates | undefined;
}

type Figure = 'providerTokens' | 'ledgerTokens' | 'providerCost' | 'ledgerCost';
/** `unbilledTokens`: of refusals that cost nothing. */
type Sums = { -readonly [Name in Figure | 'unbilledTokens']: bigint };

export function compareUsage(sources: ComparedSources): UsageComparison {
  const { usage, costs, ledger, nameOf, ratesOf } = sources;
  const models = new Map<
    string,
    { readonly day: string; readonly model: string | null; readonly items: Map<string, Sums> }
  >();

  function add(day: string, model: string | null, item: string, more: Partial<Sums>): void {
    const name = model === null ? null : nameOf(model);
    const id = JSON.stringify([day, name]);
    const found = models.get(id) ?? { day, model: name, items: new Map<string, Sums>() };
    models.set(id, found);
    const sums = found.items.get(item) ?? nothing();
    found.items.set(item, sums);
    for (const part of Object.keys(more) as (keyof Sums)[]) sums[part] += more[part] ?? 0n;
  }

  for (const { day, model, tokens } of usage) {
    for (const item of TOKEN_CLASSES) add(day, model, item, { providerTokens: tokens[item] });
  }
  const hasCosts = ledger.length > 0 && ledger.every((sum) => sum.costed === sum.requests);
  for (const { day, model, item, amount } of costs) {
    const place = hasCosts ? ([day, null, COST] as const) : ([day, model, item] as const);
    add(...place, { providerCost: amount });
  }
  for (const { start, model = '', rates, usage: sums, cost, fees, writtenOff } of ledger) {
    const day = start?.toISOString().slice(0, 10) ?? '';
    const isUnbilled = rates !== undefined && Object.values(rates).every((rate) => rate === 0n);
    for (const [item, tokens] of Object.entries(classesOf(sums))) {
      const price = rates === undefined ? 0n : RATE_OF[item as TokenClass](rates);
      if (isUnbilled) add(day, model, item, { unbilledTokens: tokens });
      else
        add(day, model, item, { ledgerTokens: tokens, ledgerCost: hasCosts ? 0n : tokens * price });
    }
    if (hasCosts) {
      add(day, null, COST, { ledgerCost: cost });
      continue;
    }
    if (fees > 0n) add(day, null, SEARCHES, { ledgerCost: fees });
    if (writtenOff > 0n) add(day, model, WRITTEN_OFF, { ledgerCost: -writtenOff });
  }

  let [compared, providerCost, ledgerCost] = [0, 0n, 0n];
  const result: ComparedModel[] = [];
  for (const { day, model, items } of models.values()) {
    const differences: ComparedItem[] = [];
    for (const [item, sums] of items) {
      compared += 1;
      providerCost += sums.providerCost;
      ledgerCost += sums.ledgerCost;
      const { unbilledTokens, ...shown } = sums;
      // The provider does not say whether its report of usage has what it does not bill.
      const tokens = [shown.ledgerTokens, shown.ledgerTokens + unbilledTokens];
      const isSame =
        tokens.includes(shown.providerTokens) && shown.providerCost === shown.ledgerCost;
      if (isSame) continue;
      const rates = model === null ? undefined : ratesOf(model, day);
      differences.push({ item, ...shown, worth: worthOf(item, shown, rates) });
    }
    if (differences.length > 0) result.push({ day, model, differences });
  }
  return { compared, providerCost, ledgerCost, models: result.sort(byDayAndModel) };
}

function nothing(): Sums {
  const tokens = { providerTokens: 0n, ledgerTokens: 0n, unbilledTokens: 0n };
  return { ...tokens, providerCost: 0n, ledgerCost: 0n };
}

const RATE_OF: Readonly<Record<TokenClass, (rates: SettledRates) => bigint>> = {
  input: (rates) => rates.inputPerToken,
  output: (rates) => rates.outputPerToken,
  cache_read: (rates) => rates.cacheReadPerToken,
  cache_write_5m: (rates) => rates.cacheWrite5mPerToken,
  cache_write_1h: (rates) => rates.cacheWrite1hPerToken,
};

function classesOf(usage: UsageSum['usage']): Readonly<Record<TokenClass, bigint>> {
  return {
    input: usage.inputTokens,
    output: usage.outputTokens,
    cache_read: usage.cacheReadInputTokens,
    cache_write_5m: usage.cacheCreationInputTokens - usage.cacheCreation1hInputTokens,
    cache_write_1h: usage.cacheCreation1hInputTokens,
  };
}

function worthOf(
  item: string,
  sums: Pick<Sums, Figure>,
  rates: SettledRates | undefined,
): bigint | undefined {
  const cost = absolute(sums.providerCost - sums.ledgerCost);
  const tokens = absolute(sums.providerTokens - sums.ledgerTokens);
  if (tokens === 0n) return cost;
  if (rates === undefined) return cost === 0n ? undefined : cost;
  const value = tokens * RATE_OF[item as TokenClass](rates);
  return value > cost ? value : cost;
}

function absolute(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}

function byDayAndModel(a: ComparedModel, b: ComparedModel): number {
  return a.day.localeCompare(b.day) || (a.model ?? '').localeCompare(b.model ?? '');
}
