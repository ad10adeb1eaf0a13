/**
 * Books the fee that the provider took for each transaction, once. The provider states it some
 * time after the payment, so the comparison finds it. The balance does not change: the operator
 * bears the fee, and only operators see it.
 */

import { formatUsd } from '@gateway/billing';
import type { PaymentProvider } from '@gateway/payments';
import { actorOf, cashOf } from './fact-books.js';
import type { FactBooks } from './fact-books.js';
import { changeDocument } from './payment-ledger.js';
import { readTransactions } from './transactions.js';
import type { BookedTransaction } from './transactions.js';

type Parts = Pick<FactBooks, 'ledger' | 'log'> & {
  readonly provider: Pick<PaymentProvider, 'name' | 'listTransactions'>;
};

export async function bookFees(
  parts: Parts,
  range: { readonly from: Date; readonly until: Date },
): Promise<void> {
  const { fees } = await readTransactions(parts, range);
  for (const fee of fees.toReversed()) await bookFee(parts, fee);
}

async function bookFee(
  { ledger, provider, log }: Parts,
  { transaction, accountId, payment, feeUsd }: BookedTransaction,
): Promise<void> {
  const { transactionId, providerPaymentId } = transaction;
  if (accountId === undefined) return;
  if (feeUsd === undefined) {
    log.warn({ transaction: transactionId }, 'the worth of a fee in USD is not known');
    return;
  }
  if (payment !== undefined) {
    const fee = { transaction_id: transactionId, fee_usd: formatUsd(feeUsd) };
    await changeDocument(ledger, { kind: 'payment', id: payment.id }, ({ data }) =>
      data.fees.some((each) => each.transaction_id === transactionId)
        ? undefined
        : { data: { ...data, fees: [...data.fees, fee] } },
    );
  }
  const booked = await ledger.bookFee({
    feeId: `${provider.name}:${transactionId}`,
    accountId,
    fee: feeUsd,
    counter: cashOf(provider),
    reference: providerPaymentId,
    by: actorOf(provider),
  });
  if (booked.outcome === 'conflict' || booked.outcome === 'unknown_account') {
    log.error({ transaction: transactionId, outcome: booked.outcome }, 'fee not booked');
  }
}
