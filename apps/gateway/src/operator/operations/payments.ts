/** Operations on payments, auto top-up and promotional codes. */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { parseUsd } from '@gateway/billing';
import { newRefusal } from '../../base/errors/refusal.js';
import { operatorsPaymentId } from '../../base/repeat-ids.js';
import { centsFromUnits, usdFromCents } from '../../config/cents.js';
import {
  MUST_BE_AFTER_FROM,
  accountId,
  amountUsd,
  help,
  idempotencyId,
  isInOrder,
  ofAccount,
  ofCursor,
  pageSize,
  rangeOf,
  time,
  wholeNumber,
} from '../../endpoints/fields.js';
import {
  OperationError,
  accountClosed,
  invalidInput,
  notFound,
} from '../../endpoints/operation-error.js';
import {
  autoTopUpView,
  promoCodeField,
  promoCodeView,
  reconciliationView,
  unbookedView,
} from '../../endpoints/payment-views.js';
import * as schema from '../../endpoints/schemas.js';
import { paymentMoneyView, paymentView } from '../../endpoints/schemas/payments.js';
import { RATE_DECIMALS } from '../../payments/paid-money.js';
import { findDocument } from '../../payments/payment-ledger.js';
import type { Known } from '../../payments/payment-ledger.js';
import type { Payments } from '../../payments/payments.js';
import { MAX_REDEMPTIONS, createPromoCode, listPromoCodes } from '../../payments/promo-codes.js';
import { cancelAutoTopUp } from '../../payments/stop-auto-top-up.js';
import { creditExpiry } from './first-credit.js';
import { list, operation } from './operation.js';
import type { OperationContext } from './operation.js';
import { reachingProvider } from './reaching-provider.js';

const paymentId = z
  .string()
  .regex(/^pay_[\w-]{1,64}$/, 'must be the id of a payment, such as pay_…');
/** As many decimals as {@link RATE_DECIMALS}. */
const USD_RATE = new RegExp(`^(0|[1-9]\\d{0,6})(\\.\\d{1,${String(RATE_DECIMALS)}})?$`);
const cursor = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the next_cursor of the previous page')
  .transform(BigInt)
  .optional()
  .register(help, ofCursor);

export const paymentOperations = {
  listPayments: operation({
    method: 'get',
    path: '/admin/payments',
    summary: 'Payments, newest first',
    right: 'read',
    input: z.strictObject({ account_id: ofAccount, limit: pageSize, cursor }),
    output: schema.listOf(schema.payment),
    async run({ account_id, limit, cursor: before }, context) {
      const found = await paymentsOf(context).list({ accountId: account_id, before, limit });
      return list(found.map(paymentView), nextOf(found, limit));
    },
  }),

  listUnbookedPayments: operation({
    method: 'get',
    path: '/admin/payments/unbooked',
    summary:
      'Payments, refunds and disputes that the provider reported and the ledger could not book. Those that were booked or paid back since are left out',
    right: 'read',
    input: z.strictObject({ limit: pageSize, cursor }),
    output: schema.listOf(schema.unbookedPayment),
    async run({ limit, cursor: before }, context) {
      const found = await paymentsOf(context).listUnbooked({ before, limit });
      return list(found.map(unbookedView), nextOf(found, limit));
    },
  }),

  reconcilePayments: operation({
    method: 'post',
    path: '/admin/payments/reconcile',
    summary:
      "Compares the provider's payments and transactions with the ledger; with `apply`, books what is missing, and fees",
    right: 'change',
    input: z
      .strictObject({
        ...rangeOf(time),
        apply: z
          .boolean()
          .default(false)
          .register(help, { says: 'book the entries that the ledger lacks' }),
      })
      .refine(isInOrder, MUST_BE_AFTER_FROM),
    output: schema.reconciliation,
    run: ({ from, until, apply }, context) =>
      reachingProvider(async () => {
        const payments = paymentsOf(context);
        // A payment that arrives meanwhile may not be booked yet when its transaction is read.
        const end = new Date(Math.min(until.getTime(), Date.now()));
        const found = await payments.reconcile({ from, until }, apply ? 'apply' : 'compare');
        return reconciliationView(found, await payments.compareCash({ from, until: end }));
      }),
  }),

  bookPayment: operation({
    method: 'post',
    path: '/admin/payments/unbooked/:reference/book',
    summary:
      'Books a payment in another currency. Its rate is needed if the provider does not settle it in USD',
    right: 'credit',
    input: z.strictObject({
      reference: z
        .string()
        .regex(/^[\w-]{1,255}$/, "must be the provider's id of an unbooked payment"),
      usd_rate: z
        .string()
        .refine(
          (rate) => USD_RATE.test(rate) && parseUsd(rate) > 0n,
          'must be what one unit of its currency is worth in USD, such as 1.0825',
        ),
    }),
    output: schema.payment,
    async run({ reference, usd_rate }, context) {
      const booked = await reachingProvider(() =>
        paymentsOf(context).bookAtRate({
          providerPaymentId: reference,
          rate: usd_rate,
          by: context.by,
        }),
      );
      switch (booked.outcome) {
        case 'booked':
          return paymentView(booked.payment);
        case 'unknown':
          throw notFound('reference', 'payment that waits for a rate');
        case 'conflict':
          throw invalidInput('usd_rate: another rate was stated for this payment before');
        case 'unbooked':
          throw invalidInput('reference: it cannot be booked, see the list of unbooked payments');
      }
    },
  }),

  showPayment: operation({
    method: 'get',
    path: '/admin/payments/:payment_id',
    summary: 'One payment, with its refundable and its unspent part',
    right: 'read',
    input: z.strictObject({ payment_id: paymentId }),
    output: schema.paymentMoney,
    run: ({ payment_id }, context) => moneyViewOf(paymentsOf(context), payment_id),
  }),

  startPayment: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/payments',
    summary: 'Starts a payment for an account: a link to send to the customer',
    right: 'credit',
    input: z.strictObject({
      account_id: accountId,
      amount_usd: amountUsd,
      /** Chosen by the caller. The same id starts only one payment of an account. */
      request_id: idempotencyId,
    }),
    output: schema.payment,
    async run({ account_id, amount_usd, request_id }, context) {
      const payments = paymentsOf(context);
      if (payments.publicUrl === undefined) {
        throw invalidInput('PUBLIC_URL: must be set, so that the customer can return after paying');
      }
      const account = await context.store.getAccount(account_id);
      if (account === undefined) throw notFound('account_id', 'account');
      if (account.state === 'closed') throw accountClosed('account_id');
      const amountCents = wholeCents(amount_usd);
      const { minCents, maxCents } = payments.limits;
      if (amountCents < minCents || amountCents > maxCents) {
        throw invalidInput(
          `amount_usd: must be from ${usdFromCents(minCents)} to ${usdFromCents(maxCents)}`,
        );
      }
      const returnUrl = `${payments.publicUrl}/dashboard/`;
      const started = await reachingProvider(() =>
        payments.start({
          accountId: account_id,
          amountCents,
          requestKey: operatorsPaymentId(request_id),
          by: 'operator',
          startedBy: context.by.name,
          returnUrl,
        }),
      );
      if (started.outcome === 'conflict') {
        throw new OperationError(newRefusal('payment_request_used'));
      }
      return paymentView(started.payment);
    },
  }),

  refundPayment: operation({
    method: 'post',
    path: '/admin/payments/:payment_id/refunds',
    summary: 'Pays back a payment, or a part of it',
    right: 'change',
    input: z.strictObject({
      payment_id: paymentId,
      /** Chosen by the caller. The same id refunds a payment only once. */
      refund_id: idempotencyId,
      /** What the customer gets back, with the tax that it contains. */
      amount_usd: amountUsd,
    }),
    output: schema.refund,
    async run({ payment_id, refund_id, amount_usd }, context) {
      const payments = paymentsOf(context);
      const payment = await found(payments, payment_id);
      const { provider_payment_id: providerPaymentId } = payment.data;
      if (providerPaymentId === null) throw new OperationError(newRefusal('payment_not_paid'));
      const { currency = 'usd' } = payment.data.paid ?? {};
      if (currency !== 'usd') {
        const where = 'refund it at the provider, and it is booked here';
        throw invalidInput(`payment_id: was paid in ${currency.toUpperCase()}: ${where}`);
      }
      const amountCents = wholeCents(amount_usd);
      const refunded = await reachingProvider(async () => {
        // Refunds of different payments may have the same id.
        const refundId = hashOf(`${payment_id}\n${refund_id}`);
        const { by } = context;
        return payments.refund({ refundId, payment, providerPaymentId, amountCents, by });
      });
      if (refunded.outcome === 'refused') throw invalidInput(`amount_usd: ${refunded.message}`);
      if (refunded.outcome === 'undone') {
        throw new OperationError(newRefusal('refund_failed'));
      }
      return {
        object: 'refund' as const,
        id: refunded.fact.refundId,
        amount_usd: usdFromCents(refunded.fact.amountCents),
        payment: await moneyViewOf(payments, payment_id),
      };
    },
  }),

  showAutoTopUp: operation({
    method: 'get',
    path: '/admin/accounts/:account_id/auto-top-up',
    summary: "The customer's order to charge a saved method when the balance is low",
    right: 'read',
    input: z.strictObject({ account_id: accountId }),
    output: schema.autoTopUp,
    run: ({ account_id }, { store }) => autoTopUpOf(store, account_id),
  }),

  /** The customer cannot cancel it any more once all keys of the account are revoked. */
  cancelAutoTopUp: operation({
    method: 'post',
    path: '/admin/accounts/:account_id/auto-top-up/cancel',
    summary: 'Cancels the auto top-up of an account and forgets the saved method',
    right: 'change',
    input: z.strictObject({ account_id: accountId }),
    output: schema.autoTopUp,
    async run({ account_id }, { store, by }) {
      await cancelAutoTopUp(store, account_id, by);
      return autoTopUpOf(store, account_id);
    },
  }),

  createPromoCode: operation({
    method: 'post',
    path: '/admin/promo-codes',
    summary: 'A code that customers exchange for credit',
    right: 'credit',
    input: z.strictObject({
      code: promoCodeField,
      amount_usd: amountUsd,
      max_redemptions: wholeNumber
        .min(1)
        .max(MAX_REDEMPTIONS)
        .register(help, { says: 'how many accounts may redeem it' }),
      expires_at: time
        .optional()
        .register(help, { says: 'the time until which it can be redeemed' }),
      credit_expires_at: creditExpiry,
    }),
    output: schema.promoCode,
    async run(input, { store, by }) {
      const created = await createPromoCode(store, {
        code: input.code,
        amount: input.amount_usd,
        maxRedemptions: input.max_redemptions,
        expiresAt: input.expires_at,
        creditExpiresAt: input.credit_expires_at,
        by,
      });
      if (created === undefined) throw new OperationError(newRefusal('promo_code_exists'));
      return promoCodeView(created);
    },
  }),

  listPromoCodes: operation({
    method: 'get',
    path: '/admin/promo-codes',
    summary: 'Promotional codes, newest first',
    right: 'credit',
    input: z.strictObject({ limit: pageSize, cursor }),
    output: schema.listOf(schema.promoCode),
    async run({ limit, cursor: before }, { store }) {
      const found = await listPromoCodes(store, { before, limit });
      return list(found.map(promoCodeView), nextOf(found, limit));
    },
  }),
} as const;

function paymentsOf({ payments }: OperationContext): Payments {
  if (payments !== undefined) return payments;
  throw new OperationError(newRefusal('payments_not_configured'));
}

async function autoTopUpOf(store: OperationContext['store'], account_id: string) {
  if ((await store.getAccount(account_id)) === undefined) throw notFound('account_id', 'account');
  return autoTopUpView(await findDocument(store, 'auto_top_up', account_id));
}

async function found(payments: Payments, id: string): Promise<Known<'payment'>> {
  const payment = await payments.find(id);
  if (payment === undefined) throw notFound('payment_id', 'payment');
  return payment;
}

async function moneyViewOf(payments: Payments, id: string) {
  const payment = await found(payments, id);
  return paymentMoneyView(payment, await payments.moneyOf(payment));
}

function nextOf(page: readonly { readonly seq: bigint }[], limit: number): string | undefined {
  return page.length === limit ? page.at(-1)?.seq.toString() : undefined;
}

function wholeCents(amount: bigint): number {
  const cents = centsFromUnits(amount);
  if (cents === undefined) throw invalidInput('amount_usd: must be in whole cents');
  return cents;
}

function hashOf(text: string): string {
  return `refund_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}
