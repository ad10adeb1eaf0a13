/** Comparisons with the providers of payments and of models. */

import { z } from 'zod';
import { CAUSES } from '../../upstream/reconciliation/explain-difference.js';
import { CASH_VERDICTS } from '../../payments/compare-cash.js';
import { FACT_OUTCOMES } from '../../payments/fact-books.js';
import { count, orNull, text, time, usd } from './basics.js';

/** The kinds of facts that the payment provider reports, as `PaymentFact` names them. */
const FACT_KINDS = [
  'paid',
  'pending',
  'failed',
  'expired',
  'method_saved',
  'refund',
  'dispute',
] as const;

export const reconciliation = z
  .strictObject({
    object: z.literal('reconciliation'),
    compared: count,
    missing: z.array(
      z.strictObject({
        fact: z.enum(FACT_KINDS),
        id: text,
        reference: text,
        account_id: orNull(text),
        amount_cents: z.int(),
        currency: text,
        outcome: z.enum([...FACT_OUTCOMES, 'missing']),
      }),
    ),
    is_equal: z.boolean().meta({
      description: 'nothing is missing any more, and the cash does not differ',
    }),
    cash: z
      .strictObject({
        compared: count.meta({ description: "the provider's transactions of payments" }),
        others: count.meta({ description: 'transactions of no payment here, such as payouts' }),
        provider_usd: usd.meta({ description: 'what payments brought in, after fees' }),
        ledger_usd: usd,
        differences: z.array(
          z.strictObject({
            verdict: z.enum(CASH_VERDICTS).meta({
              description: 'exchange: a part in another currency had another rate; no fault',
            }),
            entry_id: text,
            transaction: orNull(text),
            account_id: orNull(text),
            provider_usd: orNull(usd).meta({ description: 'null: not there, or of unknown worth' }),
            ledger_usd: orNull(usd),
          }),
        ),
      })
      .meta({ description: "the provider's transactions beside the ledger's entries of its cash" }),
  })
  .meta({ id: 'Reconciliation' });

const day = z.string().meta({ format: 'date', description: 'UTC' });

export const providerReconciliation = z
  .strictObject({
    object: z.literal('provider_reconciliation'),
    from: day,
    until: day,
    upstreams: orNull(z.array(text)).meta({
      description: 'the upstream accounts of this bill, with upstream; otherwise all charges',
    }),
    tolerance_usd: usd,
    is_within_tolerance: z.boolean(),
    compared: count,
    provider_usd: usd,
    ledger_usd: usd.meta({
      description: 'the recorded costs; on days without them, what was charged',
    }),
    days_without_costs: count.meta({
      description: 'on which a charge has no recorded cost: a markup is a difference then',
    }),
    unknown_models: z.array(text).meta({
      description: 'of which neither COSTS, nor PRICES, nor the list has rates',
    }),
    charged_usd: usd.meta({ description: 'what customers paid' }),
    margin_usd: usd.meta({ description: 'what customers paid, minus what the provider bills' }),
    difference_usd: usd,
    differences: z.array(
      z.strictObject({
        day,
        model: orNull(text),
        difference_usd: usd,
        items: z.array(
          z.strictObject({
            item: text.meta({
              description:
                'a class of tokens, written_off, cost (all costs of a day on which they are ' +
                'recorded), or another cost of the provider',
            }),
            provider_tokens: orNull(count),
            ledger_tokens: orNull(count),
            provider_usd: orNull(usd).meta({ description: 'null: it is a part of cost' }),
            ledger_usd: orNull(usd),
            difference_usd: orNull(usd),
          }),
        ),
        requests: z
          .array(
            z.strictObject({
              cause: z.enum(CAUSES),
              request_id: text,
              key_id: text,
              at: time,
              detail: text,
            }),
          )
          .meta({ description: 'requests that may explain the difference' }),
        has_more: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'ProviderReconciliation' });
