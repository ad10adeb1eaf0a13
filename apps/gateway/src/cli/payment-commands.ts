/** `farthing payments …` and `farthing promo-codes …` */

import type { Command } from 'commander';
import { EXIT } from '../base/errors/failures.js';
import { addOperation } from './operation-command.js';
import { run, withJson } from './output.js';
import type { OutputOptions } from './output.js';
import {
  printAutoTopUp,
  printPayment,
  printPaymentMoney,
  printPayments,
  printPromoCode,
  printPromoCodes,
  printReconciliation,
  printRefund,
  printUnbooked,
} from './print-payments.js';

interface AutoTopUpOptions extends OutputOptions {
  readonly cancel?: boolean;
}

export function addPayments(payments: Command): void {
  addOperation(payments, 'list', 'listPayments', printPayments);
  addOperation(payments, 'show <payment_id>', 'showPayment', printPaymentMoney);
  addOperation(payments, 'unbooked', 'listUnbookedPayments', printUnbooked);
  addOperation(payments, 'link <account_id> <amount_usd>', 'startPayment', printPayment);
  addOperation(payments, 'refund <payment_id> <amount_usd>', 'refundPayment', printRefund);
  withJson(
    payments
      .command('auto-top-up')
      .argument('<account_id>')
      .description("a customer's order to charge a saved method when the balance is low")
      .option('--cancel', 'cancel the order and forget the saved method'),
  ).action((account_id: string, options: AutoTopUpOptions) => {
    const name = options.cancel === true ? 'cancelAutoTopUp' : 'showAutoTopUp';
    return run(options, (call) => call(name, { account_id }), printAutoTopUp);
  });
  addOperation(payments, 'book <reference> <usd_rate>', 'bookPayment', printPayment);
  addOperation(payments, 'reconcile', 'reconcilePayments', printReconciliation, {
    exitCode: ({ is_equal }) => (is_equal ? EXIT.ok : EXIT.refused),
  });
}

export function addPromoCodes(codes: Command): void {
  addOperation(codes, 'create <code> <amount_usd>', 'createPromoCode', printPromoCode);
  addOperation(codes, 'list', 'listPromoCodes', printPromoCodes);
}
