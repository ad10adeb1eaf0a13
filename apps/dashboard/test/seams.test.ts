/**
 * The types with which the pages read what the gateway sends. This file checks that the gateway's
 * own types still fit them; `npm run types` compiles it.
 */

import { expect, it } from '@jest/globals';
import type { autoTopUpView, paymentView } from '../../gateway/src/operations/payment-views.js';
import type { holderEntryView, usageSumView } from '../../gateway/src/operations/views.js';
import type { statementView } from '../../gateway/src/operations/statement.js';
import type { OperationName, OperationOutput } from '../../gateway/src/operations/operations.js';
import { operations } from '../../gateway/src/operations/operations.js';
import type { linkView } from '../../gateway/src/read-links.js';
import type { priceView } from '../../gateway/src/routes/prices.js';
import type * as console from '../src/console/types.js';
import type * as customer from '../src/customer/types.js';
import type { Page } from '../src/shared/api.js';
import type { Price } from '../src/shared/price-table.js';
import type { Link } from '../src/shared/read-link.js';

/** Compiles only when every `From` can be used as a `To`. */
type Assignable<From extends To, To> = From;

export type Seams = [
  Assignable<ReturnType<typeof holderEntryView>, customer.Entry>,
  Assignable<ReturnType<typeof usageSumView>, customer.UsageSum>,
  Assignable<ReturnType<typeof statementView>, customer.Statement>,
  Assignable<ReturnType<typeof priceView>, Price>,
  Assignable<ReturnType<typeof linkView>, Link>,
  Assignable<ReturnType<typeof paymentView>, customer.Payment>,
  Assignable<ReturnType<typeof autoTopUpView>, customer.AutoTopUp>,
  Assignable<OperationOutput<'showKey'>, customer.Key>,
  Assignable<OperationOutput<'showKey'>, console.Key>,
  Assignable<OperationOutput<'createKey'>, console.NewKey>,
  Assignable<OperationOutput<'listKeys'>, Page<console.Key>>,
  Assignable<OperationOutput<'listAccounts'>, Page<console.Account>>,
  Assignable<OperationOutput<'showAccount'>, console.AccountWithLots>,
  Assignable<OperationOutput<'listLedger'>, Page<console.Entry>>,
  Assignable<OperationOutput<'listUsage'>, Page<console.UsageSum>>,
  Assignable<OperationOutput<'listEvents'>, Page<console.EventRow>>,
  Assignable<OperationOutput<'listTrail'>, Page<console.TrailRow>>,
  Assignable<OperationOutput<'showToday'>, console.TodaySummary>,
  Assignable<OperationOutput<'showAudit'>, console.AuditJob>,
  Assignable<OperationOutput<'showRequest'>, console.RequestFacts>,
  Assignable<OperationOutput<'listModels'>, Page<console.TableModel>>,
  Assignable<OperationOutput<'compareModels'>, console.ModelComparison>,
  Assignable<OperationOutput<'listPayments'>, Page<console.Payment>>,
  Assignable<OperationOutput<'startPayment'>, console.Payment>,
  Assignable<OperationOutput<'showPayment'>, console.PaymentMoney>,
  Assignable<OperationOutput<'refundPayment'>, console.Refund>,
  Assignable<OperationOutput<'listUnbookedPayments'>, Page<console.UnbookedPayment>>,
  Assignable<OperationOutput<'reconcilePayments'>, console.Reconciliation>,
  Assignable<OperationOutput<'listPromoCodes'>, Page<console.PromoCode>>,
  Assignable<OperationOutput<'createPromoCode'>, console.PromoCode>,
];

/** The operations that the console calls, with the addresses that it has for them. */
const CALLED: Readonly<Partial<Record<OperationName, string>>> = {
  showToday: 'GET /admin/today',
  listUsage: 'GET /admin/usage',
  listAccounts: 'GET /admin/accounts',
  createAccount: 'POST /admin/accounts',
  showAccount: 'GET /admin/accounts/:account_id',
  updateAccount: 'PATCH /admin/accounts/:account_id',
  topUpAccount: 'POST /admin/accounts/:account_id/top-ups',
  adjustBalance: 'POST /admin/accounts/:account_id/adjustments',
  transfer: 'POST /admin/accounts/:account_id/transfers',
  listKeys: 'GET /admin/keys',
  createKey: 'POST /admin/keys',
  findKey: 'POST /admin/keys/find',
  updateKey: 'PATCH /admin/keys/:key_id',
  rotateKey: 'POST /admin/keys/:key_id/rotate',
  suspendKey: 'POST /admin/keys/:key_id/suspend',
  resumeKey: 'POST /admin/keys/:key_id/resume',
  revokeKey: 'POST /admin/keys/:key_id/revoke',
  createLink: 'POST /admin/keys/:key_id/links',
  listLedger: 'GET /admin/ledger',
  compareWitness: 'POST /admin/ledger/witness',
  startAudit: 'POST /admin/ledger/audits',
  listAudits: 'GET /admin/ledger/audits',
  showAudit: 'GET /admin/ledger/audits/:audit_id',
  showRequest: 'GET /admin/requests/:request_id',
  listEvents: 'GET /admin/events',
  listTrail: 'GET /admin/trail',
  listModels: 'GET /admin/models',
  compareModels: 'GET /admin/models/upstream',
  listPayments: 'GET /admin/payments',
  showPayment: 'GET /admin/payments/:payment_id',
  startPayment: 'POST /admin/accounts/:account_id/payments',
  refundPayment: 'POST /admin/payments/:payment_id/refunds',
  listUnbookedPayments: 'GET /admin/payments/unbooked',
  reconcilePayments: 'POST /admin/payments/reconcile',
  listPromoCodes: 'GET /admin/promo-codes',
  createPromoCode: 'POST /admin/promo-codes',
};

it('the console knows the addresses of the operations', () => {
  const names = Object.keys(CALLED) as OperationName[];
  const addresses = names.map((name) => {
    const { method, path } = operations[name];
    return [name, `${method} ${path}`];
  });
  expect(Object.fromEntries(addresses)).toEqual(CALLED);
});
