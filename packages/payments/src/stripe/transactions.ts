/**
 * Stripe's balance transactions: each movement of the operator's money, with its fee.
 *
 * https://docs.stripe.com/api/balance_transactions/object
 * https://docs.stripe.com/reports/reporting-categories
 */

import * as z from 'zod';
import type Stripe from 'stripe';
import type { PaymentProvider, PaymentTransaction, ProviderTransaction } from '../provider.js';
import { cents, currency, dispute, id, readAs, reference, refund } from './facts.js';
import { existing, faultOf, pagesOf } from './requests.js';

const balanceTransaction = z.object({
  object: z.literal('balance_transaction'),
  id,
  amount: z.int(),
  fee: z.int(),
  currency,
  created: z.int().min(0),
  reporting_category: z.string(),
  source: z.unknown(),
});

const charge = z.object({
  object: z.literal('charge'),
  id,
  amount_captured: cents,
  currency,
  payment_intent: reference.nullable(),
});

/** The source is needed whole: it names the payment and the amount in the customer's currency. */
const EXPAND = ['data.source'];

export async function* listTransactions(
  stripe: Stripe,
  range: { readonly from: Date; readonly until: Date },
): AsyncGenerator<ProviderTransaction> {
  try {
    const list = stripe.balanceTransactions.list({ ...pagesOf(range), expand: EXPAND });
    for await (const each of list) yield transactionOf(each);
  } catch (error) {
    throw faultOf(error);
  }
}

export async function findTransactions(
  stripe: Stripe,
  { kind, id: sourceId }: Parameters<PaymentProvider['findTransactions']>[0],
): Promise<readonly ProviderTransaction[]> {
  if (kind === 'transaction') {
    const expand = ['source'];
    const found = await existing(() => stripe.balanceTransactions.retrieve(sourceId, { expand }));
    return found === undefined ? [] : [transactionOf(found)];
  }
  const source = kind === 'payment' ? await chargeOf(stripe, sourceId) : sourceId;
  if (source === undefined) return [];
  const list = await existing(() => stripe.balanceTransactions.list({ source, expand: EXPAND }));
  return (list?.data ?? []).map(transactionOf);
}

async function chargeOf(stripe: Stripe, paymentId: string): Promise<string | undefined> {
  const intent = await existing(() => stripe.paymentIntents.retrieve(paymentId));
  const latest = intent?.latest_charge ?? undefined;
  return typeof latest === 'object' ? latest.id : latest;
}

function transactionOf(object: unknown): ProviderTransaction {
  const read = readAs(balanceTransaction, object);
  const kind = KINDS[read.reporting_category];
  const source = kind === undefined ? undefined : sourceOf(read.source);
  if (kind === undefined || source === undefined || source.paymentId === null) {
    return { kind: 'other', transactionId: read.id };
  }
  const { paymentId, amountCents } = source;
  return {
    kind,
    transactionId: read.id,
    at: new Date(read.created * 1_000),
    providerPaymentId: paymentId,
    sourceId: kind === 'payment' ? paymentId : source.id,
    paid: {
      amountCents: read.amount < 0 ? -amountCents : amountCents,
      currency: source.currency,
    },
    settled: { amountCents: read.amount, currency: read.currency },
    feeCents: read.fee,
  };
}

/** By Stripe's reporting category. */
const KINDS: Readonly<Record<string, PaymentTransaction['kind'] | undefined>> = {
  charge: 'payment',
  refund: 'refund',
  refund_failure: 'refund_undone',
  dispute: 'dispute_withdrawn',
  dispute_reversal: 'dispute_reinstated',
};

const sourceOfOther = z.object({ object: z.string() });

/** @returns `undefined` for an object of Stripe's other products */
function sourceOf(source: unknown) {
  const { object } = readAs(sourceOfOther, source);
  switch (object) {
    case 'charge': {
      const { amount_captured, ...of } = readAs(charge, source);
      return { ...of, amountCents: amount_captured, paymentId: of.payment_intent };
    }
    case 'refund':
    case 'dispute': {
      const { amount, ...of } = readAs(object === 'refund' ? refund : dispute, source);
      return { ...of, amountCents: amount, paymentId: of.payment_intent };
    }
    default:
      return undefined;
  }
}
