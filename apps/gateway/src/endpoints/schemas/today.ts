/** Figures of the gateway as a whole. */

import { z } from 'zod';
import { costFigures, count, namedAccount, orNull, text, time, usd } from './basics.js';

const spend = { requests: count, charged_usd: usd, written_off_usd: usd, ...costFigures };

const spendByModel = z
  .strictObject({ ...spend, by_model: z.array(z.strictObject({ model: text, ...spend })) })
  .meta({ id: 'Spend' });

export const today = z
  .strictObject({
    object: z.literal('today'),
    day: text,
    spend: z.strictObject({
      today: spendByModel,
      last_7_days: spendByModel,
      last_30_days: spendByModel,
    }),
    sends_events: z.boolean().meta({ description: 'whether a receiver of events is configured' }),
    ledger: z.strictObject({
      accounts: count,
      keys: z.strictObject({
        active: count,
        exhausted: count,
        suspended: count,
        revoked: count,
        expired: count,
      }),
      unspent_usd: usd,
      overdrawn_usd: usd,
      expired_usd: usd,
      written_off_usd: usd,
      quarantined: count,
      conflicts: count,
      orphaned_holds: count,
      undelivered_events: count,
      last_seal_at: orNull(time),
    }),
    gateway: orNull(
      z.strictObject({
        since: time,
        requests: z.array(z.strictObject({ status: text, requests: count })),
        unbilled: z.array(z.strictObject({ reason: text, responses: count })),
        first_byte_ms: z.strictObject({ p50: orNull(z.number()), p95: orNull(z.number()) }),
        upstream: z.strictObject({
          responses: z.array(z.strictObject({ status: text, responses: count })),
          account_refused: count,
          credentials: z
            .array(
              z.strictObject({
                account: orNull(text),
                outcome: z.enum(['accepted', 'refused', 'unclear']),
                reason: orNull(text),
                checked_at: time,
              }),
            )
            .meta({
              description:
                'whether the upstream accepts the credential of each of its accounts, as asked at ' +
                'the start and after a change; empty until it has answered',
            }),
        }),
      }),
    ).meta({ description: 'traffic of the replica that answers' }),
  })
  .meta({ id: 'Today' });

const spendOfTime = z.strictObject({
  from: time,
  until: time.meta({ description: 'not included' }),
  requests: count,
  charged_usd: usd,
  written_off_usd: usd,
  ...costFigures,
});

export const home = z
  .strictObject({
    object: z.literal('home'),
    version: text,
    spend: z
      .strictObject({
        today: spendOfTime,
        yesterday: spendOfTime,
        this_month: spendOfTime,
        last_month_so_far: spendOfTime,
        last_month: spendOfTime,
      })
      .meta({ description: 'days and months in UTC' }),
    last_hour: z.strictObject({
      from: time,
      requests: count,
      failed: count,
      upstreams: z
        .array(
          z.strictObject({
            upstream_account: orNull(text),
            requests: count,
            failed: count.meta({ description: 'with a status of 500 or above' }),
            mean_first_byte_ms: orNull(count),
          }),
        )
        .meta({ description: 'each account that was asked in the last day' }),
    }),
    running_out: z
      .array(z.strictObject({ ...namedAccount, balance_usd: usd, lasts_until: time }))
      .meta({ description: 'within three days, of those that spend most; the first one first' }),
    unusual: z.array(
      z.strictObject({
        ...namedAccount,
        reason: z.enum(['spend', 'failures']),
        charged_usd: usd.meta({ description: 'in the last 24 hours' }),
        usual_usd: usd.meta({ description: 'of a day, in the 7 days before' }),
        failed: count.meta({ description: 'in the last hour' }),
        requests: count.meta({ description: 'in the last hour' }),
      }),
    ),
    losing: z
      .strictObject({
        accounts: z.array(z.strictObject({ ...namedAccount, margin_usd: usd })),
        accounts_in_all: count,
        models: z.array(z.strictObject({ model: text, margin_usd: usd })),
      })
      .meta({
        description:
          'what was sold below its cost this month, as far as costs are recorded: the ten accounts ' +
          'with the largest loss, and the models',
      }),
    new_accounts: z
      .array(z.strictObject({ ...namedAccount, created_at: time, balance_usd: usd }))
      .meta({ description: 'of the last 7 days, the newest first, at most 10' }),
  })
  .meta({ id: 'Home' });
