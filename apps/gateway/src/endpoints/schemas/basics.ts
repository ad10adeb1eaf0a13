/** Parts of the shapes of responses. */

import { z } from 'zod';

/** Of which kind the values of a column are; texts have none. */
export type Kind = 'usd' | 'time' | 'count';
export const kinds = z.registry<{ readonly kind: Kind }>();

export const usd = z
  .string()
  .regex(/^-?\d+(\.\d{1,14})?$/)
  .meta({ id: 'Usd', description: 'USD, exact to 14 decimals', examples: ['12.5'] })
  .register(kinds, { kind: 'usd' });
export const time = z
  .string()
  .meta({ id: 'Time', format: 'date-time', description: 'UTC' })
  .register(kinds, { kind: 'time' });
export const text = z.string();
export const count = z.int().min(0).register(kinds, { kind: 'count' });
export const orNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullable();

/** The groups of a path such as `/grp_1/grp_2/`, from the top. */
export function groupsIn(path: string): readonly string[] {
  return path.split('/').filter((id) => id !== '');
}

/** The name of an account or a key, which operations add to the views of some records. */
export const addedName = orNull(text).exactOptional();

export const isoOf = (at: Date | null | undefined) => at?.toISOString() ?? null;

/** What kind of credit it is, and until when. */
export function originText({
  source,
  expires_at,
}: {
  readonly source: string;
  readonly expires_at: string | null;
}): string {
  return `${source}, ${expires_at === null ? 'does not expire' : `until ${expires_at}`}`;
}

/** A line of text for a record of pairs; none if it is empty. */
export function metadataText({
  metadata,
}: {
  readonly metadata: Readonly<Record<string, string>>;
}): string | undefined {
  const pairs = Object.entries(metadata).map(([name, value]) => `${name}=${value}`);
  return pairs.length === 0 ? undefined : pairs.join(', ');
}

/** The names that a record can have, if they are known. CSV has a column for each. */
export const recordNames = z.registry<{ readonly names: readonly string[] }>();

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: orNull(text),
  });
}

export const firstCredit = z
  .strictObject({
    amount_usd: usd,
    source: z.enum(['paid', 'promotional']),
    expires_at: orNull(time),
  })
  .meta({ id: 'FirstCredit' });

export const tokens = z
  .strictObject({
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    cache_creation_1h_input_tokens: count,
  })
  .meta({ id: 'Tokens' });

export const rates = z
  .strictObject({
    input: usd,
    output: usd,
    cache_read: usd,
    cache_write_5m: usd,
    cache_write_1h: usd,
  })
  .meta({ id: 'Rates', description: 'USD per million tokens' });

/** Prices beyond the usual rates of a model. Absent if there are none. */
export const specialPrices = {
  special_rates: z
    .array(
      z.strictObject({
        above_prompt_tokens: count.exactOptional(),
        speed: text.exactOptional(),
        service_tier: text.exactOptional(),
        inference_geo: text.exactOptional(),
        rates,
      }),
    )
    .exactOptional()
    .meta({ description: 'the rates that apply to long prompts or in these circumstances' }),
  fees_usd: z
    .record(text, usd)
    .exactOptional()
    .meta({ description: 'per unit of what `usage.server_tool_use` counts' }),
};

/** Absent where the cost was not recorded. */
export const costMembers = {
  cost_usd: usd.exactOptional().meta({ description: 'what it cost the operator, by COSTS' }),
  margin_usd: usd.exactOptional().meta({ description: 'what was charged, minus the cost' }),
};

/** Of sums. */
export const costFigures = {
  ...costMembers,
  requests_without_cost: count
    .exactOptional()
    .meta({ description: 'present if only some have a cost; there is no margin then' }),
};

export const tokenLine = z
  .strictObject({
    class: z.enum(['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h']),
    tokens: count,
    rate_usd_per_million: usd,
    amount_usd: usd,
  })
  .meta({ id: 'TokenLine', description: 'tokens x rate = amount' });

export const namedAccount = { account_id: text, name: text };
