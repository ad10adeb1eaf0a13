/**
 * The provider's transactions beside the entries of the ledger that they imply: one for the money,
 * and one for the fee.
 */

import type { LedgerEntry } from '@gateway/balance-store';
import { parseUsd } from '@gateway/billing';
import type { Money, PaymentProvider, PaymentTransaction } from '@gateway/payments';
import { unitsFromCents } from '../config/cents.js';
import type { PaymentLedger } from '../ledger/open-store.js';
import { creditId } from './implied-entries.js';
import { findPaymentOf } from './payment-ledger.js';
import type { Known } from './payment-ledger.js';

/** A transaction of a payment that the ledger may have. */
export interface BookedTransaction {
  readonly transaction: PaymentTransaction;
  /** The entry of its money, and that of its fee. */
  readonly moneyId: string;
  readonly feeId: string;
  readonly money: LedgerEntry | undefined;
  readonly fee: LedgerEntry | undefined;
  /** `undefined`: the payment is not credited. */
  readonly accountId: string | undefined;
  /** Only if it can matter, and the gateway started the payment. */
  readonly payment: Known<'payment'> | undefined;
  /** What the customer paid or got back, in units of 10^-14 USD; `undefined` if it is not known. */
  readonly paidUsd: bigint | undefined;
  /** In units of 10^-14 USD; `undefined` if it is not known. */
  readonly feeUsd: bigint | undefined;
}

export interface Transactions {
  readonly all: readonly BookedTransaction[];
  /** Those whose fee the ledger lacks, although it has the payment. */
  readonly fees: readonly BookedTransaction[];
  /** Transactions that belong to no payment, such as payouts. */
  readonly others: number;
}

/** Transactions whose entries are looked up in one query. */
const BATCH = 100;

interface Parts {
  readonly ledger: Pick<PaymentLedger, 'findEntries' | 'listDocuments'>;
  readonly provider: Pick<PaymentProvider, 'name' | 'listTransactions'>;
}

export async function readTransactions(
  { ledger, provider }: Parts,
  range: { readonly from: Date; readonly until: Date },
): Promise<Transactions> {
  const all: BookedTransaction[] = [];
  let others = 0;
  let batch: PaymentTransaction[] = [];
  const readBatch = async () => {
    all.push(...(await withEntries(ledger, provider.name, batch)));
    batch = [];
  };
  for await (const transaction of provider.listTransactions(range)) {
    if (transaction.kind === 'other') others += 1;
    else batch.push(transaction);
    if (batch.length === BATCH) await readBatch();
  }
  if (batch.length > 0) await readBatch();
  const fees = all.filter(
    ({ transaction, fee, accountId }) =>
      transaction.feeCents !== 0 && fee === undefined && accountId !== undefined,
  );
  return { all, fees, others };
}

async function withEntries(
  ledger: Parts['ledger'],
  provider: string,
  batch: readonly PaymentTransaction[],
): Promise<readonly BookedTransaction[]> {
  const named = batch.map((transaction) => ({
    transaction,
    creditId: creditId(provider, transaction.providerPaymentId),
    moneyId: moneyIdOf(provider, transaction),
    feeId: `fee:${provider}:${transaction.transactionId}`,
  }));
  const ids = new Set(named.flatMap((each) => [each.creditId, each.moneyId, each.feeId]));
  const found = await ledger.findEntries([...ids]);
  const entries = new Map(found.map((entry) => [entry.id, entry]));
  const booked: BookedTransaction[] = [];
  for (const { transaction, moneyId, feeId, creditId } of named) {
    const [money, fee] = [entries.get(moneyId), entries.get(feeId)];
    const accountId = entries.get(creditId)?.accountId;
    const isPlain = transaction.paid.currency === 'usd' && fee !== undefined;
    const payment =
      accountId === undefined || isPlain
        ? undefined
        : await findPaymentOf(ledger, accountId, transaction.providerPaymentId);
    const paidUsd = paidUsdOf(transaction, payment);
    const feeUsd = feeUsdOf(transaction, paidUsd);
    booked.push({ transaction, moneyId, feeId, money, fee, accountId, payment, paidUsd, feeUsd });
  }
  return booked;
}

function moneyIdOf(provider: string, { kind, sourceId }: PaymentTransaction): string {
  switch (kind) {
    case 'payment':
      return creditId(provider, sourceId);
    case 'refund':
    case 'dispute_withdrawn':
      return `adjustment:${provider}:${sourceId}`;
    case 'refund_undone':
      return `adjustment:${provider}:${sourceId}:undone`;
    case 'dispute_reinstated':
      return `adjustment:${provider}:${sourceId}:won`;
  }
}

function paidUsdOf(
  { paid, settled }: PaymentTransaction,
  payment: Known<'payment'> | undefined,
): bigint | undefined {
  const usd = [paid, settled].find(({ currency }) => currency === 'usd');
  if (usd !== undefined) return unitsFromCents(usd.amountCents);
  const whole = payment?.data.paid;
  if (whole == null || whole.currency !== paid.currency) return undefined;
  const gross = parseUsd(whole.credited_usd) + parseUsd(whole.tax_usd);
  return (gross * BigInt(paid.amountCents)) / BigInt(whole.amount_cents);
}

/**
 * A fee in another currency is worth what the transaction itself says: the same part of its money
 * in USD as it is of its money in that currency. It is rounded to the nearest unit.
 */
function feeUsdOf(
  { settled, feeCents }: { readonly settled: Money; readonly feeCents: number },
  paidUsd: bigint | undefined,
): bigint | undefined {
  if (settled.currency === 'usd') return unitsFromCents(feeCents);
  if (paidUsd === undefined || settled.amountCents === 0) return undefined;
  const [fee, money] = [BigInt(feeCents), BigInt(Math.abs(settled.amountCents))];
  const scaled = fee * (paidUsd < 0n ? -paidUsd : paidUsd);
  const half = scaled < 0n ? -money / 2n : money / 2n;
  return (scaled + half) / money;
}
