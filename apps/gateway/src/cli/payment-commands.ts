/** `gateway payments …` and `gateway promo-codes …` */

import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { integer, run, runList, withFormats, withJson } from './output.js';
import type { FormatOptions, OutputOptions } from './output.js';
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

interface PageOptions extends FormatOptions {
  readonly limit: number;
  readonly after?: string;
}

interface ListOptions extends PageOptions {
  readonly account?: string;
}

interface ReconcileOptions extends OutputOptions {
  readonly from: string;
  readonly until: string;
  readonly apply?: boolean;
}

interface AutoTopUpOptions extends OutputOptions {
  readonly cancel?: boolean;
}

interface IdOptions extends OutputOptions {
  readonly id?: string;
}

interface CodeOptions extends OutputOptions {
  readonly times: number;
  readonly expiresAt?: string;
  readonly creditExpiresAt?: string;
}

const ID_HELP = 'an id of your choice; repeating the command with it changes nothing';

export function addPayments(payments: Command): void {
  withPages(withFormats(payments.command('list').description('list payments, newest first')))
    .option('--account <account_id>', 'only those of this account')
    .action((options: ListOptions) =>
      runList(
        options,
        {
          name: 'listPayments',
          input: {
            account_id: options.account,
            limit: options.limit,
            cursor: options.after,
          },
        },
        printPayments,
      ),
    );
  withJson(
    payments
      .command('show')
      .argument('<payment_id>')
      .description('one payment, with its refundable and its unspent part'),
  ).action((paymentId: string, options: OutputOptions) =>
    run(options, (call) => call('showPayment', { payment_id: paymentId }), printPaymentMoney),
  );
  withPages(
    withFormats(
      payments
        .command('unbooked')
        .description('payments that the provider has and the ledger lacks'),
    ),
  ).action((options: PageOptions) =>
    runList(
      options,
      { name: 'listUnbookedPayments', input: { limit: options.limit, cursor: options.after } },
      printUnbooked,
    ),
  );
  withJson(
    payments
      .command('link')
      .argument('<account_id>')
      .argument('<amount_usd>')
      .description('make a page on which a customer can pay')
      .option('--id <id>', ID_HELP),
  ).action((accountId: string, amount: string, options: IdOptions) =>
    run(
      options,
      (call) =>
        call('startPayment', {
          account_id: accountId,
          amount_usd: amount,
          request_id: options.id ?? randomUUID(),
        }),
      printPayment,
    ),
  );
  withJson(
    payments
      .command('refund')
      .argument('<payment_id>')
      .argument('<amount_usd>')
      .description('refund a payment, in part or in full')
      .option('--id <id>', ID_HELP),
  ).action((paymentId: string, amount: string, options: IdOptions) =>
    run(
      options,
      (call) =>
        call('refundPayment', {
          payment_id: paymentId,
          amount_usd: amount,
          refund_id: options.id ?? randomUUID(),
        }),
      printRefund,
    ),
  );
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
  withJson(
    payments
      .command('reconcile')
      .description("compare the provider's payments, refunds and disputes with the ledger")
      .requiredOption(
        '--from <time>',
        'created or changed at or after this time, such as 2026-11-01T00:00:00Z',
      )
      .requiredOption('--until <time>', 'and created or changed before this time')
      .option('--apply', 'book the entries that the ledger lacks'),
  ).action((options: ReconcileOptions) =>
    run(
      options,
      (call) =>
        call('reconcilePayments', {
          from: options.from,
          until: options.until,
          apply: options.apply ?? false,
        }),
      printReconciliation,
    ),
  );
}

export function addPromoCodes(codes: Command): void {
  withJson(
    codes
      .command('create')
      .argument('<code>')
      .argument('<amount_usd>')
      .description('make a code for promotional credit')
      .requiredOption('--times <n>', 'how many accounts may redeem it', integer)
      .option('--expires-at <time>', 'the time until which it can be redeemed')
      .option('--credit-expires-at <time>', 'when the unused part of the credit expires'),
  ).action((code: string, amount: string, options: CodeOptions) =>
    run(
      options,
      (call) =>
        call('createPromoCode', {
          code,
          amount_usd: amount,
          max_redemptions: options.times,
          expires_at: options.expiresAt,
          credit_expires_at: options.creditExpiresAt,
        }),
      printPromoCode,
    ),
  );
  withPages(withFormats(codes.command('list').description('list codes, newest first'))).action(
    (options: PageOptions) =>
      runList(
        options,
        { name: 'listPromoCodes', input: { limit: options.limit, cursor: options.after } },
        printPromoCodes,
      ),
  );
}

function withPages(command: Command): Command {
  return command
    .option('--limit <n>', 'at most this many', integer, 100)
    .option('--after <cursor>', 'continue after the previous page');
}
