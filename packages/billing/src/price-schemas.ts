/**
 * The shapes of price tables as written in files.
 *
 * They are built at the first use, and only here: a bundle of `chargeOf` then contains neither them
 * nor zod, which is most of this package's size.
 */

// A namespace import, so that bundlers can drop the unused parts of zod. They cannot do so with
// `import { z }`.
import * as z from 'zod';
import { readDecimal } from './decimal.js';
import { FACTOR_DECIMALS, RATE_DECIMALS, SPECIFIED_FACTORS } from './rates.js';
import { MAX_PER_UNIT } from './fees.js';
import { BILLED_REFUSALS } from './unbilled.js';
import { USD_DECIMALS } from './usd.js';

type Schemas = ReturnType<typeof buildSchemas>;
type Model = ReturnType<typeof modelSchema>;

/** A price table as written in a file: the input of `parsePriceTable`. */
export type PriceTableJson = z.input<Schemas['priceTable']>;
/** A price table with scheduled changes, as in a file. */
export type PriceScheduleJson = z.input<Schemas['priceSchedule']>;
export type ModelJson = z.output<Model>;
export type ScheduledModel = z.output<Schemas['scheduledModel']>;
export type TableMembers = z.output<z.ZodObject<ReturnType<typeof tableMembers>>>;
export type RatesJson = z.output<z.ZodObject<ReturnType<typeof ratesMembers>>>;
export type ModifierJson = z.output<ReturnType<typeof modifierSchema>>;
export type SpecialPrice = keyof ReturnType<typeof specialPrices>;

const MAX_BANDS = 4;
const MAX_MODIFIERS = 6;

let built: Schemas | undefined;

export function priceSchemas(): Schemas {
  built ??= buildSchemas();
  return built;
}

function buildSchemas() {
  const model = modelSchema();
  const members = tableMembers();
  const scheduledModel = model.extend({ price_changes: z.array(changeSchema()).default([]) });
  return {
    priceTable: z.strictObject({ models: z.array(model).min(1), ...members }),
    scheduledModel,
    priceSchedule: z.strictObject({ models: z.array(scheduledModel).min(1), ...members }),
    extension: z.looseObject({
      extends: z.string('must be the name of a table'),
      factor: decimal(FACTOR_DECIMALS).default('1'),
      models: z.array(z.looseObject({ id: z.string() })).default([]),
      server_tool_use: z.record(z.string(), z.unknown()).default({}),
    }),
  };
}

function modelSchema() {
  /** Printable ASCII, because ids appear in URLs, headers and log lines. */
  const modelId = z
    .string()
    .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters without spaces');
  const utcTime = z.iso.datetime('must be an ISO 8601 UTC time');
  const factor = decimal(FACTOR_DECIMALS);
  const special = specialPrices();
  return z.strictObject({
    id: modelId,
    aliases: z.array(modelId).default([]),
    display_name: z.string().min(1).max(200),
    line: z.string().min(1).max(50).optional(),
    created_at: utcTime.default('1970-01-01T00:00:00Z'),
    deprecated_at: utcTime.optional(),
    retires_at: utcTime.optional(),
    verified_only: z.boolean().default(false),
    source: z.string().min(1).max(500).optional(),
    rate_in: decimal(RATE_DECIMALS),
    rate_out: decimal(RATE_DECIMALS),
    cache_read: factor.default(SPECIFIED_FACTORS.cacheRead),
    cache_write: factor.default(SPECIFIED_FACTORS.cacheWrite),
    cache_write_1h: factor.default(SPECIFIED_FACTORS.cacheWrite1h),
    bands: special.bands.default([]),
    speed: special.speed.default({}),
    service_tier: special.service_tier.default({}),
    inference_geo: special.inference_geo.default({}),
    factor: factor.default('1'),
    max_output_tokens: tokenCount(),
    context_window: tokenCount(),
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
}

function changeSchema() {
  const special = specialPrices();
  return z.strictObject({
    effective_from: z.iso.datetime('must be an ISO 8601 UTC time, such as 2026-12-01T00:00:00Z'),
    ...ratesMembers(),
    bands: special.bands.optional(),
    speed: special.speed.optional(),
    service_tier: special.service_tier.optional(),
    inference_geo: special.inference_geo.optional(),
  });
}

/** Prices that apply in place of, or in addition to, the usual rates. */
function specialPrices() {
  const modifiers = z
    .record(usageName(), modifierSchema())
    .refine(
      (record) => Object.keys(record).length <= MAX_MODIFIERS,
      `must have at most ${MAX_MODIFIERS} values`,
    );
  return {
    bands: z
      .array(z.strictObject({ above_prompt_tokens: tokenCount(), ...ratesMembers() }))
      .max(MAX_BANDS),
    speed: modifiers,
    service_tier: modifiers,
    inference_geo: modifiers,
  };
}

function modifierSchema() {
  const { rate_in, rate_out, ...cached } = ratesMembers();
  return z
    .strictObject({
      factor: decimal(FACTOR_DECIMALS).optional(),
      rate_in: rate_in.optional(),
      rate_out: rate_out.optional(),
      ...cached,
    })
    .refine(
      ({ factor: own, rate_in: input, rate_out: output, ...others }) =>
        own === undefined
          ? input !== undefined && output !== undefined
          : [input, output, ...Object.values(others)].every((each) => each === undefined),
      'must have either a factor, or rate_in and rate_out',
    );
}

/** Rates, and factors of cached tokens that replace those of the model. */
function ratesMembers() {
  const factor = decimal(FACTOR_DECIMALS);
  return {
    rate_in: decimal(RATE_DECIMALS),
    rate_out: decimal(RATE_DECIMALS),
    cache_read: factor.optional(),
    cache_write: factor.optional(),
    cache_write_1h: factor.optional(),
  };
}

/** The members of the table beside its models. */
function tableMembers() {
  const fee = decimal(USD_DECIMALS).refine((text) => {
    const reading = readDecimal(text, { decimals: USD_DECIMALS, sign: 'unsigned' });
    return reading.outcome === 'invalid' || reading.scaled <= MAX_PER_UNIT;
  }, 'is a fee that the ledger cannot hold');
  return {
    /** Categories as in `stop_details.category`. */
    billed_refusals: z.array(z.string().min(1).max(100)).default([...BILLED_REFUSALS]),
    fallbacks: z.enum(['admitted', 'refused']).default('refused'),
    /** USD per unit, by member of `usage.server_tool_use`. */
    server_tool_use: z.record(usageName(), fee).default({}),
  };
}

/** A decimal string with at most this many decimals. */
function decimal(decimals: number) {
  return z.string('must be a decimal string, such as "3.00"').superRefine((text, context) => {
    const reading = readDecimal(text, { decimals, sign: 'unsigned' });
    if (reading.outcome === 'invalid') {
      context.addIssue({ code: 'custom', message: reading.problem });
    }
  });
}

/** The name of a value, or of a member, of a usage object. */
function usageName() {
  return z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,39}$/, 'must be a name as the provider writes it, such as "fast"');
}

function tokenCount() {
  return z.int('must be an integer').min(1).max(100_000_000);
}
