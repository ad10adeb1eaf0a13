/**
 * `/v1/dashboard/top-ups`: a customer pays for the account of a key, on the provider's own page.
 * This file also serves auto top-up and promotional codes.
 */

import type { Request } from 'express';
import { z } from 'zod';
import { StoreUnavailableError } from '@gateway/balance-store';
import type { Actor, KeyRecord } from '@gateway/balance-store';
import { formatUsd } from '@gateway/billing';
import { PaymentProviderError } from '@gateway/payments';
import { newRefusal } from '../base/errors/refusal.js';
import type { Refusal } from '../base/errors/refusal.js';
import { holdersPaymentId } from '../base/repeat-ids.js';
import { MINUTE_MS } from '../base/times.js';
import { centsFromUnits, unitsFromCents } from '../config/cents.js';
import type { Declared } from '../endpoints/endpoint.js';
import { amountUsd, idempotencyId, wholeNumber } from '../endpoints/fields.js';
import { autoTopUpView, promoCodeField } from '../endpoints/payment-views.js';
import * as schema from '../endpoints/schemas.js';
import { paymentView } from '../endpoints/schemas/payments.js';
import { readJson } from '../http/json-body.js';
import { refusalOfQuery } from '../http/query-refusal.js';
import { badRequest } from '../http/refusal.js';
import type { Payments } from '../payments/payments.js';
import { redeemPromoCode } from '../payments/promo-codes.js';
import type { CustomerParts } from './customer-parts.js';
import { holderOf, keyEndpoint } from './key-route.js';
import type { KeyEndpoint, ReadAnswer } from './key-route.js';
import { needsManage } from './scope.js';
import { maySeeAccount } from './statement.js';

/** This limit is high, because reading is cheap and a page that waits for a payment reads often. */
const READS = { limit: 120, windowMs: MINUTE_MS } as const;
const STARTS = { limit: 20, windowMs: MINUTE_MS } as const;
/** This limit is low, so that codes cannot be guessed. */
const REDEMPTIONS = { limit: 10, windowMs: MINUTE_MS } as const;

const newTopUp = z.strictObject({ amount_usd: amountUsd });
const order = z.strictObject({
  threshold_usd: amountUsd,
  /** What each charge pays. Either this or `target_usd` is given. */
  amount_usd: amountUsd.optional(),
  /** The balance up to which each charge pays. */
  target_usd: amountUsd.optional(),
  max_per_day: z.int().min(1).max(24),
  max_per_month_usd: amountUsd,
});
const redemption = z.strictObject({ code: promoCodeField });
const topUpQuery = z.strictObject({
  limit: wholeNumber.min(1).max(100).default(20),
  cursor: z
    .string()
    .regex(/^\d{1,18}$/, 'must be the next_cursor of the previous page')
    .transform(BigInt)
    .optional(),
});
const paymentId = z.string().regex(/^pay_[\w-]{1,64}$/);

interface Asking {
  readonly payments: Payments;
  readonly parts: CustomerParts;
  readonly key: KeyRecord;
  readonly req: Request;
  readonly by: Actor;
}

/** Declares an endpoint that needs a payment provider. */
function paying<const Declaration extends KeyEndpoint>(
  endpoint: Declaration,
  who: 'any key' | 'may see account',
  work: (asking: Asking) => Promise<ReadAnswer>,
): Declared<Declaration, CustomerParts> {
  return keyEndpoint(endpoint, (parts) => async (key, req) => {
    const { payments } = parts;
    if (payments === undefined) throw new Error('served without a payment provider');
    if (who === 'may see account' && !(await maySeeAccount(key, parts))) {
      return { refusal: needsManage(endpoint.name) };
    }
    if (req.method === 'POST' || req.method === 'PUT') {
      const unreadable = await readJson(req);
      if (unreadable !== undefined) return { refusal: unreadable };
    }
    const by = holderOf(key, req);
    return reachingProvider(() => work({ payments, parts, key, req, by }));
  });
}

const listTopUps = paying(
  {
    method: 'get',
    path: '/v1/dashboard/top-ups',
    id: 'listTopUps',
    summary: 'Payments for the account, newest first',
    credential: 'bearer',
    query: topUpQuery,
    result: schema.payments,
    name: 'top_ups',
    limit: READS,
  },
  'may see account',
  async ({ payments, key: { accountId }, req }) => {
    const query = topUpQuery.safeParse(req.query);
    if (!query.success) return { refusal: refusalOfQuery(query.error) };
    const { limit, cursor } = query.data;
    const found = await payments.list({ accountId, before: cursor, limit });
    const next = found.length === limit ? found.at(-1)?.seq.toString() : undefined;
    return {
      json: {
        object: 'list',
        data: found.map(paymentView),
        has_more: next !== undefined,
        next_cursor: next ?? null,
        min_usd: formatUsd(unitsFromCents(payments.limits.minCents)),
        max_usd: formatUsd(unitsFromCents(payments.limits.maxCents)),
      },
    };
  },
);

const startTopUp = paying(
  {
    method: 'post',
    path: '/v1/dashboard/top-ups',
    id: 'startTopUp',
    summary: 'Starts a payment for the account of the key',
    credential: 'bearer',
    headers: ['Idempotency-Key'],
    body: newTopUp,
    result: schema.payment,
    name: 'top_up_starts',
    limit: STARTS,
  },
  'any key',
  async ({ payments, key, req }) => {
    const input = newTopUp.safeParse(req.body);
    if (!input.success) return { refusal: refusalOfQuery(input.error) };
    const amountCents = centsWithin(payments, 'amount_usd', input.data.amount_usd);
    if (typeof amountCents === 'object') return amountCents;
    const requestKey = idempotencyId.safeParse(req.headers['idempotency-key']);
    if (!requestKey.success) {
      const problem = 'idempotency-key: is needed, 1 to 128 characters of A-Z a-z 0-9 _ . : -';
      return { refusal: badRequest(problem, 'idempotency-key') };
    }
    const { accountId, id } = key;
    const started = await payments.start({
      accountId,
      amountCents,
      requestKey: holdersPaymentId(requestKey.data),
      by: 'key',
      startedBy: id,
      returnUrl: pageOf(payments, req),
    });
    if (started.outcome === 'conflict') return { refusal: newRefusal('idempotency_key_used') };
    return { json: paymentView(started.payment) };
  },
);

const getTopUp = paying(
  {
    method: 'get',
    path: '/v1/dashboard/top-ups/:payment_id',
    id: 'getTopUp',
    summary: 'One payment',
    credential: 'bearer',
    result: schema.payment,
    name: 'top_ups',
    limit: READS,
  },
  'any key',
  async ({ payments, key, req }) => {
    const found = await ownPayment(payments, key, req);
    return 'refusal' in found ? found : { json: paymentView(found) };
  },
);

const getReceipt = paying(
  {
    method: 'get',
    path: '/v1/dashboard/top-ups/:payment_id/receipt',
    id: 'getReceipt',
    summary: "The address of the provider's receipt of a payment",
    credential: 'bearer',
    result: schema.receipt,
    name: 'top_ups',
    limit: STARTS,
  },
  'any key',
  async ({ payments, key, req }) => {
    const found = await ownPayment(payments, key, req);
    if ('refusal' in found) return found;
    const { provider_payment_id: id } = found.data;
    const url = id === null ? undefined : await payments.provider.findReceipt(id);
    if (url === undefined) return { refusal: newRefusal('no_receipt') };
    const { net_usd, tax_usd } = paymentView(found);
    return { json: { object: 'receipt', payment_id: found.id, url, net_usd, tax_usd } };
  },
);

const getAutoTopUp = paying(
  {
    method: 'get',
    path: '/v1/dashboard/auto-top-up',
    id: 'getAutoTopUp',
    summary: 'The automatic top-up of the account, and whether it is on',
    credential: 'bearer',
    result: schema.autoTopUp,
    name: 'auto_top_up',
    limit: READS,
  },
  'may see account',
  async ({ payments, key: { accountId } }) => ({
    json: autoTopUpView(await payments.autoTopUp.find(accountId)),
  }),
);

const orderAutoTopUp = paying(
  {
    method: 'put',
    path: '/v1/dashboard/auto-top-up',
    id: 'orderAutoTopUp',
    summary: 'Turns on or changes the automatic top-up of the account',
    credential: 'bearer',
    body: order,
    result: schema.orderedAutoTopUp,
    name: 'auto_top_up',
    limit: STARTS,
  },
  'may see account',
  async ({ payments, parts, key, req, by }) => {
    const input = order.safeParse(req.body);
    if (!input.success) return { refusal: refusalOfQuery(input.error) };
    const { threshold_usd: threshold, max_per_day, max_per_month_usd } = input.data;
    const chosen = chosenCredit(payments, input.data);
    if ('refusal' in chosen) return chosen;
    const { field, cents, credit } = chosen;
    const maxPerMonthCents = centsFromUnits(max_per_month_usd);
    if (maxPerMonthCents === undefined || maxPerMonthCents < cents) {
      const problem = `max_per_month_usd: must be in whole cents, and at least ${field}`;
      return { refusal: badRequest(problem, 'max_per_month_usd') };
    }
    const { standing } = await parts.store.readStanding(key.id);
    if (standing === 'suspended' || standing === 'expired') {
      return { refusal: newRefusal('key_stopped', { param: 'auto_top_up', standing }) };
    }
    const placed = await payments.autoTopUp.order(
      key.accountId,
      { threshold, credit, maxPerDay: max_per_day, maxPerMonthCents },
      { returnUrl: pageOf(payments, req), by },
    );
    return { json: { ...autoTopUpView(placed.order), setup_url: placed.setupUrl ?? null } };
  },
);

const cancelAutoTopUp = paying(
  {
    method: 'delete',
    path: '/v1/dashboard/auto-top-up',
    id: 'cancelAutoTopUp',
    summary: 'Turns off the automatic top-up of the account',
    credential: 'bearer',
    result: schema.autoTopUp,
    name: 'auto_top_up',
    limit: STARTS,
  },
  'may see account',
  async ({ payments, key: { accountId }, by }) => {
    await payments.autoTopUp.cancel(accountId, by);
    return { json: autoTopUpView(await payments.autoTopUp.find(accountId)) };
  },
);

/** Served only if a provider is configured. */
export const paymentEndpoints = [
  listTopUps,
  startTopUp,
  getTopUp,
  getReceipt,
  getAutoTopUp,
  orderAutoTopUp,
  cancelAutoTopUp,
] as const;

/** Redeems a promotional code. Also works without a payment provider. */
export const redeemPromoCodeEndpoint = keyEndpoint(
  {
    method: 'post',
    path: '/v1/dashboard/promo-codes',
    id: 'redeemPromoCode',
    summary: 'Exchanges a code for credit',
    credential: 'bearer',
    body: redemption,
    result: schema.redemption,
    name: 'promo_codes',
    limit: REDEMPTIONS,
  },
  (parts) =>
    async (key, req): Promise<ReadAnswer> => {
      const unreadable = await readJson(req);
      if (unreadable !== undefined) return { refusal: unreadable };
      const input = redemption.safeParse(req.body);
      if (!input.success) return { refusal: refusalOfQuery(input.error) };
      const redeemed = await redeemPromoCode(parts.store, {
        code: input.data.code,
        accountId: key.accountId,
        by: holderOf(key, req),
        now: parts.now(),
      });
      if (redeemed.outcome === 'refused') {
        return {
          refusal: newRefusal('promo_code_refused'),
        };
      }
      return {
        json: {
          object: 'redemption',
          amount_usd: formatUsd(redeemed.amount),
          balance_usd: formatUsd(redeemed.balance),
          credit_expires_at: redeemed.creditExpiresAt?.toISOString() ?? null,
          replayed: redeemed.outcome === 'replayed',
        },
      };
    },
);

async function ownPayment(payments: Payments, { accountId }: KeyRecord, req: Request) {
  const id = paymentId.safeParse(req.params['payment_id']);
  const found = id.success ? await payments.find(id.data) : undefined;
  if (found?.accountId === accountId) return found;
  return { refusal: newRefusal('unknown_payment') };
}

/** A top-up must lift an empty balance above the threshold. Otherwise another one would follow. */
function chosenCredit(
  payments: Payments,
  { threshold_usd: threshold, amount_usd: amount, target_usd: target }: z.output<typeof order>,
) {
  const field = target === undefined ? 'amount_usd' : 'target_usd';
  if (amount !== undefined && target !== undefined) {
    return { refusal: badRequest('target_usd: cannot be given with amount_usd', field) };
  }
  const given = amount ?? target;
  if (given === undefined) {
    return { refusal: badRequest('amount_usd: is required, unless target_usd is given', field) };
  }
  const cents = centsWithin(payments, field, given);
  if (typeof cents === 'object') return cents;
  if (given <= threshold) {
    const problem = `${field}: must be above threshold_usd, so that one top-up lifts the balance above it`;
    return { refusal: badRequest(problem, field) };
  }
  const credit = target === undefined ? { amountCents: cents } : { targetCents: cents };
  return { field, cents, credit };
}

function centsWithin(
  { limits: { minCents, maxCents } }: Payments,
  field: string,
  amount: bigint,
): number | { readonly refusal: Refusal } {
  const cents = centsFromUnits(amount);
  if (cents !== undefined && cents >= minCents && cents <= maxCents) return cents;
  const [min, max] = [minCents, maxCents].map((limit) => formatUsd(unitsFromCents(limit)));
  const problem = `${field}: must be from ${min ?? ''} to ${max ?? ''} USD, in whole cents`;
  return { refusal: badRequest(problem, field) };
}

/**
 * The page to which the customer returns. Without `PUBLIC_URL`, it is at the address that the
 * client used.
 */
function pageOf({ publicUrl }: Payments, req: Request): string {
  const base = publicUrl ?? `${req.protocol}://${req.headers.host ?? 'localhost'}`;
  return `${base}/dashboard/`;
}

async function reachingProvider(work: () => Promise<ReadAnswer>): Promise<ReadAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreUnavailableError || !(error instanceof PaymentProviderError)) {
      throw error;
    }
    const name =
      error.reason === 'unavailable' ? 'payment_provider_unavailable' : 'payment_provider_refused';
    return { refusal: newRefusal(name, { fault: error.message }) };
  }
}
