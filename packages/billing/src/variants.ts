/**
 * The prices of one model: its published rates under each circumstance that the upstream's usage
 * reports. All of them are computed when the table is loaded, so that a price that is not exact is
 * found then, and all charges at one price share one `Rates` object.
 */

import type { PublishedRates, RateField, Rates } from './rates.js';
import { multiplyRates, readRates, UNBILLED_RATES } from './rates.js';

/** The members of a usage object by which the provider chooses among prices. */
export const SELECTORS = ['speed', 'serviceTier', 'inferenceGeo'] as const;
export type Selector = (typeof SELECTORS)[number];

/** A circumstance is absent, or has no price of its own, if the usual price applies. */
export type Circumstances = Readonly<Partial<Record<Selector, string | undefined>>>;

/** What a circumstance changes: it has other rates, or multiplies the usual ones. */
export type Modifier =
  | { readonly rates: PublishedRates }
  | {
      /** A decimal string. */
      readonly factor: string;
    };

export interface PublishedPrices {
  readonly base: PublishedRates;
  /** In ascending order. */
  readonly bands: readonly (PublishedRates & { readonly abovePromptTokens: number })[];
  readonly modifiers: Readonly<Record<Selector, Readonly<Record<string, Modifier>>>>;
  /** Multiplies all of these rates: a decimal string. */
  readonly factor: string;
}

/** One price of a model, and how it comes about. */
export interface PriceVariant {
  readonly rates: Rates;
  /** The published rates and factors from which `rates` follow. */
  readonly published: PublishedRates;
  /** The band applies to prompts with more tokens than this. Absent below the first band. */
  readonly abovePromptTokens: number | undefined;
  /** The circumstances that have a price of their own. */
  readonly circumstances: Circumstances;
  /** All factors that multiply every rate of `published`: of circumstances and of the table. */
  readonly multipliers: readonly string[];
}

export interface PriceProblem {
  /** The member of the model in the JSON, without the model's own path. */
  readonly path: string;
  readonly problem: string;
}

export const SELECTOR_FIELD = {
  speed: 'speed',
  serviceTier: 'service_tier',
  inferenceGeo: 'inference_geo',
} as const satisfies Record<Selector, string>;

export const JSON_FIELD = {
  rateIn: 'rate_in',
  rateOut: 'rate_out',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write_1h',
} as const satisfies Record<RateField, string>;

/**
 * @returns every price of a model, the usual one first. Those with problems are not usable.
 */
export function variantsOf(prices: PublishedPrices, problems: PriceProblem[]): PriceVariant[] {
  assertOneSourceOfRates(prices, problems);
  const rows = [
    { published: prices.base, path: '', abovePromptTokens: undefined },
    ...prices.bands.map((band, index) => ({
      published: band,
      path: `bands[${index}].`,
      abovePromptTokens: band.abovePromptTokens,
    })),
  ];
  return rows.flatMap((row) => {
    let steps: Step[] = [{ ...row, circumstances: {}, multipliers: [] }];
    for (const selector of SELECTORS) {
      steps = steps.flatMap((step) => [
        step,
        ...Object.entries(prices.modifiers[selector]).map(([value, modifier]) =>
          modified(step, selector, value, modifier),
        ),
      ]);
    }
    return steps.map((step) => variantOf(withTableFactor(step, prices.factor), problems));
  });
}

/** The price of one attempt of a model: that of its circumstances, in the band of its prompt. */
export function variantFor(
  { variants }: { readonly variants: readonly PriceVariant[] },
  promptTokens: number,
  circumstances: Circumstances,
): PriceVariant {
  const isPriced = (selector: Selector): boolean =>
    variants.some((each) => each.circumstances[selector] === circumstances[selector]);
  const wanted = SELECTORS.map((selector) =>
    isPriced(selector) ? circumstances[selector] : undefined,
  );
  // The bands are in ascending order, so the last one that applies is that of the prompt.
  const found = variants.findLast(
    ({ abovePromptTokens: above, circumstances: own }) =>
      (above === undefined || promptTokens > above) &&
      SELECTORS.every((selector, index) => own[selector] === wanted[index]),
  );
  if (found === undefined) throw new Error('a model without a usual price');
  return found;
}

/**
 * The highest price of each class of tokens, over all prices that an attempt can have.
 *
 * @param promptTokens - The most tokens that its prompt can have.
 * @param isPossible - Whether the upstream may report these circumstances.
 */
export function highestRates(
  { variants }: { readonly variants: readonly PriceVariant[] },
  promptTokens: number,
  isPossible: (circumstances: Circumstances) => boolean,
): Rates {
  const reachable = variants.filter(
    ({ abovePromptTokens: above, circumstances }) =>
      (above === undefined || promptTokens > above) && isPossible(circumstances),
  );
  return reachable.reduce<Rates>(
    (highest, { rates }) => ({
      inputPerToken: larger(highest.inputPerToken, rates.inputPerToken),
      outputPerToken: larger(highest.outputPerToken, rates.outputPerToken),
      cacheReadPerToken: larger(highest.cacheReadPerToken, rates.cacheReadPerToken),
      cacheWrite5mPerToken: larger(highest.cacheWrite5mPerToken, rates.cacheWrite5mPerToken),
      cacheWrite1hPerToken: larger(highest.cacheWrite1hPerToken, rates.cacheWrite1hPerToken),
    }),
    UNBILLED_RATES,
  );
}

function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

interface Step {
  readonly published: PublishedRates;
  /** Of the latest member that changed the price, with a dot if it is an object. */
  readonly path: string;
  readonly abovePromptTokens: number | undefined;
  readonly circumstances: Circumstances;
  readonly multipliers: readonly { readonly factor: string; readonly path: string }[];
}

function modified(step: Step, selector: Selector, value: string, modifier: Modifier): Step {
  const path = `${SELECTOR_FIELD[selector]}.${value}.`;
  const circumstances = { ...step.circumstances, [selector]: value };
  if ('rates' in modifier) return { ...step, circumstances, path, published: modifier.rates };
  const multiplier = { factor: modifier.factor, path: `${path}factor` };
  return { ...step, circumstances, multipliers: [...step.multipliers, multiplier] };
}

function withTableFactor(step: Step, factor: string): Step {
  if (Number(factor) === 1) return step;
  return { ...step, multipliers: [...step.multipliers, { factor, path: 'factor' }] };
}

/**
 * If a band and a circumstance both had rates of their own, it would be unclear which apply, and
 * the same for two circumstances.
 */
function assertOneSourceOfRates(
  { bands, modifiers }: PublishedPrices,
  problems: PriceProblem[],
): void {
  let source = bands.length > 0 ? 'bands' : undefined;
  for (const selector of SELECTORS) {
    const withRates = Object.entries(modifiers[selector]).filter(([, one]) => 'rates' in one);
    const [first] = withRates;
    if (first === undefined) continue;
    if (source !== undefined) {
      problems.push({
        path: `${SELECTOR_FIELD[selector]}.${first[0]}`,
        problem: `must have a factor, because ${source} already has rates of its own`,
      });
    }
    source ??= SELECTOR_FIELD[selector];
  }
}

function variantOf(step: Step, problems: PriceProblem[]): PriceVariant {
  const { published, path, multipliers } = step;
  const complain = (member: string, problem: string): void => {
    if (problems.some((known) => known.path === member && known.problem === problem)) return;
    problems.push({ path: member, problem });
  };
  const reading = readRates(published);
  if (reading.outcome === 'invalid') {
    for (const { field, problem } of reading.problems) complain(path + JSON_FIELD[field], problem);
  }
  let rates = reading.outcome === 'read' ? reading.rates : UNBILLED_RATES;
  for (const { factor, path: member } of multipliers) {
    const multiplied = multiplyRates(rates, factor);
    if (multiplied.outcome === 'invalid') complain(member, multiplied.problem);
    else ({ rates } = multiplied);
  }
  return {
    rates,
    published: {
      rateIn: published.rateIn,
      rateOut: published.rateOut,
      factors: published.factors,
    },
    abovePromptTokens: step.abovePromptTokens,
    circumstances: step.circumstances,
    multipliers: multipliers.map(({ factor }) => factor),
  };
}
