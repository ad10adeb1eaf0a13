/**
 * Compares what the provider reports with sums of the ledger, by UTC day, model and item. See
 * docs/decisions/0033.
 */

import type { SettledRates, UsageSum } from '@gateway/balance-store';
import { TOKEN_CLASSES } from '../provider-reports/reports.js';
import type { ReportedCost, ReportedUsage, TokenClass } from '../provider-reports/reports.js';

/** The figures of both sides for one item. Amounts are in units of 10^-14 USD. */
export interface ComparedItem {
  /** A {@link TokenClass}, {@link WRITTEN_OFF}, {@link COST}, or the provider's word for a cost. */
  readonly item: string;
  readonly providerTokens: bigint;
  readonly ledgerTokens: bigint;
  /** Nothing for tokens of a day that has the item {@link COST}. */
  readonly providerCost: bigint;
  readonly ledgerCost: bigint;
  /**
   * The worth of the difference: the difference of the costs or that of the tokens at their price,
   * whichever is larger. `undefined` if only the tokens differ, and their model has no price. For
   * {@link COST}, what the worths of the day's tokens leave unexplained.
   */
  readonly worth: bigint | undefined;
}

export interface ComparedModel {
  readonly day: string;
  /** `null` for costs that belong to no model. */
  readonly model: string | null;
  /** The items that differ. */
  readonly differences: readonly ComparedItem[];
  /** Whether the costs of this day are compared in one figure, {@link COST}. */
  readonly isAtCost: boolean;
}

export interface UsageComparison {
  /** How many combinations of day, model and item were compared. */
  readonly compared: number;
  readonly providerCost: bigint;
  /** The recorded costs of the days that have them, and what was charged on the others. */
  readonly ledgerCost: bigint;
  /** What customers paid: the charges without the amounts that were written off. */
  readonly charged: bigint;
  /** How many days have charges without a recorded cost. */
  readonly daysWithoutCosts: number;
  /** Models without known rates: neither the costs, nor the usual prices, nor the list have any. */
  readonly unknownModels: readonly string[];
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
 * If all charges of a day have a cost, the bill is compared with these costs: what customers pay is
 * another matter. The cost of a charge has no parts, so those of tokens and of searches are one
 * figure then, of the whole day.
 */
export const COST = 'cost';

export interface ComparedSources {
  readonly usage: readonly ReportedUsage[];
  readonly costs: readonly ReportedCost[];
  /** By day, model and rates. */
  readonly ledger: readonly UsageSum[];
  /** The name that the ledger has for a model, given that name or an alias. */
  readonly nameOf: (model: string) => string;
  /**
   * The rates at the end of a day, at which a difference in tokens is valued: those of costs if
   * these are compared.
   */
  readonly ratesOf: (model: string, day: string, isAtCost: boolean) => SettledRates | undefined;
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
  const days = new Set(ledger.map(dayOf));
  const daysWithoutCosts = new Set(
    ledger.filter(({ costed, requests }) => costed < requests).map(dayOf),
  );
  const isAtCost = (day: string): boolean => days.has(day) && !daysWithoutCosts.has(day);
  for (const { day, model, item, amount } of costs) {
    const place = isAtCost(day) ? ([day, null, COST] as const) : ([day, model, item] as const);
    add(...place, { providerCost: amount });
  }
  let charged = 0n;
  for (const sum of ledger) {
    const { model = '', rates, usage: sums, listPrice, cost, fees, writtenOff } = sum;
    const day = dayOf(sum);
    charged += listPrice - writtenOff;
    const isUnbilled = rates !== undefined && Object.values(rates).every((rate) => rate === 0n);
    for (const [item, tokens] of Object.entries(classesOf(sums))) {
      const price = rates === undefined ? 0n : RATE_OF[item as TokenClass](rates);
      const ledgerCost = isAtCost(day) ? 0n : tokens * price;
      add(
        day,
        model,
        item,
        isUnbilled ? { unbilledTokens: tokens } : { ledgerTokens: tokens, ledgerCost },
      );
    }
    if (isAtCost(day)) {
      add(day, null, COST, { ledgerCost: cost });
      continue;
    }
    if (fees > 0n) add(day, null, SEARCHES, { ledgerCost: fees });
    if (writtenOff > 0n) add(day, model, WRITTEN_OFF, { ledgerCost: -writtenOff });
  }

  const unknown = new Set<string>();
  let [compared, providerCost, ledgerCost] = [0, 0n, 0n];
  const result: ComparedModel[] = [];
  for (const { day, model, items } of models.values()) {
    const differences: ComparedItem[] = [];
    const rates = model === null ? undefined : ratesOf(model, day, isAtCost(day));
    if (model !== null && rates === undefined) unknown.add(model);
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
      differences.push({ item, ...shown, worth: worthOf(item, shown, rates) });
    }
    if (differences.length > 0) {
      result.push({ day, model, differences, isAtCost: isAtCost(day) });
    }
  }
  return {
    compared,
    providerCost,
    ledgerCost,
    charged,
    daysWithoutCosts: daysWithoutCosts.size,
    unknownModels: [...unknown].sort(),
    models: withUnexplainedCosts(result).sort(byDayAndModel),
  };
}

export function dayOf({ start }: UsageSum): string {
  return start?.toISOString().slice(0, 10) ?? '';
}

/** So that the worths of a day add up to that of its tokens or its costs, whichever is larger. */
function withUnexplainedCosts(models: readonly ComparedModel[]): ComparedModel[] {
  const explained = new Map<string, bigint>();
  for (const { day, model, differences } of models) {
    if (model === null) continue;
    const worth = differences.reduce((sum, item) => sum + (item.worth ?? 0n), 0n);
    explained.set(day, (explained.get(day) ?? 0n) + worth);
  }
  const unexplained = (day: string, worth = 0n): bigint => {
    const rest = worth - (explained.get(day) ?? 0n);
    return rest > 0n ? rest : 0n;
  };
  return models.map((model) => ({
    ...model,
    differences: model.differences.map((of) =>
      of.item === COST ? { ...of, worth: unexplained(model.day, of.worth) } : of,
    ),
  }));
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
