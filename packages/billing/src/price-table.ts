/**
 * The price table: the models that may be called, their rates, and the parameters they accept.
 *
 * The table is also the allow-list: a model without a price cannot be charged, so it cannot be
 * called.
 */

import type * as z from 'zod';
import type { PublishedRates, Rates } from './rates.js';
import { UNBILLED_RATES } from './rates.js';
import type { Fees } from './fees.js';
import { readFees } from './fees.js';
import { priceSchemas } from './price-schemas.js';
import type { ModelJson, ModifierJson, RatesJson, TableMembers } from './price-schemas.js';
import type { RefusalRule } from './unbilled.js';
import type { PriceProblem, PriceVariant } from './variants.js';
import { variantsOf } from './variants.js';
import { formatUsd } from './usd.js';

export type EffortLevel = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

/**
 * Parameters that one upstream model accepts. They are listed only if the translation of requests
 * depends on them.
 */
export interface ModelTraits {
  /** Whether `temperature` and `top_p` may be sent. */
  readonly sampling: 'accepted' | 'refused';
  /** Whether `tool_choice` of type `any` and `tool` may be sent. */
  readonly forcedToolChoice: 'accepted' | 'refused';
  /** Levels of `output_config.effort`; empty when the model has no effort control. */
  readonly effort: readonly EffortLevel[];
  /**
   * How thinking is turned off. `omit`: by leaving the parameter out. `disabled`: by
   * `thinking: {type: "disabled"}`. `between_tools`: by a thinking of this type. `never`: it cannot
   * be turned off.
   */
  readonly thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'never';
  /**
   * How thinking is turned on. `default`: it is on unless it is turned off. `adaptive`: by
   * `thinking: {type: "adaptive"}`. Absent: requests do not turn it on.
   */
  readonly thinkingOn: 'default' | 'adaptive' | undefined;
  /**
   * Where system prompts may be sent. `first`: only in `system`. `anywhere`: also as a message of
   * role `system`, directly after a user message.
   */
  readonly systemMessages: 'anywhere' | 'first';
  /** Whether `output_config.format` and strict tools may be sent. */
  readonly structuredOutputs: 'accepted' | 'refused';
  /**
   * Whether a thinking block may be sent back only after the same system prompt, tools and
   * messages, unless the request contains `thinking.block_binding`.
   */
  readonly bindsThinking: boolean;
}

export interface ModelPrice {
  /** The name that clients use. */
  readonly id: string;
  /** Other names of the same model at the same price, such as a dated snapshot. */
  readonly aliases: readonly string[];
  readonly displayName: string;
  /** ISO 8601 UTC; the Unix epoch when unknown. */
  readonly createdAt: string;
  /** The provider's name of the models of which this is one, such as `opus`. */
  readonly line: string | undefined;
  /** When its retirement was announced, ISO 8601 UTC. */
  readonly deprecatedAt: string | undefined;
  /** When the provider stops serving it, ISO 8601 UTC, as far as that is announced. */
  readonly retiresAt: string | undefined;
  /** Whether the provider serves it only to organizations that it has verified. */
  readonly verifiedOnly: boolean;
  /** USD per million tokens, as the table's author wrote it. */
  readonly rateIn: string;
  readonly rateOut: string;
  /** The usual price: that of the lowest band, without special circumstances. */
  readonly rates: Rates;
  /** Every price, the usual one first. `variantFor` chooses among them. */
  readonly variants: readonly PriceVariant[];
  /** Where the prices were read, as the table's author wrote it. */
  readonly source: string | undefined;
  /** The most tokens of one reply: the highest `max_tokens`. */
  readonly maxOutputTokens: number;
  /** Tokens of prompt and reply together. */
  readonly contextWindow: number;
  readonly traits: ModelTraits;
}

export interface PriceTable extends RefusalRule {
  /** The model with this id or alias. `undefined`: it must not be called. Case-sensitive. */
  find(id: string): ModelPrice | undefined;
  /** All models, in the table's order, each once. */
  list(): readonly ModelPrice[];
  /** Fees by member of `usage.server_tool_use`, in units of 10^-14 USD per unit. */
  readonly fees: Fees;
  /**
   * Whether requests may name fallbacks. The attempts of models that declined are charged beside
   * the counts of the message, so the sum of usage objects lacks them.
   */
  readonly fallbacks: 'admitted' | 'refused';
}

/** The table is invalid. The message has one line per problem, each beginning with its path. */
export class PriceTableError extends Error {
  override readonly name = 'PriceTableError';
  /** For example `models[2].rate_in: has 7 decimals, but at most 6 are allowed`. Never empty. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the price table is invalid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Whether a model's retirement is announced at a time (milliseconds since the epoch). */
export function isDeprecated({ deprecatedAt }: ModelPrice, atMs: number): boolean {
  return deprecatedAt !== undefined && Date.parse(deprecatedAt) <= atMs;
}

/**
 * Checks a price table and prepares it for use.
 *
 * @param json - The parsed file: {@link PriceTableJson}. Unknown fields are refused, because with a
 * misspelt `cache_write` the default factor would silently apply.
 * @throws {PriceTableError} with every problem of the shape, such as a rate with more than six
 * decimals; or else with every other problem: a factor at which the price of one token is not a
 * multiple of 10^-14 USD, a price whose charges the ledger cannot hold, `max_output_tokens` above
 * `context_window`, an id or alias that is used twice.
 */
export function parsePriceTable(json: unknown): PriceTable {
  const parsed = priceSchemas().priceTable.safeParse(json);
  if (!parsed.success)
    throw new PriceTableError(parsed.error.issues.flatMap((issue) => describeIssue(issue)));
  return buildPriceTable(parsed.data);
}

/**
 * @param labels - How problems of each model are named; `models[index]` by default.
 * @throws {PriceTableError} with every problem that is not one of the shape.
 */
export function buildPriceTable(
  { models: entries, ...table }: { readonly models: readonly ModelJson[] } & TableMembers,
  labels: readonly string[] = [],
): PriceTable {
  const problems: string[] = [];
  const labelOf = (index: number): string => labels[index] ?? `models[${index}]`;
  const models = entries.map((model, index) => toModelPrice(model, labelOf(index), problems));
  const byName = indexByName(models, labelOf, problems);
  if (problems.length > 0) throw new PriceTableError(problems);

  return {
    find: (id) => byName.get(id),
    list: () => models,
    billedRefusals: new Set(table.billed_refusals),
    fallbacks: table.fallbacks,
    fees: readFees(table.server_tool_use),
  };
}

/** The prices of a model. Their problems are named by the members of `model`. */
export function pricesOf(model: ModelJson, path: string, problems: string[]): PriceVariant[] {
  const factors = {
    cacheRead: model.cache_read,
    cacheWrite: model.cache_write,
    cacheWrite1h: model.cache_write_1h,
  };
  const ratesOf = (rates: RatesJson): PublishedRates => ({
    rateIn: rates.rate_in,
    rateOut: rates.rate_out,
    factors: {
      cacheRead: rates.cache_read ?? factors.cacheRead,
      cacheWrite: rates.cache_write ?? factors.cacheWrite,
      cacheWrite1h: rates.cache_write_1h ?? factors.cacheWrite1h,
    },
  });
  const modifiersOf = (record: Readonly<Record<string, ModifierJson>>) =>
    Object.fromEntries(
      Object.entries(record).map(([value, { factor: own, rate_in, rate_out, ...cached }]) => [
        value,
        rate_in === undefined || rate_out === undefined
          ? { factor: own ?? '1' }
          : { rates: ratesOf({ rate_in, rate_out, ...cached }) },
      ]),
    );
  for (const [index, band] of model.bands.entries()) {
    const before = model.bands[index - 1];
    if (before !== undefined && before.above_prompt_tokens >= band.above_prompt_tokens) {
      problems.push(
        `${path}.bands[${index}].above_prompt_tokens: must be more than that of the band before`,
      );
    }
  }
  const found: PriceProblem[] = [];
  const variants = variantsOf(
    {
      base: ratesOf(model),
      bands: model.bands.map((band) => ({
        ...ratesOf(band),
        abovePromptTokens: band.above_prompt_tokens,
      })),
      modifiers: {
        speed: modifiersOf(model.speed),
        serviceTier: modifiersOf(model.service_tier),
        inferenceGeo: modifiersOf(model.inference_geo),
      },
      factor: model.factor,
    },
    found,
  );
  problems.push(...found.map(({ path: member, problem }) => `${path}.${member}: ${problem}`));
  return variants;
}

function toModelPrice(model: ModelJson, path: string, problems: string[]): ModelPrice {
  const variants = pricesOf(model, path, problems);
  const rates = variants[0]?.rates ?? UNBILLED_RATES;
  const isMultiplied = Number(model.factor) !== 1;
  if (model.retires_at !== undefined && model.deprecated_at === undefined) {
    problems.push(`${path}.deprecated_at: is needed with retires_at`);
  }
  if (model.max_output_tokens > model.context_window) {
    problems.push(`${path}.max_output_tokens: is more than context_window`);
  }
  return {
    id: model.id,
    aliases: model.aliases,
    displayName: model.display_name,
    createdAt: model.created_at,
    line: model.line,
    deprecatedAt: model.deprecated_at,
    retiresAt: model.retires_at,
    verifiedOnly: model.verified_only,
    rateIn: isMultiplied ? perMillion(rates.inputPerToken) : model.rate_in,
    rateOut: isMultiplied ? perMillion(rates.outputPerToken) : model.rate_out,
    rates,
    variants,
    source: model.source,
    maxOutputTokens: model.max_output_tokens,
    contextWindow: model.context_window,
    traits: {
      sampling: model.traits.sampling,
      forcedToolChoice: model.traits.forced_tool_choice,
      effort: model.traits.effort,
      thinkingOff: model.traits.thinking_off,
      thinkingOn: model.traits.thinking_on,
      systemMessages: model.traits.system_messages,
      structuredOutputs: model.traits.structured_outputs,
      bindsThinking: model.traits.binds_thinking,
    },
  };
}

function perMillion(perToken: bigint): string {
  return formatUsd(perToken * 1_000_000n);
}

function indexByName(
  models: readonly ModelPrice[],
  labelOf: (index: number) => string,
  problems: string[],
): ReadonlyMap<string, ModelPrice> {
  const byName = new Map<string, ModelPrice>();
  const pathOf = new Map<string, string>();
  const add = (name: string, path: string, model: ModelPrice): void => {
    const earlier = pathOf.get(name);
    if (earlier !== undefined) problems.push(`${path}: "${name}" is already used by ${earlier}`);
    pathOf.set(name, path);
    byName.set(name, model);
  };
  for (const [index, model] of models.entries()) {
    add(model.id, `${labelOf(index)}.id`, model);
    for (const [position, alias] of model.aliases.entries()) {
      add(alias, `${labelOf(index)}.aliases[${position}]`, model);
    }
  }
  return byName;
}

/** @param labels - As in {@link buildPriceTable}. */
export function describeIssue(issue: z.core.$ZodIssue, labels: readonly string[] = []): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${formatPath([...issue.path, key], labels)}: unknown field`);
  }
  return [`${formatPath(issue.path, labels)}: ${issue.message}`];
}

function formatPath(whole: readonly PropertyKey[], labels: readonly string[]): string {
  const [list, index] = whole;
  const label = list === 'models' && typeof index === 'number' ? labels[index] : undefined;
  const path = label === undefined ? whole : whole.slice(2);
  let text = label ?? '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text === '' ? '(the whole table)' : text;
}
