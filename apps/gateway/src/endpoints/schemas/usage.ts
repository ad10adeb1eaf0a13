/** Sums of usage. */

import { z } from 'zod';
import { costFigures, count, listOf, orNull, text, time, tokens, usd } from './basics.js';

/** The part of a sum that does not depend on what it is grouped by. */
export const usageFigures = z.strictObject({
  requests: count,
  ...tokens.shape,
  charged_usd: usd,
  written_off_usd: usd,
});

export const usageSum = z
  .strictObject({
    object: z.literal('usage_sum'),
    day: text.exactOptional(),
    hour: text.exactOptional(),
    model: text.exactOptional(),
    account_id: text.exactOptional(),
    key_id: text.exactOptional(),
    endpoint: text.exactOptional(),
    upstream_account: orNull(text).exactOptional(),
    ...usageFigures.shape,
  })
  .meta({ id: 'UsageSum' });

/** Sums, with the range that they cover. */
export const usageSums = listOf(usageSum).extend({
  from: time,
  until: time.meta({ description: 'not included' }),
});

/** Sums as operators see them. */
const names = {
  account_name: orNull(text).exactOptional(),
  key_name: orNull(text).exactOptional(),
} as const;

/** Of sums by who spent. */
const spender = {
  member_id: orNull(text).exactOptional(),
  member_name: orNull(text).exactOptional(),
  group_id: orNull(text).exactOptional(),
  group_name: orNull(text).exactOptional(),
  tag: orNull(text).exactOptional(),
  run: orNull(text).exactOptional(),
  metadata: orNull(text)
    .exactOptional()
    .meta({ description: 'the value of the metadata to sum by; null: none' }),
  others: count.exactOptional().meta({
    description: 'how many members, groups, tags or runs beyond `top` it stands for',
  }),
} as const;

export const costedUsageSum = usageSum
  .extend({
    cache_creation_1h_input_tokens: count
      .exactOptional()
      .meta({ description: 'absent in sums by who spent' }),
    ...names,
    ...spender,
    ...costFigures,
  })
  .meta({ id: 'CostedUsageSum' });

export const costedUsageSums = listOf(costedUsageSum).extend(
  usageSums.pick({ from: true, until: true }).shape,
);

export const brokenDownFigures = z.strictObject({
  charged_usd: usd,
  charges: count,
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
  requests: count.meta({ description: 'recorded requests, failed ones too' }),
  failed: count,
  mean_duration_ms: orNull(count),
  mean_first_byte_ms: orNull(count),
});
/** With what the charges cost the operator, if that is known of all of them. */
export const costedBrokenDownFigures = brokenDownFigures.extend(costFigures);

const signed = z.int();
/** What the groups lack; below zero where they have more. */
const restFigures = z
  .strictObject({
    charged_usd: usd,
    charges: signed,
    input_tokens: signed,
    output_tokens: signed,
    cache_read_input_tokens: signed,
    cache_creation_input_tokens: signed,
  })
  .meta({ id: 'NotRecorded' });

function breakdownOf<Figures extends z.ZodType, Group extends z.ZodRawShape>(
  figures: Figures,
  ofGroup: Group,
) {
  return z.strictObject({
    object: z.literal('breakdown'),
    by: text,
    every: z.enum(['hour', 'day']),
    zone: text,
    from: time,
    until: time.meta({ description: 'not included' }),
    before: z
      .strictObject({ from: time, until: time })
      .meta({ description: 'the period that is compared, as long as has passed of the range' }),
    starts: z.array(time).meta({ description: 'of the spans' }),
    groups: z.array(
      z.strictObject({
        value: orNull(text).meta({ description: 'null: none, or all other groups' }),
        ...ofGroup,
        others: count.meta({ description: 'how many groups it stands for, if it is the rest' }),
        total: figures,
        before: figures,
        spans: z.array(orNull(figures)).meta({ description: 'null: nothing happened' }),
      }),
    ),
    total: figures.meta({
      description:
        'charges and tokens are those of the ledger, also where the record of requests lacks some',
    }),
    total_before: figures,
    not_recorded: orNull(
      z.strictObject({
        total: restFigures,
        before: restFigures,
        spans: z.array(orNull(restFigures)),
      }),
    ).meta({
      description:
        "the ledger's sums without those of all groups: zero unless groups are programs or " +
        'sessions and the record of requests lacks some. Below zero where a charge was made before ' +
        'the range and its request ended in it. null: groups are errors',
    }),
    recorded_from: orNull(time).meta({
      description:
        'where the record of requests begins: failed requests, times, and all figures of ' +
        'programs, sessions and errors are not known before. null: it is empty, or has nothing of ' +
        'such groups',
    }),
    named_from: orNull(time).meta({
      description:
        'since when charges name members, groups, tags and runs: earlier ones name none. null: ' +
        'none does yet, or groups and filters are others',
    }),
  });
}

export const breakdown = breakdownOf(brokenDownFigures, {
  name: orNull(text).meta({ description: 'of the member or the group' }),
}).meta({ id: 'Breakdown' });

export const costedBreakdown = breakdownOf(costedBrokenDownFigures, {
  name: orNull(text).meta({ description: 'of the account, the key, the member or the group' }),
}).meta({
  id: 'CostedBreakdown',
});
