/**
 * The price table: the models that may be called, their rates, and the parameters they accept.
 *
 * The table is also the allow-list: a model without a price cannot be charged, so it cannot be
 * called.
 */

// A namespace import, so that bundlers can drop the unused parts of zod. They cannot do so with
// `import { z }`.
import * as z from 'zod';
import { readDecimal } from './decimal.js';
import type { RateField, Rates } from './rates.js';
import { FACTOR_DECIMALS, RATE_DECIMALS, readRates, SPECIFIED_FACTORS } from './rates.js';

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
  readonly rates: Rates;
  /** The most tokens of one reply: the highest `max_tokens`. */
  readonly maxOutputTokens: number;
  /** Tokens of prompt and reply together. */
  readonly contextWindow: number;
  readonly traits: ModelTraits;
}

export interface PriceTable {
  /** The model with this id or alias. `undefined`: it must not be called. Case-sensitive. */
  find(id: string): ModelPrice | undefined;
  /** All models, in the table's order, each once. */
  list(): readonly ModelPrice[];
  /** The categories of refusals that cost nothing if they come before any output. */
  readonly unbilledRefusals: ReadonlySet<string>;
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

/** Printable ASCII, because ids appear in URLs, headers and log lines. */
const modelId = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters without spaces');

/** A decimal string with at most this many decimals. */
export const decimal = (decimals: number) =>
  z.string('must be a decimal string, such as "3.00"').superRefine((text, context) => {
    const reading = readDecimal(text, { decimals, sign: 'unsigned' });
    if (reading.outcome === 'invalid') {
      context.addIssue({ code: 'custom', message: reading.problem });
    }
  });

const utcTime = z.iso.datetime('must be an ISO 8601 UTC time');
const tokenCount = z.int('must be an integer').min(1).max(100_000_000);

export const modelJson = z.strictObject({
  id: modelId,
  aliases: z.array(modelId).default([]),
  display_name: z.string().min(1).max(200),
  line: z.string().min(1).max(50).optional(),
  created_at: utcTime.default('1970-01-01T00:00:00Z'),
  deprecated_at: utcTime.optional(),
  retires_at: utcTime.optional(),
  verified_only: z.boolean().default(false),
  rate_in: decimal(RATE_DECIMALS),
  rate_out: decimal(RATE_DECIMALS),
  cache_read: decimal(FACTOR_DECIMALS).default(SPECIFIED_FACTORS.cacheRead),
  cache_write: decimal(FACTOR_DECIMALS).default(SPECIFIED_FACTORS.cacheWrite),
  cache_write_1h: decimal(FACTOR_DECIMALS).default(SPECIFIED_FACTORS.cacheWrite1h),
  max_output_tokens: tokenCount,
  context_window: tokenCount,
  traits: z.strictObject({
    sampling: z.enum(['accepted', 'refused']),
    forced_tool_choice: z.enum(['accepted', 'refused']),
    effort: z.array(z.enum(['low', 'medium', 'high', 'xhigh', 'max'])),
    thinking_off: z.enum(['omit', 'disabled', 'between_tools', 'never']),
    thinking_on: z.enum(['default', 'adaptive']).optional(),
    system_messages: z.enum(['anywhere', 'first']).default('first'),
    structured_outputs: z.enum(['accepted', 'refused']).default('refused'),
    binds_thinking: z.boolean().default(false),
  }),
});

/** The members of the table beside its models. */
export const tableMembers = {
  /** Categories as in `stop_details.category`. */
  unbilled_refusals: z.array(z.string().max(100)).default(['cyber']),
};
const priceTableJson = z.strictObject({ models: z.array(modelJson).min(1), ...tableMembers });

export type ModelJson = z.output<typeof modelJson>;

/** A price table as written in a file: the input of {@link parsePriceTable}. */
export type PriceTableJson = z.input<typeof priceTableJson>;

/**
 * Checks a price table and prepares it for use.
 *
 * @param json - The parsed file: {@link PriceTableJson}. Unknown fields are refused, because with a
 * misspelt `cache_write` the default factor would silently apply.
 * @throws {PriceTableError} with every problem of the shape, such as a rate with more than six
 * decimals; or else with every other problem: a factor at which the price of one token is not a
 * multiple of 10^-14 USD, `max_output_tokens` above `context_window`, an id or alias that is used
 * twice.
 */
export function parsePriceTable(json: unknown): PriceTable {
  const parsed = priceTableJson.safeParse(json);
  if (!parsed.success) throw new PriceTableError(parsed.error.issues.flatMap(describeIssue));
  return buildPriceTable(parsed.data.models, parsed.data.unbilled_refusals);
}

/** @throws {PriceTableError} with every problem that is not one of the shape. */
export function buildPriceTable(
  entries: readonly ModelJson[],
  unbilledRefusals: readonly string[],
): PriceTable {
  const problems: string[] = [];
  const models = entries.map((model, index) => toModelPrice(model, `models[${index}]`, problems));
  const byName = indexByName(models, problems);
  if (problems.length > 0) throw new PriceTableError(problems);

  return {
    find: (id) => byName.get(id),
    list: () => models,
    unbilledRefusals: new Set(unbilledRefusals),
  };
}

export const JSON_FIELD: Record<RateField, keyof ModelJson> = {
  rateIn: 'rate_in',
  rateOut: 'rate_out',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWrite1h: 'cache_write_1h',
};

/** The rates of a response that costs nothing. */
export const UNBILLED_RATES: Rates = {
  inputPerToken: 0n,
  outputPerToken: 0n,
  cacheReadPerToken: 0n,
  cacheWrite5mPerToken: 0n,
  cacheWrite1hPerToken: 0n,
};

function toModelPrice(model: ModelJson, path: string, problems: string[]): ModelPrice {
  const reading = readRates({
    rateIn: model.rate_in,
    rateOut: model.rate_out,
    factors: {
      cacheRead: model.cache_read,
      cacheWrite: model.cache_write,
      cacheWrite1h: model.cache_write_1h,
    },
  });
  if (reading.outcome === 'invalid') {
    for (const { field, problem } of reading.problems) {
      problems.push(`${path}.${JSON_FIELD[field]}: ${problem}`);
    }
  }
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
    rateIn: model.rate_in,
    rateOut: model.rate_out,
    // These rates are never used: a problem was noted, so the whole table is refused.
    rates: reading.outcome === 'read' ? reading.rates : UNBILLED_RATES,
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

function indexByName(
  models: readonly ModelPrice[],
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
    add(model.id, `models[${index}].id`, model);
    for (const [position, alias] of model.aliases.entries()) {
      add(alias, `models[${index}].aliases[${position}]`, model);
    }
  }
  return byName;
}

export function describeIssue(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${formatPath([...issue.path, key])}: unknown field`);
  }
  return [`${formatPath(issue.path)}: ${issue.message}`];
}

function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else text += text === '' ? String(part) : `.${String(part)}`;
  }
  return text === '' ? '(the whole table)' : text;
}
